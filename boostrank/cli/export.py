"""``boostrank export``: write a saved model as a search engine takes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from boostrank.cli.documents import ModelFeatures, read_documents
from boostrank.cli.options import OUTPUT, ModelPath, console, option, require_folder_of, split_outside_brackets
from boostrank.cli.predict import ranker_of_file
from boostrank.cli.tables import ColumnOptions
from boostrank.inputs.checks import is_finite_text
from boostrank.inputs.files import write_atomically
from boostrank.serving.feature_sets import feature_set

ENGINE = "In the search engine"
Engine = Literal["elasticsearch", "opensearch", "solr", "vespa"]
Absent = Literal["missing", "zero"]
CHECK = "Features, as for predict: write nothing if the scores that the engine will compute on them differ."
FEATURES = "A,B,f(x,y), or a file with one a line, in the sequence of the model. By default the names in the model."
ABSENT = "What a feature counts as that a document does not have. By default 0 if the training had no missing values."
SHIFT = "Number to add to all scores; min makes none negative."


def export(
    model: ModelPath,
    format: Annotated[Engine, option(OUTPUT, "NAME", "elasticsearch, opensearch, solr or vespa.")],  # noqa: A002
    output: Annotated[Path, option(OUTPUT, "FILE", "File for the model; for Vespa it must end in .json.")],
    check: Annotated[Path | None, option(OUTPUT, "DATA", CHECK)] = None,
    template: Annotated[
        Path | None, option(OUTPUT, "FILE", "File for a template of the features, to be completed.", "--feature-set")
    ] = None,
    features: Annotated[str | None, option(ENGINE, "NAMES", FEATURES)] = None,
    name: Annotated[str | None, option(ENGINE, "NAME", "Name of the model. By default that of FILE.")] = None,
    store: Annotated[str | None, option(ENGINE, "NAME", "Feature store of Solr.")] = None,
    shift: Annotated[str | None, option(ENGINE, "min|X", SHIFT)] = None,
    absent: Annotated[Absent | None, option(ENGINE, "missing|zero", ABSENT)] = None,
) -> None:
    """Write a model for Elasticsearch, OpenSearch, Solr or Vespa.

    The model may be of boostrank, LightGBM or XGBoost, with numbers as
    features. The engine computes the same scores, in float32.
    """
    require_folder_of(output)
    require_folder_of(template or output)
    ranker = ranker_of_file(model).load_model(model)
    known, X = ModelFeatures.of(ranker), None
    names: Any = known.names
    if features is not None:
        is_file = Path(features).is_file()
        names = Path(features).read_text("utf-8").splitlines() if is_file else split_outside_brackets(features)
    if check is not None:
        X = read_documents(check, ColumnOptions(), model=known, needs_qid=False, needs_label=False).X
    number: Any = float(shift) if shift is not None and is_finite_text(shift) else shift
    ranker.export(output, format, features=names, name=name, store=store, shift=number, absent=absent, check=X)
    shown = "" if X is None else f", with the scores of the model on {X.shape[0]:,} rows"
    console.print(f"model: {output}{shown}", soft_wrap=True)
    if template is not None:
        needs_nan = "missing" if format == "solr" and absent == "missing" else None
        text = feature_set(format, names, name=store, absent=needs_nan)
        write_atomically(template, lambda path: Path(path).write_text(f"{text}\n", encoding="utf-8"))
        console.print(f"features: {template}", soft_wrap=True)
