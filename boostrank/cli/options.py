"""What the commands share: their options, and what these turn into."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from boostrank.backends.lightgbm import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.preferences import EDGE_LOSSES
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.surrogates import SURROGATES
from boostrank.targets import NORMALIZATIONS

console = Console()


class Backend(StrEnum):
    """Boosting libraries."""

    lightgbm = "lightgbm"
    xgboost = "xgboost"
    both = "both"


class GainName(StrEnum):
    """Gains that have a name."""

    exp2 = "exp2"
    linear = "linear"


class EmptyName(StrEnum):
    """What a query without relevant documents counts."""

    zero = "zero"
    one = "one"
    skip = "skip"


class TiesName(StrEnum):
    """How documents of equal score are ordered."""

    average = "average"
    stable = "stable"
    best = "best"
    worst = "worst"


DataPath = Annotated[Path, typer.Argument(help="A LETOR file (gzip allowed).", show_default=False)]
ModelPath = Annotated[Path, typer.Argument(help="A model in its backend's native format.", show_default=False)]
BackendOption = Annotated[Backend, typer.Option(help="Boosting library.")]
GainOption = Annotated[GainName, typer.Option(help="Gain of a label: 2^y - 1, or y.")]
EmptyOption = Annotated[EmptyName, typer.Option(help="What a query without relevant documents counts.")]
CutoffsOption = Annotated[str, typer.Option(help='Cutoffs of NDCG, comma separated; "all" is no cutoff.')]
RoundsOption = Annotated[int, typer.Option(min=1, help="Most boosting rounds.")]
PatienceOption = Annotated[int, typer.Option(min=1, help="Stop after so many rounds without a better validation NDCG.")]
RateOption = Annotated[float, typer.Option(min=1e-6, help="Learning rate.")]
LeavesOption = Annotated[int, typer.Option(min=2, help="Leaves of a tree.")]
KOption = Annotated[int | None, typer.Option(min=1, help="Cutoff in the targets and in early stopping.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]


def parse_cutoffs(text: str) -> list[int | None]:
    """Cutoffs of an option such as ``1,5,all``."""
    cutoffs = [None if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part is None or (part.isdecimal() and int(part) > 0) for part in cutoffs):
        raise ValueError(f'--cutoffs must be positive integers or "all", comma separated; got {text!r}')
    return [None if part is None else int(part) for part in cutoffs]


def make_rankers(objectives: str, backend: Backend, settings: dict[str, Any], leaves: int) -> dict[str, Any]:
    """Rankers by name, for every objective on every backend that can train it."""
    rankers: dict[str, Any] = {}
    for spec in (part.strip() for part in objectives.split(",")):
        objective, _, normalize = spec.partition("/")
        known = (*SURROGATES, *EDGE_LOSSES, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES)
        if objective not in known:
            raise ValueError(f"unknown objective {objective!r}; known are {', '.join(known)}")
        if normalize and (normalize not in NORMALIZATIONS or objective not in SURROGATES):
            raise ValueError(f"{spec!r}: after / stands one of {', '.join(NORMALIZATIONS)}, for surrogates only")
        options = settings | ({"normalize": normalize} if normalize else {})
        if backend != Backend.xgboost and objective not in XGBOOST_OBJECTIVES:
            rankers[f"lightgbm {spec}"] = LightGBMRanker(objective, num_leaves=leaves, **options)
        if backend != Backend.lightgbm and objective not in LIGHTGBM_OBJECTIVES:
            shape: dict[str, Any] = {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
            rankers[f"xgboost {spec}"] = XGBoostRanker(objective, **shape, **options)
    if not rankers:
        raise ValueError(f"none of the objectives {objectives!r} runs on --backend {backend}")
    return rankers
