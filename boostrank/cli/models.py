"""``boostrank fit``, ``predict`` and ``export``: train a ranker, and use its saved model."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pandas as pd
import typer
from typer import Argument, Option

from boostrank.backends.records import BAR
from boostrank.cli import options, tables
from boostrank.cli.columns import features_line, refuse_infinity, warn_of_features
from boostrank.cli.documents import (
    QID,
    SCORE,
    ColumnOptions,
    Features,
    features_of,
    read_documents,
    read_groups,
)
from boostrank.cli.options import (
    refuse_unused,
    require_folder_of,
    set_options,
    split_outside_brackets,
)
from boostrank.cli.reports import counted
from boostrank.inputs.checks import named_part
from boostrank.inputs.files import write_atomically, write_lines
from boostrank.metrics import Measure
from boostrank.queries.id_columns import without_id_warnings
from boostrank.queries.queries import Queries
from boostrank.rankers import load_model
from boostrank.rankers.base import BoostedRanker
from boostrank.training.losses import DEFAULT_LOSS

if TYPE_CHECKING:
    from boostrank.calibration import CalibratedRanker

#: The column of probabilities in a table of scores.
PROBABILITY = "probability"
#: Rounds without gain on a file of other queries after which the training ends.
DEFAULT_PATIENCE = 150
OBJECTIVE = (
    "A surrogate (softmax), with other targets (softmax/softmax), or one of the library "
    "(lambdarank)."
)
RATE = (
    "Learning rate; by default 0.06 or 0.07, up to 0.16 for large data, and 0.1 for objectives of "
    "the library."
)
ROUNDS = (
    "Rounds, at most so many with --validation. By default the data decide; 100 for objectives of "
    "the library."
)
QUERY_FEATURES = (
    "standardize,rank, or also minmax: how documents stand in the list of their query; predict "
    "needs it."
)
GROUP = "Column of what queries belong to, such as a user: the rounds are those for new users."
VALIDATION = "Queries to choose the number of rounds by (early stopping), with the columns of DATA."
SCORES = (
    "File for the scores, one a line; .csv, .tsv or .parquet with the query ids. By default "
    "standard output."
)
CALIBRATE = (
    "Find too, on five folds of the queries, how scores become probabilities to be first; for "
    "predict --probabilities."
)
PROBABILITIES = (
    "The probability of each document to be first in its list, in place of its score; beside it in "
    "a table. For models of fit --probabilities."
)
ENGINE_FEATURES = (
    "A,B,f(x,y), or a file with one a line, in the sequence of the model; by default the names in "
    "it. A .json file may have an object of names and, for elastic, of their queries."
)
CHECK = (
    "Documents, as for predict: write nothing if the scores that the engine will compute on them "
    "differ."
)
REQUESTS = (
    "File for the requests that log features, upload the model and rank, as JSON; complete their "
    "queries."
)
ABSENT = (
    "What a feature counts as that a document does not have. By default 0 if the training had no "
    "missing values."
)
RESOURCE = (
    "Path of the model's file for Solr, if it is too large for ZooKeeper; writes a wrapper for the "
    "model store."
)
Engine = Literal["elasticsearch", "opensearch", "elastic", "solr", "vespa"]
#: Names of features; a dictionary has queries of Elasticsearch by name.
NamesForEngine = list[str] | dict[str, Any] | None


def fit(
    data: options.DataPath,
    model: Annotated[Path, Argument(metavar="MODEL", help="File to write the model to.")],
    qid: options.QidOption = None,
    label: options.LabelOption = None,
    group: Annotated[str | None, Option(help=GROUP)] = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    categorical: options.CategoricalOption = None,
    missing: options.MissingOption = None,
    objective: Annotated[str, Option(help=OBJECTIVE)] = DEFAULT_LOSS,
    backend: Literal["lightgbm", "xgboost"] = "lightgbm",
    learning_rate: Annotated[float | None, Option(help=RATE, min=1e-6)] = None,
    query_features: Annotated[str | None, Option(help=QUERY_FEATURES)] = None,
    leaves: Annotated[int | None, Option(help="Maximum number of leaves of a tree.", min=2)] = None,
    rounds: Annotated[int | None, Option(help=ROUNDS, min=1)] = None,
    validation: Annotated[Path | None, Option(help=VALIDATION)] = None,
    patience: Annotated[
        int | None, Option(help="Stop after N rounds without gain; by default 150.", min=1)
    ] = None,
    gain: options.GainOption = None,
    k: options.KOption = None,
    eval_metric: Annotated[
        str | None, Option(help="Measure that chooses the rounds, such as map@10.")
    ] = None,
    threads: Annotated[
        int | None, Option(help="Number of threads; by default all processors.", min=1)
    ] = None,
    probabilities: Annotated[Literal["first"] | None, Option(help=CALIBRATE)] = None,
    seed: options.SeedOption = 0,
) -> None:
    """Train a ranker, and save the model in its library's own format.

    The data are a LETOR file, or a table with a column for the query
    ids, one for the labels, and features in the other columns. --qid and
    --label decide if several columns have usual names of them; --drop those
    that are no features. The model keeps the names of the features.
    """
    measures: list[Measure] | None = None
    if eval_metric:
        named = options.parse_measures("--eval-metric", eval_metric, set_options(gain=gain))
        measures = [*named.values()]
    settings: dict[str, Any] = {
        "n_estimators": rounds,
        "k": k,
        "n_jobs": threads,
        "random_state": seed,
        **set_options(gain=gain, learning_rate=learning_rate),
    }
    if validation is None:
        refuse_unused("--validation", patience=patience, eval_metric=eval_metric)
    else:
        settings["early_stopping_rounds"] = patience or DEFAULT_PATIENCE
        if probabilities is not None:
            raise ValueError(
                "--probabilities trains on folds of DATA, which --validation would not fit: leave "
                "one of them out"
            )
    if query_features is not None:
        settings["query_features"] = split_outside_brackets(query_features)
    rankers = options.make_rankers(objective, backend, leaves, **settings)
    if len(rankers) != 1:
        raise ValueError(
            f"fit trains one model, but --objective {objective!r} has several; see boostrank "
            "compare"
        )
    (ranker,) = rankers.values()
    require_folder_of(model)
    _refuse_data_as_output("MODEL", model, data, validation)
    columns = ColumnOptions(qid, label, features, drop, categorical, missing)
    groups = None
    if group is not None:
        if not tables.is_table(data):
            refuse_unused("a CSV, TSV or Parquet file", group=group)
        groups = read_groups(data, group)
        columns = columns._replace(drop=[*(drop or ()), group])
    # They look only at which label is larger.
    may_be_negative = objective == "rank:pairwise" or gain == "rank"
    X, y, ids = read_documents(data, columns, may_be_negative=may_be_negative)
    eval_set = None
    if validation is not None:
        columns = ColumnOptions(qid, label, missing=missing)
        eval_set = [read_documents(validation, columns, like=X)]
    warn_of_features(data, X, ids, features)
    if backend == "xgboost":
        refuse_infinity(data, X)
    if isinstance(X, pd.DataFrame):
        typer.echo(features_line(X))
    with without_id_warnings():
        if probabilities is None:
            ranker.fit(
                X, y, ids, groups=groups, eval_set=eval_set, eval_metric=measures, verbose=BAR
            )
            ranker.save_model(model)
        else:
            ranker = _fit_calibrated(ranker, X, y, ids, groups, model)
    if ranker.evals_result_:
        typer.echo(_choice(ranker))
    rounds_and_features = (
        f"{counted(ranker.best_iteration_, 'round')}, {counted(ranker.n_features_in_, 'feature')}"
    )
    queries = counted(Queries.from_qid(ids).n_queries, "query", "queries")
    typer.echo(f"{model}: {rounds_and_features}, {counted(len(y), 'document')} of {queries}")


def _fit_calibrated(
    ranker: BoostedRanker, X: Any, y: Any, ids: Any, groups: Any, path: Path
) -> BoostedRanker:
    """Train a ranker with probabilities of the first place, and save both; returns the ranker."""
    # Imported on use: other commands need no probabilities.
    from boostrank.calibration import CalibratedRanker

    calibrated = CalibratedRanker(ranker, "first").fit(X, y, ids, groups=groups)
    calibrated.save_model(path)
    typer.echo(f"temperature of the scores: {calibrated.temperature_:.4g}")
    fitted: BoostedRanker = calibrated.ranker_
    return fitted


def _choice(ranker: BoostedRanker) -> str:
    """The number of rounds that the validation queries chose, and the metric on them."""
    (curves,) = ranker.evals_result_.values()
    metric, curve = next(iter(curves.items()))
    n_best = ranker.best_iteration_
    rounds = f"{counted(n_best, 'round')}, the best of {len(curve)}"
    if n_best == len(curve):
        rounds = f"all of {counted(n_best, 'round')} (more may be better: --rounds)"
    return f"validation: {metric} {curve[n_best - 1]:.4f} with {rounds}"


def _refuse_data_as_output(option: str, output: Path, *inputs: Path | None) -> None:
    """Raise ValueError for a file to write that is one of those to read, or a table for a model."""
    if any(path is not None and path.resolve() == output.resolve() for path in inputs):
        raise ValueError(f"{option}: {output} is a file to read, and would be lost: name another")
    if option == "MODEL" and tables.is_table(output):
        raise ValueError(
            f"MODEL {output} has the name of a table. It is the file to write the model to: give "
            "it another name, such as model.txt"
        )


def _load_model(path: Path) -> BoostedRanker:
    """Read a model; a table in its place is an error with the sequence of the arguments."""
    if tables.is_table(path) and path.is_file():
        raise ValueError(f"{path} is a table, and no model: MODEL comes first, as fit wrote it")
    return load_model(path)


def predict(
    model: options.ModelPath,
    data: options.DataPath,
    qid: options.QidOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    output: Annotated[Path | None, Option(help=SCORES)] = None,
    probabilities: Annotated[Literal["first"] | None, Option(help=PROBABILITIES)] = None,
) -> None:
    """Score documents, and write one score per line, in the sequence of DATA.

    If the model knows its features by name, the columns of a table may
    have any sequence, and others are not read. Labels are not needed. A
    model that was trained with --query-features needs the query ids, and
    all documents of a query.
    Ids are written as they are; a spreadsheet runs an id such as =1+1, unless
    the column is imported as text.
    """
    makes_table = output is not None and tables.is_table(output)
    if output is not None:
        require_folder_of(output)
        _refuse_data_as_output("--output", output, data, model)
    ranker = _load_model(model)
    calibrated = None if probabilities is None else _load_calibrated(model)
    roles = ["features"]
    if makes_table or calibrated is not None or ranker.query_features_ is not None:
        roles.append("qid")
    else:
        refuse_unused("--output with a name that ends in .csv, .tsv or .parquet", qid=qid)
    columns = ColumnOptions(qid, None, features, drop, missing=missing)
    with ExitStack() as stack:
        # If there are no query ids, the message says why they are needed.
        if calibrated is not None:
            stack.enter_context(named_part("--probabilities are those of lists"))
        elif ranker.query_features_ is not None:
            stack.enter_context(named_part(f"{model} has query_features"))
        X, _, ids = read_documents(data, columns, like=features_of(ranker), roles=roles)
    columns_of_table = {QID: ids, SCORE: ranker.predict(X, qid=ids)}
    written = SCORE
    if calibrated is not None:
        written = PROBABILITY
        columns_of_table[PROBABILITY] = calibrated.predict_proba(X, qid=ids)
    lines = "".join(f"{value!r}\n" for value in columns_of_table[written].tolist())
    if output is None:
        sys.stdout.write(lines)
    elif makes_table:
        table = pd.DataFrame(columns_of_table)
        write_atomically(output, lambda path: tables.write_table(table, path))
    else:
        write_atomically(output, lambda path: Path(path).write_text(lines, encoding="utf-8"))


def _load_calibrated(model: Path) -> CalibratedRanker:
    """The calibrated ranker of a model file; ValueError if it has no probabilities to be first."""
    from boostrank.calibration import CalibratedRanker

    calibrated = CalibratedRanker.load_model(model)
    if calibrated.target != "first":
        raise ValueError(
            f"{model} has probabilities of relevance, and --probabilities first are those of the "
            "first place: use predict_proba in Python"
        )
    return calibrated


def export(
    model: options.ModelPath,
    format: Annotated[Engine, Option()],
    output: Annotated[Path, Option(help="File for the model; for Vespa it must end in .json.")],
    check: Annotated[Path | None, Option(help=CHECK)] = None,
    features: Annotated[str | None, Option(help=ENGINE_FEATURES)] = None,
    name: Annotated[
        str | None, Option(help="Name of the model. By default that of the file.")
    ] = None,
    version: Annotated[
        str | None, Option(help="Version of the engine, such as 3.5. By default the newest.")
    ] = None,
    resource: Annotated[str | None, Option(help=RESOURCE)] = None,
    store: Annotated[str | None, Option(help="Feature store of Solr.")] = None,
    shift: Annotated[
        Literal["min"] | None, Option(help="Add the least number that makes no score negative.")
    ] = None,
    absent: Annotated[Literal["missing", "zero"] | None, Option(help=ABSENT)] = None,
    requests: Annotated[Path | None, Option(help=REQUESTS)] = None,
    index: Annotated[
        str | None, Option(help="Index, collection or schema in the requests.")
    ] = None,
    missing: options.MissingOption = None,
) -> None:
    """Write a model for Elasticsearch, OpenSearch, Solr or Vespa.

    The model may be of boostrank, LightGBM or XGBoost, with numbers as
    features. The engine computes the same scores, in float32.
    elasticsearch is its plugin, elastic what it has itself.
    """
    require_folder_of(output)
    if requests is None:
        refuse_unused("--requests", index=index)
    else:
        require_folder_of(requests)
        if requests.resolve() == output.resolve():
            raise ValueError("--requests must be another file than --output")
    ranker = _load_model(model)
    like = features_of(ranker)
    names = _names_for_engine(features, like)
    X = None
    rows = ""
    if check is None:
        refuse_unused("--check", missing=missing)
    else:
        columns = ColumnOptions(missing=missing)
        X, _, _ = read_documents(check, columns, like=like, roles=("features",))
        rows = f" and on {X.shape[0]:,} rows"
    texts: Any = {"name": name, "version": version, "resource": resource, "store": store}
    ranker.export(output, format, features=names, check=X, shift=shift, absent=absent, **texts)
    if requests is not None:
        made: dict[str, Any] = {"model": name or output.stem, "index": index}
        if format == "solr":
            made["name"] = store
            # If the model has directions for missing values, its features must not be 0 in their
            # place.
            if "isNullSameAsZero" in output.read_text("utf-8"):
                made["absent"] = "missing"
        _write_requests(requests, format, names, made)
    typer.echo(
        f"model: {output}, {output.stat().st_size:,} bytes, with the scores of the model at its "
        f"splits{rows}"
    )


def _names_for_engine(text: str | None, like: Features) -> NamesForEngine:
    """The names of the features of a model, from the option or, by default, from the model.

    The option has them, or is the name of a file with them.
    """
    if text is None:
        return list(map(str, like)) if isinstance(like, pd.DataFrame) else None
    file = Path(text)
    if not file.is_file():
        return split_outside_brackets(text)
    content = file.read_text("utf-8")
    if text.endswith(".json"):
        names: NamesForEngine = json.loads(content)
        return names
    return content.splitlines()


def _write_requests(
    path: Path, engine: str, names: NamesForEngine, settings: Mapping[str, object]
) -> None:
    """Write the requests to the engine as JSON."""
    # Imported on use: other commands need no search engine.
    from boostrank.serving.requests import requests as make_requests

    queries = names if isinstance(names, dict) else None
    made = make_requests(engine, names, **set_options(queries=queries, **settings))
    by_purpose = {purpose: request._asdict() for purpose, request in made.items()}
    write_lines(path, [json.dumps(by_purpose, indent=2)])
