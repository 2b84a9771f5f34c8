"""The command line: ``boostrank compare | fit | predict | evaluate``."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from boostrank import reports
from boostrank.backends.files import require_file, write_atomically
from boostrank.backends.lightgbm import NATIVE_OBJECTIVES as LIGHTGBM_OBJECTIVES
from boostrank.backends.xgboost import NATIVE_OBJECTIVES as XGBOOST_OBJECTIVES
from boostrank.comparison import Comparison, compare, query_folds
from boostrank.letor import Fold, Ranking, read_letor, read_letor_folds
from boostrank.metrics import check_scores, ndcg_score
from boostrank.queries import Queries
from boostrank.rankers import LightGBMRanker, XGBoostRanker
from boostrank.surrogates import REGISTRY
from boostrank.synthetic import expected_ndcg, make_ranking
from boostrank.targets import NORMALIZATIONS

DEFAULT_OBJECTIVES = (
    "lambdarank,rank_xendcg,rank:ndcg,squared,poisson,logistic,softmax,centered-squared,centered-logistic,pnorm,"
    "cosine,normalized-pnorm,squared/none,softmax/softmax,cosine/l2"
)
SYNTHETIC_OBJECTIVES = "lambdarank,rank:ndcg,softmax,logistic,centered-squared,squared,squared/none,softmax/softmax"
SYNTHETIC_QUERIES = 600

app = typer.Typer(
    help="NDCG-consistent ranking with LightGBM and XGBoost.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
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


@app.command("compare")
def compare_command(
    path: Annotated[
        Path | None,
        typer.Argument(help="Folder of LETOR folds, or one LETOR file. Synthetic data without it.", show_default=False),
    ] = None,
    backend: BackendOption = Backend.both,
    objectives: Annotated[
        str | None,
        typer.Option(
            help="Comma separated; SURROGATE/NORMALIZE for other targets, e.g. softmax/softmax is ListNet. "
            "A native objective runs on its own backend only. The first is the baseline.",
            show_default=False,
        ),
    ] = None,
    cutoffs: CutoffsOption = "1,5,10",
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    k: KOption = None,
    rounds: RoundsOption = 500,
    patience: PatienceOption = 50,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 15,
    folds: Annotated[int, typer.Option(min=3, help="Folds of a single file or of the synthetic data.")] = 5,
    seed: SeedOption = 0,
    output: Annotated[Path | None, typer.Option(help="Write the table as .csv, .json or .md.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the differences at the last cutoff into this file.")] = None,
) -> None:
    """Train rankers on the same folds and compare their NDCG on test queries.

    All have the same learning rate, leaves and most rounds; the number of rounds is chosen on validation queries.
    """
    ks = _cutoffs(cutoffs)
    reports.check_suffix(output)
    rankers = _rankers(
        objectives or (DEFAULT_OBJECTIVES if path else SYNTHETIC_OBJECTIVES),
        backend,
        {"gain": gain.value, "k": k, "n_estimators": rounds, "early_stopping_rounds": patience}
        | {"learning_rate": learning_rate, "random_state": seed},
        leaves,
    )
    extra = {}
    if path is None:
        X, y, qid, bayes = make_ranking(SYNTHETIC_QUERIES, random_state=seed, return_bayes=True)
        parts = query_folds(Ranking(X, y, qid), folds, random_state=seed)

        def regret(fold: Fold, scores: Any) -> Any:
            known = bayes[np.isin(qid, fold.test.qid)]
            return expected_ndcg(known, scores, fold.test.qid) - expected_ndcg(known, known, fold.test.qid)

        extra = {"-regret": regret}
        console.print(f"Synthetic data: {SYNTHETIC_QUERIES} queries whose Bayes-optimal ranking is known.")
    else:
        parts = read_letor_folds(path) if path.is_dir() else query_folds(read_letor(path), folds, random_state=seed)
    with _progress() as progress:
        total = len(rankers) * len(parts)
        # The bar moves when a training begins, so it starts one behind.
        task = progress.add_task("", total=total, completed=-1)

        def advance(fold: str, name: str) -> None:
            progress.update(task, advance=1, description=f"{fold}: {name}")

        comparison = compare(
            rankers,
            parts,
            cutoffs=ks,
            gain=gain.value,
            empty=empty.value,
            extra_metrics=extra,
            random_state=seed,
            progress=advance,
        )
        progress.update(task, completed=total, description="done")
    _show(comparison, output, plot)


@app.command()
def fit(
    train: DataPath,
    model: ModelPath,
    objective: Annotated[str, typer.Option(help="SURROGATE, SURROGATE/NORMALIZE or a native objective.")] = "softmax",
    backend: BackendOption = Backend.lightgbm,
    validation: Annotated[Path | None, typer.Option(help="LETOR file to stop early on.", show_default=False)] = None,
    gain: GainOption = GainName.exp2,
    k: KOption = None,
    rounds: RoundsOption = 100,
    patience: PatienceOption = 50,
    learning_rate: RateOption = 0.1,
    leaves: LeavesOption = 31,
    seed: SeedOption = 0,
) -> None:
    """Train a ranker on a LETOR file and save it in its backend's native format."""
    settings = {"gain": gain.value, "k": k, "n_estimators": rounds, "learning_rate": learning_rate}
    settings |= {"random_state": seed, "early_stopping_rounds": patience if validation else None}
    rankers = _rankers(objective, backend, settings, leaves)
    if len(rankers) != 1:
        raise ValueError(f"fit trains one model; {objective!r} with --backend {backend} is {', '.join(rankers)}")
    (ranker,) = rankers.values()
    if not model.absolute().parent.is_dir():
        raise FileNotFoundError(f"no folder {str(model.absolute().parent)!r} to write the model to")
    data = read_letor(train)
    parts = [tuple(read_letor(validation, n_features=data.X.shape[1]))] if validation else None
    ranker.fit(*data, eval_set=parts).save_model(model)
    console.print(f"{model}: {ranker.best_iteration_} rounds, {data.X.shape[1]} features, {len(data.y)} documents")


