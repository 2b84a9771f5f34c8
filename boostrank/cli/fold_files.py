"""Folders of folds, whose files are all LETOR files or all tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from boostrank.cli.data_files import read_documents
from boostrank.cli.table_columns import ColumnOptions
from boostrank.cli.table_files import CSV_SUFFIXES, PARQUET_SUFFIXES
from boostrank.datasets import Dataset, Fold, read_letor_folds
from boostrank.datasets.letor_reader import LETOR_ENDINGS, find_folds

_TABLE_ENDINGS = (*CSV_SUFFIXES, *(f"{suffix}.gz" for suffix in CSV_SUFFIXES), *PARQUET_SUFFIXES)


def read_folds(directory: Path, columns: ColumnOptions) -> list[Fold]:
    """Read folds from ``Fold1/train.csv``, ``Fold1/vali.csv``, ``Fold1/test.csv``, ``Fold2/train.csv``, ...

    The files may be tables in any format that commands read, or LETOR files; see
    :func:`boostrank.read_letor_folds` for their names. The columns of a fold are those of its training file, and so are
    the categories. All query ids are int64, or all are str.

    Raises
    ------
    ValueError
        For options about columns of LETOR files, and as :func:`boostrank.cli.data_files.read_documents`.
    OSError
        If there are no folds, if a fold has no training file or no test file, or if a file cannot be read.
    """
    found = find_folds(directory, (*LETOR_ENDINGS, *_TABLE_ENDINGS))
    paths = [path for _, parts in found for path in parts if path is not None]
    n_letor = sum(path.name.endswith(LETOR_ENDINGS) for path in paths)
    if n_letor == len(paths):
        if columns.given:
            raise ValueError(
                f"{columns.given[0]} is for CSV, TSV and Parquet files; {directory} is a folder of LETOR folds"
            )
        return read_letor_folds(directory)
    if n_letor:
        raise ValueError(f"{directory} has both LETOR files and tables, such as {paths[0]}; expected one format")
    folds = [_read_fold(folder.name, parts, columns) for folder, parts in found]
    parts = [part for fold in folds for part in fold[1:] if part is not None]
    ids_are_numbers = all(part.qid.dtype.kind in "iu" for part in parts)
    return folds if ids_are_numbers else [_with_text_ids(fold) for fold in folds]


def _read_fold(name: str, paths: list[Path | None], columns: ColumnOptions) -> Fold:
    train_path, *others = paths
    assert train_path is not None
    train = read_documents(train_path, **columns._asdict())

    def read(path: Path) -> Dataset:
        return read_documents(path, qid=columns.qid, label=columns.label, model=train.features).dataset

    validation, test = (None if path is None else read(path) for path in others)
    assert test is not None
    return Fold(name, train.dataset, validation, test)


def _with_text_ids(fold: Fold) -> Fold:
    def changed(part: Dataset) -> Dataset:
        return part._replace(qid=np.asarray(part.qid).astype(str))

    validation = None if fold.validation is None else changed(fold.validation)
    return Fold(fold.name, changed(fold.train), validation, changed(fold.test))
