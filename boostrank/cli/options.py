"""Options that several commands share, and the measures and rankers that their values name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from boostrank.cli.documents import USUAL_NAMES
from boostrank.inputs.checks import check_choice
from boostrank.metrics import MEASURES, Measure, get_measure, named_measures
from boostrank.metrics.names import base_name
from boostrank.ndcg.targets import NORMALIZATIONS

_IDS, _LABELS = (", ".join(names) for names in USUAL_NAMES.values())
DataPath = Annotated[
    Path, Argument(metavar="DATA", help="LETOR file, or table: CSV, TSV (also .gz) or Parquet.")
]
ModelPath = Annotated[
    Path, Argument(metavar="MODEL", help="Model in its library's own format, as fit writes it.")
]
QidOption = Annotated[
    str | None,
    Option(help=f"Column of query ids in a table, or several: week,customer; by default {_IDS}."),
]
LabelOption = Annotated[
    str | None,
    Option(
        help=f"Column of labels, or several with weights: click:.7,order:.3; by default {_LABELS}."
    ),
]
GroupOption = Annotated[
    str | None,
    Option(help="Column of what queries belong to, such as a user: folds and tests by group."),
]
TimeOption = Annotated[
    str | None,
    Option(help="Column of the time of a query, dates or numbers: folds train on earlier ones."),
]
FeaturesOption = Annotated[
    list[str] | None, Option(help="Features of a table, as in a,b,c; by default all others.")
]
DropOption = Annotated[
    list[str] | None, Option(help="Columns that are no features, such as ids of documents.")
]
CategoricalOption = Annotated[
    list[str] | None, Option(help="Features that are categories, as texts must be.")
]
MissingOption = Annotated[
    list[str] | None, Option(help="Missing values in CSV features, as ?,- (besides NA, null).")
]
GainOption = Annotated[
    Literal["exp2", "linear", "log", "rank"] | None,
    Option(help="Gain of a label y: 2^y - 1 (default), y, log2(1 + y), or its rank in the query."),
]
MEASURES_HELP = (
    "Measures separated by commas, such as ndcg@10,map,mrr; or names of ir_measures and trec_eval "
    "with their conventions, such as P(rel=2)@5 or official."
)
EMPTY_HELP = (
    "Value of a query without relevant documents; by default that of the measure, mostly zero."
)
EmptyOption = Annotated[Literal["zero", "one", "skip"] | None, Option(help=EMPTY_HELP)]
KOption = Annotated[
    int | None, Option("-k", "--k", help="Cutoff of NDCG in the loss; by default none.", min=1)
]
SeedOption = Annotated[int, Option(help="Seed of all random numbers.", min=0)]
OutputOption = Annotated[
    Path | None, Option(help="File for the table: .csv, .tsv, .json (unrounded), .md or .tex.")
]


def require_folder_of(path: Path) -> None:
    """Refuse a file to write if there is no such folder: before the training, not after it."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r} to write {path.name} to")


def set_options(**options: object) -> dict[str, Any]:
    """The options that are not None, by name."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_unused(needed: str, **options: object) -> None:
    """Raise ValueError for an option that is set, but has no effect without what is `needed`."""
    for name, value in options.items():
        if value is not None and value is not False and value != []:
            raise ValueError(f"--{name.replace('_', '-')} needs {needed}: it would have no effect")


def parse_measures(
    option: str,
    text: str,
    settings: Mapping[str, object],
    make: Callable[[list[str]], dict[str, Measure]] = named_measures,
) -> dict[str, Measure]:
    """The measures, by name, of an option such as ``--measures "ndcg@10,map"``.

    Each measure gets those of the settings that it has. `make` makes measures of their names.
    Names of ir_measures are kept, since they stand for its conventions. The message of an error
    names the option.
    """
    measures: dict[str, Measure] = {}
    try:
        for name, measure in make(split_outside_brackets(text)).items():
            is_ours = base_name(name) in MEASURES
            if "gain" in settings and "gain" in vars(measure) and not is_ours:
                raise ValueError(
                    f"--gain is only for ndcg, dcg and rbp; {name} of ir_measures has its own gain"
                )
            changed = {key: value for key, value in settings.items() if key in vars(measure)}
            measure = get_measure(measure, **changed)
            measures[str(measure) if is_ours else name] = measure
    except (TypeError, ValueError) as error:
        raise ValueError(f"{option}: {error}") from error
    return measures


def split_outside_brackets(text: str) -> list[str]:
    """Split names at the commas that are not in brackets.

    Examples
    --------
    >>> split_outside_brackets("AP, RBP(p=0.8,rel=1)@5")
    ['AP', 'RBP(p=0.8,rel=1)@5']
    """
    return [name.strip() for name in re.split(r",(?![^()]*(?:\([^()]*\)[^()]*)*\))", text)]


def make_rankers(
    objectives: str, backend: str, leaves: int | None, **settings: Any
) -> dict[str, Any]:
    """Unfitted rankers by name such as "lightgbm softmax", one for each objective and backend.

    A backend that cannot train an objective is left out.

    Parameters
    ----------
    objectives : str
        Separated by commas, each as OBJECTIVE or SURROGATE/NORMALIZE.
    backend : {"lightgbm", "xgboost", "both"}
    leaves : int or None
        Maximum number of leaves of a tree, which the backends call by different names; None means
        their defaults.
    **settings
        Parameters that rankers of both backends have.

    Raises
    ------
    ValueError
        For an unknown objective or normalization, and if no objective runs on the backend.
    """
    # Commands that train nothing need none of these.
    from boostrank.backends.lightgbm.parameters import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
    from boostrank.backends.xgboost.parameters import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
    from boostrank.rankers import LightGBMRanker, XGBoostRanker
    from boostrank.surrogates import SURROGATES
    from boostrank.training.losses import loss_names

    rankers: dict[str, Any] = {}
    of_lightgbm: dict[str, Any] = {}
    of_xgboost: dict[str, Any] = {}
    if leaves is not None:
        of_lightgbm = {"num_leaves": leaves}
        of_xgboost = {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
    losses = [*loss_names(), *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES]
    for name in split_outside_brackets(objectives):
        objective, _, normalize = name.partition("/")
        parameters = settings
        if normalize:
            check_choice("objective", objective, SURROGATES)
            check_choice(f"NORMALIZE of {name!r}", normalize, NORMALIZATIONS)
            parameters = {**settings, "normalize": normalize}
        else:
            check_choice("objective", objective, losses)
        if backend != "xgboost" and objective not in XGBOOST_OBJECTIVES:
            rankers[f"lightgbm {name}"] = LightGBMRanker(objective, **of_lightgbm, **parameters)
        if backend != "lightgbm" and objective not in LIGHTGBM_OBJECTIVES:
            rankers[f"xgboost {name}"] = XGBoostRanker(objective, **of_xgboost, **parameters)
    if not rankers:
        raise ValueError(f"none of the objectives {objectives!r} runs on --backend {backend}")
    return rankers
