"""Options that several commands share, and the cutoffs and rankers that are made of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from boostrank.backends.lightgbm import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.losses import LOSSES
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.surrogates import SURROGATES
from boostrank.targets import NORMALIZATIONS

# Paths and names may contain brackets or colons, which are no markup.
console = Console(markup=False, emoji=False)


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
    """Values of a query without relevant documents."""

    zero = "zero"
    one = "one"
    skip = "skip"


class TiesName(StrEnum):
    """Rules for documents of equal score."""

    average = "average"
    stable = "stable"
    best = "best"
    worst = "worst"


DataPath = Annotated[Path, typer.Argument(help="LETOR file, plain or compressed by gzip.", show_default=False)]
BackendOption = Annotated[Backend, typer.Option(help="Boosting library.")]
GainOption = Annotated[GainName, typer.Option(help="Gain of a label y: 2^y - 1 (exp2) or y (linear).")]
EmptyOption = Annotated[
    EmptyName, typer.Option(help="Value of a query without relevant documents: 0, 1, or left out of the mean (skip).")
]
CutoffsOption = Annotated[
    str, typer.Option(help='Cutoffs k of NDCG@k, separated by commas; "all" is NDCG without a cutoff.')
]
RoundsOption = Annotated[int, typer.Option(min=1, help="Maximum number of boosting rounds.")]
PatienceOption = Annotated[
    int, typer.Option(min=1, help="Stop when NDCG on validation queries has not improved for this number of rounds.")
]
RateOption = Annotated[float, typer.Option(min=1e-6, help="Learning rate.")]
LeavesOption = Annotated[int, typer.Option(min=2, help="Maximum number of leaves of a tree.")]
KOption = Annotated[
    int | None, typer.Option(min=1, help="Cutoff k of NDCG in training targets and early stopping; none by default.")
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]


def parse_cutoffs(text: str) -> list[int | None]:
    """Cutoffs of an option such as ``1,5,all``."""
    cutoffs = [None if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part is None or (part.isdecimal() and int(part) > 0) for part in cutoffs):
        raise ValueError(f'--cutoffs must be positive integers or "all", separated by commas; got {text!r}')
    return [None if part is None else int(part) for part in cutoffs]


def make_rankers(objectives: str, backend: Backend, settings: dict[str, Any], leaves: int) -> dict[str, Any]:
    """Unfitted rankers by name such as "lightgbm softmax": each objective on each backend that can train it.

    Parameters
    ----------
    objectives : str
        Separated by commas, each as OBJECTIVE or SURROGATE/NORMALIZE.
    backend : Backend
    settings : dict
        Parameters that rankers of both backends have.
    leaves : int
        Maximum number of leaves of a tree, which the backends call by different names.

    Raises
    ------
    ValueError
        For an unknown objective or normalization, and if no objective runs on the backend.
    """
    rankers: dict[str, Any] = {}
    for spec in (part.strip() for part in objectives.split(",")):
        objective, _, normalize = spec.partition("/")
        known = (*LOSSES, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES)
        if objective not in known:
            raise ValueError(f"unknown objective {objective!r}; use one of {', '.join(known)}")
        if normalize and (normalize not in NORMALIZATIONS or objective not in SURROGATES):
            raise ValueError(
                f"{spec!r} is not SURROGATE/NORMALIZE: NORMALIZE must be one of {', '.join(NORMALIZATIONS)}, and "
                f"SURROGATE one of {', '.join(SURROGATES)}"
            )
        options = {**settings, "normalize": normalize} if normalize else settings
        if backend != Backend.xgboost and objective not in XGBOOST_OBJECTIVES:
            rankers[f"lightgbm {spec}"] = LightGBMRanker(objective, num_leaves=leaves, **options)
        if backend != Backend.lightgbm and objective not in LIGHTGBM_OBJECTIVES:
            shape: dict[str, Any] = {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
            rankers[f"xgboost {spec}"] = XGBoostRanker(objective, **shape, **options)
    if not rankers:
        raise ValueError(f"none of the objectives {objectives!r} runs on --backend {backend}")
    return rankers
