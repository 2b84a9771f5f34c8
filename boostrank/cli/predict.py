"""``boostrank predict``: score documents with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import pandas as pd

from boostrank.backends.models import require_file
from boostrank.cli import options
from boostrank.cli.documents import QID, SCORE, ModelFeatures, read_documents
from boostrank.cli.options import COLUMNS, OUTPUT, option
from boostrank.cli.tables import ColumnOptions, is_table_name, open_table, split_names, write_table_file
from boostrank.inputs.arrays import Floats
from boostrank.inputs.files import write_atomically
from boostrank.rankers import LightGBMRanker, XGBoostRanker


def predict(
    model: options.ModelPath,
    data: options.DataPath,
    qid: options.QidOption = None,
    features: options.FeaturesOption = None,
    drop: options.DropOption = None,
    keep: Annotated[
        list[str] | None, option(COLUMNS, "NAMES", "Columns to copy to an output that is a table, such as ids.")
    ] = None,
    output: Annotated[
        Path | None,
        option(
            OUTPUT,
            "FILE",
            "File for the scores, one a line, or a table with the columns qid and score if its name ends in .csv, .tsv "
            "or .parquet. By default standard output.",
        ),
    ] = None,
) -> None:
    """Score documents, and write one score per line, in the sequence of DATA.

    If the model knows its features by name, the columns of a table may
    have any sequence, and other columns are not read. Labels are not
    needed.
    """
    makes_table = output is not None and is_table_name(output)
    if not makes_table:
        options.refuse_unused("--output with a name that ends in .csv, .tsv or .parquet", qid=qid, keep=keep)
    if output is not None:
        options.require_folder_of(output)
    ranker = ranker_of_file(model).load_model(model)
    known = ModelFeatures.of(ranker)
    if known.names is not None:
        options.refuse_unused("a model without names of features", features=features, drop=drop)
    file = open_table(data)
    kept = split_names(keep, file.names if file is not None else [])
    columns = ColumnOptions(qid, None, features, drop)
    documents = read_documents(data, columns, model=known, needs_qid=makes_table, needs_label=False, others=kept)
    scores = ranker.predict(documents.X)
    if output is None:
        sys.stdout.write(_lines(scores))
    elif makes_table:
        others = {} if documents.others is None else dict(documents.others.items())
        table = pd.DataFrame({QID: documents.qid, **others, SCORE: scores})
        write_atomically(output, lambda name: write_table_file(table, name))
    else:
        write_atomically(output, lambda name: Path(name).write_text(_lines(scores), encoding="utf-8"))


def _lines(scores: Floats) -> str:
    return "".join(f"{score!r}\n" for score in scores.tolist())


def ranker_of_file(model: Path) -> LightGBMRanker | XGBoostRanker:
    """An unfitted ranker of the backend whose format the file has."""
    with open(require_file(model), "rb") as file:
        head = file.read(5)
    if head == b"tree\n":
        return LightGBMRanker()
    if head.startswith(b"{"):
        return XGBoostRanker()
    raise ValueError(f"MODEL, the first argument: {str(model)!r} is a model neither of LightGBM nor of XGBoost")
