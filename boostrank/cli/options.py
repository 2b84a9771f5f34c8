"""Options that several commands share, and the measures and rankers that are made of them."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from boostrank.cli.tables import LABEL_NAMES, QID_NAMES, looks_like_table
from boostrank.inputs.checks import did_you_mean
from boostrank.metrics import MEASURES, Measure, get_measure, named_measures
from boostrank.metrics.names import base_name, similar_name
from boostrank.queries.targets import NORMALIZATIONS
from boostrank.runs.evaluation import measures_of_runs
from boostrank.runs.names import GROUPS, is_known

# Paths and names may contain brackets or colons, which are no markup.
console = Console(markup=False, emoji=False, highlight=False)
error_console = Console(stderr=True, markup=False, emoji=False, highlight=False, soft_wrap=True)

DEFAULT_MEASURES = "ndcg@1,ndcg@5,ndcg@10"

Library = Literal["lightgbm", "xgboost"]
Backend = Literal["lightgbm", "xgboost", "both"]

# Groups of options, by their titles in the help.
COLUMNS, TRAINING, MEASURING = "Columns of a CSV, TSV or Parquet file", "Training", "Measures"
ROUNDS, OUTPUT, RUNNING = "Number of rounds", "Output", "Running"


def option(group: str, metavar: str | None, text: str, *names: str, **settings: Any) -> Any:
    """An option of a group, with a word for its value and a text in the help."""
    return typer.Option(*names, rich_help_panel=group, metavar=metavar, help=text, **settings)


def from_pipe(ctx: typer.Context, path: Path | None) -> Path | None:
    """The file; for "-", which is standard input, and for a pipe, a temporary file of what is read from it.

    The commands read a file several times, and know a CSV file by its name.
    """
    is_standard_input = path == Path("-")
    if path is None or ctx.resilient_parsing or not (is_standard_input or path.is_fifo()):
        return path
    folder = ctx.with_resource(tempfile.TemporaryDirectory())
    copy = Path(folder, "standard-input" if is_standard_input else path.name)
    with sys.stdin.buffer if is_standard_input else open(path, "rb") as pipe, open(copy, "wb") as file:
        shutil.copyfileobj(pipe, file)
    return copy.rename(f"{copy}.csv") if looks_like_table(copy) else copy


def from_pipes(ctx: typer.Context, paths: list[Path] | None) -> list[Path] | None:
    """The files; see :func:`from_pipe`."""
    return None if paths is None else [path for path in (from_pipe(ctx, each) for each in paths) if path is not None]


DATA_HELP = "LETOR, CSV, TSV (also .gz) or Parquet file; - is standard input."
DataPath = Annotated[Path, typer.Argument(metavar="DATA", callback=from_pipe, help=DATA_HELP)]
MODEL_HELP = "Model in LightGBM's or XGBoost's own format, as fit writes it."
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help=MODEL_HELP)]
OutputOption = Annotated[
    Path | None,
    option(OUTPUT, "FILE", "Table: .csv, .tsv, .json (unrounded), .md or .tex."),
]
LayoutOption = Annotated[
    Literal["marks", "pairs", "differences"] | None,
    option(OUTPUT, "NAME", "Of .md and .tex: marks (default), pairs or differences."),
]
QueriesPlotOption = Annotated[
    Path | None, option(OUTPUT, "FILE", "Image of the differences query by query.", "--plot-queries")
]
QidOption = Annotated[str | None, option(COLUMNS, "NAME", f"Query ids; by default {', '.join(QID_NAMES)}.")]
LabelOption = Annotated[str | None, option(COLUMNS, "NAME", f"Labels; by default {', '.join(LABEL_NAMES)}.")]
FeaturesOption = Annotated[
    list[str] | None,
    option(COLUMNS, "NAMES", "Features, as in a,b,c; by default all other columns."),
]
DropOption = Annotated[list[str] | None, option(COLUMNS, "NAMES", "Columns to leave out, such as ids of documents.")]
CategoricalOption = Annotated[
    list[str] | None,
    option(COLUMNS, "NAMES", "Features that are categories, as all texts must be."),
]
BackendOption = Annotated[Backend, option(TRAINING, "LIBRARY", "lightgbm, xgboost or both.")]
GainOption = Annotated[
    Literal["exp2", "linear"] | None,
    option(MEASURING, "exp2|linear", "Gain of a label y: 2^y - 1 (exp2, the default) or y."),
]
ALL_MEASURES = (
    f"Separated by commas: {', '.join(MEASURES)}, with a cutoff as in ndcg@10; or names of ir_measures and "
    "trec_eval with their conventions, such as AP, P(rel=2)@5, official."
)
EmptyOption = Annotated[
    Literal["zero", "one", "skip"] | None,
    option(
        MEASURING,
        "zero|one|skip",
        "Value of a query without relevant documents (default zero; skip for auc, agreement, correlations).",
    ),
]
RoundsOption = Annotated[int, option(TRAINING, "N", "Maximum number of boosting rounds.", min=1)]
RateOption = Annotated[float, option(TRAINING, "X", "Learning rate.", min=1e-6)]
LeavesOption = Annotated[int | None, option(TRAINING, "N", "Maximum number of leaves of a tree.", min=2)]
K_HELP = "Cutoff of NDCG in training; by default none."
KOption = Annotated[int | None, option(MEASURING, "N", K_HELP, "-k", "--k", min=1)]
SeedOption = Annotated[int, option(RUNNING, "N", "Seed of all random numbers.", min=0)]


def require_folder_of(path: Path) -> None:
    """Refuse a file to write if there is no such folder: before the training, not after it."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r} to write {path.name} to")