@app.command()
def predict(
    model: ModelPath,
    data: DataPath,
    output: Annotated[Path | None, typer.Option(help="File to write; standard output without it.")] = None,
) -> None:
    """Score the documents of a LETOR file, one score a line."""
    with open(require_file(model), "rb") as file:
        ranker = LightGBMRanker() if file.read(5) == b"tree\n" else XGBoostRanker()
    ranker.load_model(model)
    lines = "".join(
        f"{score!r}\n" for score in ranker.predict(read_letor(data, n_features=ranker.n_features_in_).X).tolist()
    )
    if output is None:
        sys.stdout.write(lines)
    else:
        write_atomically(output, lambda name: _write_text(name, lines))


@app.command()
def evaluate(
    data: DataPath,
    scores: Annotated[Path, typer.Argument(help="One score a line, as written by predict.", show_default=False)],
    cutoffs: CutoffsOption = "1,5,10,all",
    gain: GainOption = GainName.exp2,
    empty: EmptyOption = EmptyName.zero,
    ties: Annotated[TiesName, typer.Option(help="Order of documents of equal score.")] = TiesName.average,
) -> None:
    """Print the NDCG of scores on a LETOR file."""
    ranking = read_letor(data)
    values = _read_scores(scores)
    results = {
        str(k or "all"): ndcg_score(
            ranking.y, values, ranking.qid, k=k, gain=gain.value, empty=empty.value, ties=ties.value
        )
        for k in _cutoffs(cutoffs)
    }
    queries = Queries.from_qid(ranking.qid).n_queries
    title = f"{queries} queries, {len(values)} documents; gain {gain}, ties {ties}, empty queries {empty}"
    console.print(reports.key_value_table(results, title))


def _write_text(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _read_scores(path: Path) -> Any:
    lines = path.read_text().split()
    try:
        return check_scores([float(line) for line in lines])
    except ValueError:
        bad = next((i for i, line in enumerate(lines) if not _is_finite(line)), 0)
        raise ValueError(f"{path}, line {bad + 1}: {lines[bad][:40]!r} is not a finite score") from None


def _is_finite(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _cutoffs(text: str) -> list[int | None]:
    cutoffs = [None if part.strip() == "all" else part.strip() for part in text.split(",")]
    if not all(part is None or (part.isdecimal() and int(part) > 0) for part in cutoffs):
        raise ValueError(f'--cutoffs must be positive integers or "all", comma separated; got {text!r}')
    return [None if part is None else int(part) for part in cutoffs]


def _rankers(objectives: str, backend: Backend, settings: dict[str, Any], leaves: int) -> dict[str, Any]:
    """Rankers by name, for every objective on every backend that can train it."""
    rankers: dict[str, Any] = {}
    for spec in (part.strip() for part in objectives.split(",")):
        objective, _, normalize = spec.partition("/")
        if objective not in (*REGISTRY, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES):
            known = ", ".join((*REGISTRY, *LIGHTGBM_OBJECTIVES, *XGBOOST_OBJECTIVES))
            raise ValueError(f"unknown objective {objective!r}; known are {known}")
        if normalize and (normalize not in NORMALIZATIONS or objective not in REGISTRY):
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


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )


def _show(comparison: Comparison, output: Path | None, plot: Path | None) -> None:
    for table in reports.comparison_tables(comparison):
        console.print(table)
    console.print(
        "p (Holm): two-sided paired randomization test over the test queries of all folds, adjusted for the number of "
        "rankers."
    )
    if output is not None:
        write_atomically(output, lambda name: reports.write_table(comparison, name))
        console.print(f"table: {output}")
    if plot is not None:
        reports.write_plot(comparison, plot)
        console.print(f"plot: {plot}")


def main() -> None:
    """Run the command line: exit code 0, or 2 with one line on what was wrong."""
    try:
        app()
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False, soft_wrap=True)
        sys.exit(2)
