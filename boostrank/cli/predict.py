"""``boostrank predict``: score documents with a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from boostrank.backends.model_files import require_file
from boostrank.cli.options import DataPath
from boostrank.datasets import read_letor
from boostrank.files import write_atomically
from boostrank.rankers import LightGBMRanker, XGBoostRanker


def predict(
    model: Annotated[
        Path, typer.Argument(help="Model in LightGBM's or XGBoost's own format, as fit writes it.", show_default=False)
    ],
    data: DataPath,
    output: Annotated[
        Path | None, typer.Option(help="File to write the scores to. By default standard output.")
    ] = None,
) -> None:
    """Score the documents of a LETOR file, and write one score per line."""
    ranker = ranker_of_file(model).load_model(model)
    scores = ranker.predict(read_letor(data, n_features=ranker.n_features_in_).X)
    lines = "".join(f"{score!r}\n" for score in scores.tolist())
    if output is None:
        sys.stdout.write(lines)
    else:
        write_atomically(output, lambda name: _write_text(name, lines))


def ranker_of_file(model: Path) -> LightGBMRanker | XGBoostRanker:
    """An unfitted ranker of the backend whose format the file has."""
    with open(require_file(model), "rb") as file:
        head = file.read(5)
    if head == b"tree\n":
        return LightGBMRanker()
    if head.startswith(b"{"):
        return XGBoostRanker()
    raise ValueError(f"{str(model)!r} is a model neither of LightGBM nor of XGBoost")


def _write_text(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")
