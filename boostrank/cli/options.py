"""Options that several commands share, and the measures and rankers that are made of them."""

from __future__ import annotations

from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from boostrank.backends.lightgbm import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.losses import LOSSES
from boostrank.metrics import MEASURES, Measure, get_measure
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.rankers.settings import AUTO
from boostrank.surrogates import SURROGATES
from boostrank.targets import NORMALIZATIONS

# Paths and names may contain brackets or colons, which are no markup.
console = Console(markup=False, emoji=False)
error_console = Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)

DEFAULT_MEASURES = "ndcg@1,ndcg@5,ndcg@10"


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
GainOption = Annotated[
    GainName | None,
    typer.Option(help="Gain of a label y: 2^y - 1 (exp2, the default) or y (linear).", show_default=False),
]
MeasuresOption = Annotated[
    str,
    typer.Option(help=f"Measures, separated by commas: {', '.join(MEASURES)}; with a cutoff as in ndcg@10."),
]
EmptyOption = Annotated[
    EmptyName | None,
    typer.Option(
        help="Value of a query without relevant documents: 0 (zero), 1 (one), or left out of the mean (skip). By "
        "default 0, and left out for kendall_tau, auc and agreement.",
        show_default=False,
    ),
]


def parse_rounds(text: str) -> int | str:
    """The number of rounds of ``--rounds``, or "auto"."""
    if text == AUTO:
        return AUTO
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--rounds must be a number of at least 1, or auto; got {text!r}")
    return int(text)


RoundsOption = Annotated[int, typer.Option(min=1, help="Maximum number of boosting rounds.")]
PatienceOption = Annotated[
    int,
    typer.Option(min=1, help="Stop when the measure of validation queries has not improved for this number of rounds."),
]
RateOption = Annotated[float, typer.Option(min=1e-6, help="Learning rate.")]
LeavesOption = Annotated[int, typer.Option(min=2, help="Maximum number of leaves of a tree.")]
KOption = Annotated[
    int | None,
    typer.Option("-k", "--k", min=1, help="Cutoff k of NDCG in training targets and early stopping; none by default."),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")]


def require_folder_of(path: Path) -> None:
    """Refuse a file to write if there is no such folder: before the training, not after it."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r} to write {path.name} to")


def given(**options: StrEnum | None) -> dict[str, Any]:
    """Values of those options that are not None."""
    return {name: option.value for name, option in options.items() if option is not None}


def parse_measures(text: str, settings: dict[str, Any]) -> list[Measure]:
    """Measures of an option such as ``--measures ndcg@10,map``; see :func:`parse_measure`."""
    measures: dict[str, Measure] = {}
    for part in text.split(","):
        measure = parse_measure("--measures", part.strip(), settings)
        if str(measure) in measures:
            raise ValueError(f"--measures has {measure} twice")
        measures[str(measure)] = measure
    return list(measures.values())


def parse_measure(option: str, text: str, settings: dict[str, Any]) -> Measure:
    """The measure with a name such as "ndcg@10", with those of `settings` that this kind of measure has.

    Raises
    ------
    ValueError
        For a name or a cutoff that is not known; the message names the option.
    """
    name = text.partition("@")[0]
    if name not in MEASURES:
        raise ValueError(f"{option}: unknown measure {text!r}; use {', '.join(MEASURES)}, with a cutoff as in ndcg@10")
    known = [field.name for field in fields(MEASURES[name])]
    try:
        return get_measure(text, **{key: value for key, value in settings.items() if key in known})
    except (TypeError, ValueError) as error:
        raise ValueError(f"{option} {text}: {error}") from error


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
        known = (*LOSSES, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES, AUTO)
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
