"""``boostrank export``: write a saved model as a search engine takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from boostrank.cli.documents import ModelFeatures, read_documents
from boostrank.cli.options import (
    OUTPUT,
    ModelPath,
    console,
    from_pipe,
    given,
    option,
    require_folder_of,
    split_outside_brackets,
)
from boostrank.cli.predict import ranker_of_file
from boostrank.cli.tables import ColumnOptions
from boostrank.inputs.checks import is_finite_text
from boostrank.inputs.files import write_atomically
from boostrank.serving.feature_sets import feature_set

ENGINE = "In the search engine"


def export(
    model: ModelPath,
    format: Annotated[  # noqa: A002
        Literal["elasticsearch", "opensearch", "solr", "vespa"],
        option(OUTPUT, "FORMAT", "elasticsearch, opensearch, solr or vespa."),
    ],
    output: Annotated[Path, option(OUTPUT, "FILE", "File for the model, which ends in .json for Vespa.")],
    feature_set_file: Annotated[
        Path | None,
        option(OUTPUT, "FILE", "File for a template of the features, to be completed.", "--feature-set"),
    ] = None,
    check: Annotated[
        Path | None,
        option(
            OUTPUT,
            "DATA",
            "Features, as for predict: write nothing if the scores that the engine will compute on them differ.",
            callback=from_pipe,
        ),
    ] = None,
    features: Annotated[
        str | None,
        option(
            ENGINE,
            "NAMES",
            "Names of the features, in the sequence of the model: A,B,f(x,y), or a file with one a line. By default "
            "those that the model has.",
        ),
    ] = None,
    name: Annotated[str | None, option(ENGINE, "NAME", "Name of the model; by default that of FILE.")] = None,
    store: Annotated[str | None, option(ENGINE, "NAME", "Feature store of Solr.")] = None,
    shift: Annotated[
        str | None, option(ENGINE, "min|X", "Add X to all scores; min makes the least possible score 0.")
    ] = None,
    absent: Annotated[
        Literal["missing", "zero"] | None,
        option(
            ENGINE,
            "missing|zero",
            "What a feature counts as that a document does not have; by default as in the training.",
        ),
    ] = None,
) -> None:
    """Write a model for Elasticsearch, OpenSearch, Solr or Vespa.

    The model may be of boostrank, LightGBM or XGBoost, with numbers as
    features. The engine computes the same scores, in float32.
    """
    for path in (output, feature_set_file):
        if path is not None:
            require_folder_of(path)
    if shift is not None and shift != "min" and not is_finite_text(shift):
        raise ValueError(f"--shift must be min or a number; got {shift!r}")
    ranker = ranker_of_file(model).load_model(model)
    known = ModelFeatures.of(ranker)
    names = known.names if features is None else _read_names(features)
    X: Any = None
    if check is not None:
        X = read_documents(check, ColumnOptions(), model=known, needs_qid=False, needs_label=False).X
    settings = given(name=name, store=store, absent=absent)
    if shift is not None:
        settings["shift"] = "min" if shift == "min" else float(shift)
    ranker.export(output, format, features=names, check=X, **settings)
    shown = "" if X is None else f", with the scores of the model on {X.shape[0]:,} rows"
    console.print(f"model: {output}{shown}", soft_wrap=True)
    if feature_set_file is not None:
        assert names is not None
        needs_nan = absent if format == "solr" and absent == "missing" else None
        template = feature_set(format, names, name=store, absent=needs_nan)
        write_atomically(feature_set_file, lambda path: Path(path).write_text(f"{template}\n", encoding="utf-8"))
        console.print(f"features: {feature_set_file}", soft_wrap=True)


def _read_names(text: str) -> list[str]:
    """The names of ``--features``, or those in the file of this name.

    Examples
    --------
    >>> _read_names("bm25(title),closeness(field,embedding)")
    ['bm25(title)', 'closeness(field,embedding)']
    """
    if Path(text).is_file():
        return Path(text).read_text(encoding="utf-8").splitlines()
    return split_outside_brackets(text)