def given(**options: Any) -> dict[str, Any]:
    """The options that are not None, by name."""
    return {name: value for name, value in options.items() if value is not None}


def refuse_unused(needed: str, **options: Any) -> None:
    """Raise ValueError for an option that is given, but has no effect without what is `needed`."""
    for name, value in options.items():
        if value is not None and value is not False and value != []:
            raise ValueError(f"--{name.replace('_', '-')} needs {needed}: it would have no effect")


def parse_measures(
    text: str, settings: dict[str, Any], needed: Literal["arrays", "runs"] = "arrays"
) -> dict[str, Measure]:
    """Measures, by name, of an option such as ``--measures "ndcg@10,P(rel=2)@5"``; see :func:`parse_measure`.

    Commas in brackets do not separate. Names of ir_measures are kept, since they stand for its conventions.
    """
    measures: dict[str, Measure] = {}
    for part in (each for one in split_outside_brackets(text) for each in GROUPS.get(one, [one])):
        measure = parse_measure("--measures", part, settings, needed)
        name = str(measure) if base_name(part) in MEASURES else part
        same = [known for known, other in measures.items() if other == measure or known == name]
        if same:
            also = "" if part == same[0] else f": {part} is the same measure"
            raise ValueError(f"--measures has {same[0]} twice{also}")
        measures[name] = measure
    return measures


def split_outside_brackets(text: str) -> list[str]:
    """Split names at the commas that are not in brackets.

    Examples
    --------
    >>> split_outside_brackets("AP, RBP(p=0.8,rel=1)@5")
    ['AP', 'RBP(p=0.8,rel=1)@5']
    """
    return [part.strip() for part in re.split(r",(?![^()]*(?:\([^()]*\)[^()]*)*\))", text)]


def parse_measure(
    option: str, text: str, settings: dict[str, Any], needed: Literal["arrays", "runs"] = "arrays"
) -> Measure:
    """The measure with a name that :func:`boostrank.get_measure` takes, with those of `settings` that it has.

    Raises
    ------
    ValueError
        For a name or a cutoff that is not known, and a measure that is not defined for what is `needed`; the message
        names the option.
    """
    try:
        if not is_known(text):
            raise ValueError(f"unknown measure {text!r}{_similar_measures(text)}")
        measure = (measures_of_runs if needed == "runs" else named_measures)([text])[text]
        if "gain" in settings and "gain" in vars(measure) and base_name(text) not in MEASURES:
            raise ValueError("--gain is only for ndcg, dcg and rbp; a name of ir_measures has its own gain")
        return get_measure(measure, **{key: value for key, value in settings.items() if key in vars(measure)})
    except (TypeError, ValueError) as error:
        prefix = option if str(error).startswith("unknown measure") else f"{option} {text}"
        raise ValueError(f"{prefix}: {error}") from error


def _similar_measures(text: str) -> str:
    """The end of a message for an unknown measure: those that are meant perhaps, or where all of them are listed."""
    return similar_name(text) or (
        "; use a name such as ndcg@10, map or mrr, or one of ir_measures, such as P(rel=2)@5. --measures in boostrank "
        "evaluate -h lists all of them"
    )


def make_rankers(objectives: str, backend: Backend, settings: dict[str, Any], leaves: int | None) -> dict[str, Any]:
    """Unfitted rankers by name such as "lightgbm softmax": each objective on each backend that can train it.

    Parameters
    ----------
    objectives : str
        Separated by commas, each as OBJECTIVE or SURROGATE/NORMALIZE.
    backend : {"lightgbm", "xgboost", "both"}
    settings : dict
        Parameters that rankers of both backends have.
    leaves : int or None
        Maximum number of leaves of a tree, which the backends call by different names; None means their defaults.

    Raises
    ------
    ValueError
        For an unknown objective or normalization, and if no objective runs on the backend.
    """
    # Commands that train nothing need none of these.
    from boostrank.backends.lightgbm.backend import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
    from boostrank.backends.xgboost.backend import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
    from boostrank.rankers import LightGBMRanker, XGBoostRanker
    from boostrank.surrogates import SURROGATES
    from boostrank.training.losses import LOSSES
    from boostrank.training.settings import AUTO

    rankers: dict[str, Any] = {}
    of_lightgbm: dict[str, Any] = {} if leaves is None else {"num_leaves": leaves}
    of_xgboost: dict[str, Any] = (
        {} if leaves is None else {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
    )
    for spec in (part.strip() for part in objectives.split(",")):
        objective, _, normalize = spec.partition("/")
        known = (*LOSSES, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES, AUTO)
        if objective not in known:
            near = did_you_mean(objective, known)
            raise ValueError(f"unknown objective {objective!r}{near}; use one of {', '.join(known)}")
        if normalize and (normalize not in NORMALIZATIONS or objective not in SURROGATES):
            raise ValueError(
                f"{spec!r} is not SURROGATE/NORMALIZE: NORMALIZE must be one of {', '.join(NORMALIZATIONS)}, and "
                f"SURROGATE one of {', '.join(SURROGATES)}"
            )
        options = {**settings, "normalize": normalize} if normalize else settings
        if backend != "xgboost" and objective not in XGBOOST_OBJECTIVES:
            rankers[f"lightgbm {spec}"] = LightGBMRanker(objective, **of_lightgbm, **options)
        if backend != "lightgbm" and objective not in LIGHTGBM_OBJECTIVES:
            rankers[f"xgboost {spec}"] = XGBoostRanker(objective, **of_xgboost, **options)
    if not rankers:
        raise ValueError(f"none of the objectives {objectives!r} runs on --backend {backend}")
    return rankers
