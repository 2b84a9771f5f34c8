"""``boostrank fit``, ``predict`` and ``export``: train a ranker, use its saved model, and write it
for an engine.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any, Literal

import pandas as pd
import typer
from typer import Argument, Option

from boostrank.backends.progress import BAR
from boostrank.cli import documents, options
from boostrank.cli.documents import QID, SCORE, ColumnOptions, features_of, read_documents
from boostrank.cli.options import (
    refuse_unused,
    require_folder_of,
    set_options,
    split_outside_brackets,
)
from boostrank.cli.reports import counted
from boostrank.inputs.checks import named_part
from boostrank.inputs.files import write_atomically, write_lines
from boostrank.queries.queries import Queries
from boostrank.rankers import load_model
from boostrank.training.losses import DEFAULT_LOSS

#: Rounds without gain on a file of other queries after which the training ends.
DEFAULT_PATIENCE = 150
OBJECTIVE = "A surrogate (softmax), with other targets (softmax/softmax), or one of the library (lambdarank)."
RATE = "Learning rate; by default 0.08, up to 0.16 for large data, and 0.1 for objectives of the library."
ROUNDS = "Rounds, at most so many with --validation. By default the data decide; 100 for objectives of the library."
QUERY_FEATURES = "standardize,rank, or also minmax: how documents stand in the list of their query; predict needs it."
VALIDATION = "Queries to choose the number of rounds by (early stopping), with the columns of DATA."
SCORES = "File for the scores, one a line; .csv, .tsv or .parquet with the query ids. By default standard output."
ENGINE_FEATURES = (
    "A,B,f(x,y), or a file with one a line, in the sequence of the model; by default the names in "
    "it. A .json file may have an object of names and, for elastic, of their queries."
)
CHECK = "Documents, as for predict: write nothing if the scores that the engine will compute on them differ."
REQUESTS = "File for the requests that log features, upload the model and rank, as JSON; complete their queries."
ABSENT = "What a feature counts as that a document does not have. By default 0 if the training had no missing values."
RESOURCE = "Path of the model's file for Solr, if it is too large for ZooKeeper; writes a wrapper for the model store."
Engine = Literal["elasticsearch", "opensearch", "elastic", "solr", "vespa"]


def fit(
    data: options.DataPath,
    model: Annotated[Path, Argument(metavar="MODEL", help="File to write the model to.")],
    qid: options.QidOption = None,
    label: options.LabelOption = None,
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
    seed: options.SeedOption = 0,
) -> None:
    """Train a ranker, and save the model in its library's own format.

    The data are a LETOR file, or a table with a column for the query
    ids, one for the labels, and features in the other columns. --qid and
    --label decide if several columns have usual names of them; --drop those
    that are no features. The model keeps the names of the features.
    """
    measures = (
        options.parse_measures("--eval-metric", eval_metric, set_options(gain=gain))
        if eval_metric
        else {}
    )
    if validation is None:
        refuse_unused("--validation", patience=patience, eval_metric=eval_metric)
    settings: dict[str, Any] = {
        "n_estimators": rounds,
        "k": k,
        "n_jobs": threads,
        "random_state": seed,
    }
    settings |= set_options(gain=gain, learning_rate=learning_rate)
    if validation is not None:
        settings["early_stopping_rounds"] = patience or DEFAULT_PATIENCE
    if query_features is not None:
        settings["query_features"] = split_outside_brackets(query_features)
    rankers = options.make_rankers(objective, backend, leaves, **settings)
    if len(rankers) != 1:
        raise ValueError(
            f"fit trains one model, but --objective {objective!r} has several; see boostrank "
            f"compare"
        )
    (ranker,) = rankers.values()
    require_folder_of(model)
    X, y, ids = read_documents(
        data, ColumnOptions(qid, label, features, drop, categorical, missing)
    )
    of_validation = ColumnOptions(qid, label, missing=missing)
    eval_set = None if validation is None else [read_documents(validation, of_validation, like=X)]
    ranker.fit(X, y, ids, eval_set=eval_set, eval_metric=[*measures.values()] or None, verbose=BAR)
    ranker.save_model(model)
    if ranker.evals_result_:
        typer.echo(_choice(ranker))
    queries = counted(Queries.from_qid(ids).n_queries, "query", "queries")
    size = (
        f"{counted(ranker.best_iteration_, 'round')}, {counted(ranker.n_features_in_, 'feature')}"
    )
    typer.echo(f"{model}: {size}, {counted(len(y), 'document')} of {queries}")


def _choice(ranker: Any) -> str:
    """The number of rounds that the validation queries chose, and the metric on them."""
    (curves,), n_best = ranker.evals_result_.values(), ranker.best_iteration_
    metric, curve = next(iter(curves.items()))
    rounds = f"{counted(n_best, 'round')}, the best of {len(curve)}"
    if n_best == len(curve):
        rounds = f"all of {counted(n_best, 'round')} (more may be better: --rounds)"
    return f"validation: {metric} {curve[n_best - 1]:.4f} with {rounds}"


def predict(
    model: options.ModelPath,
    data: options.DataPath,
    qid: options.QidOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    missing: options.MissingOption = None,
    output: Annotated[Path | None, Option(help=SCORES)] = None,
) -> None:
    """Score documents, and write one score per line, in the sequence of DATA.

    If the model knows its features by name, the columns of a table may
    have any sequence, and others are not read. Labels are not needed. A
    model that was trained with --query-features needs the query ids, and
    all documents of a query.
    Ids are written as they are; a spreadsheet runs an id such as =1+1, unless
    the column is imported as text.
    """
    makes_table = output is not None and documents.is_table(output)
    if output is not None:
        require_folder_of(output)
    ranker = load_model(model)
    needs_qid = makes_table or ranker.query_features_ is not None
    if not needs_qid:
        refuse_unused("--output with a name that ends in .csv, .tsv or .parquet", qid=qid)
    like, columns = features_of(ranker), ColumnOptions(qid, None, features, drop, missing=missing)
    with (
        nullcontext()
        if ranker.query_features_ is None
        else named_part(f"{model} has query_features")
    ):
        X, _, ids = read_documents(
            data, columns, like=like, roles=("features", *["qid"] * needs_qid)
        )
    scores = ranker.predict(X, qid=ids)
    lines = "".join(f"{score!r}\n" for score in scores.tolist())
    if output is None:
        sys.stdout.write(lines)
    elif makes_table:
        table = pd.DataFrame({QID: ids, SCORE: scores})
        write_atomically(output, lambda path: documents.write_table(table, path))
    else:
        write_atomically(output, lambda path: Path(path).write_text(lines, encoding="utf-8"))


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
    for path in filter(None, (output, requests)):
        require_folder_of(path)
    refuse_unused("--requests", index=None if requests else index)
    if requests and requests.resolve() == output.resolve():
        raise ValueError("--requests must be another file than --output")
    ranker, X = load_model(model), None
    like = features_of(ranker)
    names: Any = list(like) if isinstance(like, pd.DataFrame) else None
    if features is not None:
        text = Path(features).read_text("utf-8") if Path(features).is_file() else None
        is_json = text is not None and features.endswith(".json")
        names = (
            split_outside_brackets(features)
            if text is None
            else json.loads(text)
            if is_json
            else text.splitlines()
        )
    if check is None:
        refuse_unused("--check", missing=missing)
    else:
        X = read_documents(check, ColumnOptions(missing=missing), like=like, roles=("features",))[0]
    texts: Any = {"name": name, "version": version, "resource": resource, "store": store}
    ranker.export(output, format, features=names, check=X, shift=shift, absent=absent, **texts)
    if requests is not None:
        # Imported on use: other commands need no search engine.
        from boostrank.serving.requests import requests as make_requests

        queries = names if isinstance(names, dict) else None
        # If the model of Solr has directions for missing values, its features must not be 0 in
        # their place.
        is_missing = "isNullSameAsZero" in output.read_text("utf-8")
        of_solr = (
            {"name": store, "absent": "missing" if is_missing else None} if format == "solr" else {}
        )
        makes = set_options(model=name or output.stem, index=index, queries=queries, **of_solr)
        made = make_requests(format, names, **makes).items()
        write_lines(
            requests,
            [json.dumps({purpose: request._asdict() for purpose, request in made}, indent=2)],
        )
    rows = "" if X is None else f" and on {X.shape[0]:,} rows"
    typer.echo(
        f"model: {output}, {output.stat().st_size:,} bytes, with the scores of the model at its "
        f"splits{rows}"
    )
