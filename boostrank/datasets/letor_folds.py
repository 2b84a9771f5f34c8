"""Read the folds of a LETOR data set."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from boostrank.datasets.dataset import Fold
from boostrank.datasets.letor_format import PathLike, Sparse, check_options
from boostrank.datasets.letor_parser import parse_file
from boostrank.datasets.letor_reader import apply_sizes, make_datasets

#: Endings of the names of LETOR files in folds.
LETOR_ENDINGS = (".txt", ".txt.gz")


def read_letor_folds(
    directory: PathLike,
    *,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
) -> list[Fold]:
    r"""Read folds from files: ``Fold1/train.txt``, ``Fold1/vali.txt``, ``Fold1/test.txt``, ``Fold2/train.txt``, ...

    The data sets of all folds have the same number of features; all X are arrays or all are CSR matrices, and all
    qids are int64 or all are str. Folders may also be named ``fold1``, ``fold_1`` or ``fold-1``. The validation file
    may also be named ``valid.txt`` or ``validation.txt``, and may be absent. Any file may end in ``.txt.gz``. Lines
    without qid need a file of query sizes beside theirs, as in :func:`read_letor`.

    Parameters
    ----------
    directory : str or os.PathLike
        Folder that contains the folders of the folds.
    n_features : int, optional
        Number of columns; by default as many as the largest index of all files needs.
    sparse : {"auto", True, False}, default "auto"
        As in :func:`read_letor`; "auto" decides by the fraction of listed values in all files together.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of the features.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1.

    Returns
    -------
    list of Fold
        Sorted by number: Fold10 follows Fold9.

    Raises
    ------
    NotADirectoryError
        If `directory` is not a folder.
    FileNotFoundError
        If it contains no folds, or if a fold has no training file or no test file.
    ValueError
        As in :func:`read_letor`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fold = pathlib.Path(folder, "Fold1")
    ...     fold.mkdir()
    ...     _ = (fold / "train.txt").write_text("1 qid:1 1:0.5 3:2\n0 qid:1 1:0.25\n")
    ...     _ = (fold / "test.txt").write_text("1 qid:2 1:0.5 2:0.5\n")
    ...     folds = read_letor_folds(folder)
    >>> [(fold.name, fold.train.X.shape, fold.validation, fold.test.X.shape) for fold in folds]
    [('Fold1', (2, 3), None, (1, 3))]
    """
    options = check_options(n_features, sparse, dtype, zero_based)
    found = find_folds(Path(directory), LETOR_ENDINGS)
    parsed_files = [parse_file(path, options) for _, paths in found for path in paths if path]
    for parsed in parsed_files:
        apply_sizes(parsed, None)
    datasets = iter(make_datasets(parsed_files, options))
    folds = []
    for folder, paths in found:
        train, validation, test = (next(datasets) if path else None for path in paths)
        assert train is not None
        assert test is not None
        folds.append(Fold(folder.name, train, validation, test))
    return folds


def find_folds(directory: Path, endings: Sequence[str]) -> list[tuple[Path, list[Path | None]]]:
    """Return the folder of each fold, sorted by number, with its training, validation and test file.

    The names of the files end in one of `endings`, the first of which are preferred.
    """
    if not directory.is_dir():
        raise NotADirectoryError(f"{directory} is not a folder; expected a folder that contains Fold1, Fold2, ...")
    matches = {f: re.fullmatch(r"fold[ _-]?(\d+)", f.name, re.I) for f in directory.iterdir() if f.is_dir()}
    folders = sorted((int(match[1]), folder) for folder, match in matches.items() if match)
    if not folders:
        names = ", ".join(sorted(f.name for f in directory.iterdir())[:8]) or "nothing"
        raise FileNotFoundError(
            f"{directory} contains no folders Fold1, Fold2, ... (or fold1, ...); it contains {names}"
        )
    found = []
    for _, folder in folders:
        train, test = _find_file(folder, endings, "train"), _find_file(folder, endings, "test")
        if train is None or test is None:
            missing = "train" if train is None else "test"
            files = [missing + ending for ending in endings]
            raise FileNotFoundError(
                f"{folder} has neither {', '.join(files[:-1])} nor {files[-1]}; a fold needs one of them"
            )
        found.append((folder, [train, _find_file(folder, endings, "vali", "valid", "validation"), test]))
    return found


def _find_file(folder: Path, endings: Sequence[str], *stems: str) -> Path | None:
    paths = (folder / (stem + ending) for stem in stems for ending in endings)
    return next((path for path in paths if path.is_file()), None)
