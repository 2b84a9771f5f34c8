"""Read LETOR files."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import numpy as np
import numpy.typing as npt

from boostrank.datasets.dataset import Dataset
from boostrank.datasets.letor_format import Array, PathLike, ReadOptions, Sparse, check_options, is_int64, quote
from boostrank.datasets.letor_parser import parse_file
from boostrank.datasets.parsed_file import ParsedFile

if TYPE_CHECKING:
    from scipy import sparse as sp

Sizes = PathLike | npt.ArrayLike | None


@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[False] = False,
) -> Dataset: ...
@overload
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: Literal[True],
) -> tuple[Array | sp.csr_matrix, Array, Array, list[str]]: ...
def read_letor(
    path: PathLike,
    *,
    sizes: Sizes = None,
    n_features: int | None = None,
    sparse: Sparse = "auto",
    dtype: npt.DTypeLike = np.float64,
    zero_based: bool = False,
    comments: bool = False,
) -> Dataset | tuple[Array | sp.csr_matrix, Array, Array, list[str]]:
    r"""Read one LETOR / SVMlight file: ``label qid:ID index:value ... # comment``, one document per line.

    Every number is exactly what ``float`` makes of its text (float32 rounds it once more); labels and values may be
    ``nan`` or ``inf``. Features that a line does not list are 0. Fields are separated by spaces or tabs, and the
    indices of a line may come in any sequence. Lines end in ``\n`` or ``\r\n``. Blank lines, and lines with only a
    comment, are no documents. Gzip data is recognized by content; one thread decompresses it while others parse. The
    number of threads is ``OMP_NUM_THREADS``, and by default that of processors. Peak memory is that of the result, and
    about 30 megabytes for each thread. A dense result from lines that leave features out takes 12 more bytes for each
    value in the file.

    Parameters
    ----------
    path : str or os.PathLike
        File to read.
    sizes : str, os.PathLike or array of int, shape (n_queries,), optional
        Number of documents of each query, in the sequence of the lines; or a file with one such number per line.
        The default is the file ``<path>.query`` or ``<path>.group`` if there is one (for ``x.gz`` also ``x.query``
        and ``x.group``). Lines without qid need sizes; their queries are numbered from 0. Where the lines have
        qids, these are the queries, and the sizes must agree with them.
    n_features : int, optional
        Number of columns of X; by default as many as the largest index needs. Pass it if several files must have
        the same columns, because a sparse file need not contain the last feature.
    sparse : {"auto", True, False}, default "auto"
        Whether to return X as a CSR matrix or as an array. "auto" chooses the array if the file lists at least half
        of the n_documents · n_features values. A CSR matrix keeps the zeros that the file lists.
    dtype : {numpy.float64, numpy.float32}, default numpy.float64
        Type of X.
    zero_based : bool, default False
        Whether the first feature has index 0 rather than 1. This is never guessed: a zero-based file may happen not
        to use index 0, and would then get other columns than the files that it belongs to.
    comments : bool, default False
        Whether to return the comments too.

    Returns
    -------
    Dataset or tuple
        ``(X, y, qid)``: y is float64; qid is int64 if all qids are integers in the range of int64 in their
        usual form (7, but not 07 or +7, which are different qids), else str. With ``comments=True`` it is the tuple
        ``(X, y, qid, comments)``, with one stripped str per document, empty if the document has no comment. Bytes that
        are not UTF-8 are shown as ``\xff``; a file where this text is another qid is an error.

    Raises
    ------
    ValueError
        If an option is invalid; if a line is invalid (the message names the file, the line and the fault); if an
        index is repeated in a line or out of range; if there are no documents; if some lines have a qid and others
        do not; if sizes are missing, or disagree with the lines; or if gzip data is damaged.
    OSError
        If the file cannot be opened or is a folder.
    MemoryError
        If the dense array does not fit in memory.

    See Also
    --------
    read_letor_folds : Read files that must have the same columns.
    write_letor : Write such a file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 2:1 # doc a\n0 qid:7 2:3\n1 qid:9 1:nan\n")
    ...     X, y, qid = read_letor(path)
    >>> X
    array([[0.5, 1. ],
           [0. , 3. ],
           [nan, 0. ]])
    >>> y, qid
    (array([2., 0., 1.]), array([7, 7, 9]))
    """
    options = check_options(n_features, sparse, dtype, zero_based, comments)
    parsed = parse_file(path, options)
    apply_sizes(parsed, sizes)
    dataset = make_datasets([parsed], options)[0]
    return (*dataset, parsed.comments) if comments else dataset


def apply_sizes(parsed: ParsedFile, source: Sizes) -> None:
    """Number the queries by their sizes; if the lines have qids, check the sizes against these.

    `source` is the argument `sizes` of :func:`read_letor`.
    """
    source = _find_sizes(parsed.name) if source is None else source
    if source is None:
        if parsed.has_qid:
            return
        raise ValueError(
            f"{parsed.name}: no line has a qid, and there is no file {parsed.name}.query or .group; pass sizes="
        )
    name, sizes = _read_sizes(source)
    if sum(sizes) != parsed.n_rows:
        raise ValueError(
            f"{name}: the {len(sizes)} query sizes sum to {sum(sizes)}, but {parsed.name} has {parsed.n_rows} "
            "documents; the two files do not belong together, or one of them is cut off"
        )
    if not parsed.has_qid:
        parsed.qid_runs = [(b"%d" % i, size) for i, size in enumerate(sizes)]
        return
    by_qid = [sum(n for _, n in runs) for _, runs in itertools.groupby(parsed.qid_runs, key=lambda run: run[0])]
    if by_qid != sizes:
        i = next(i for i, pair in enumerate(zip(by_qid, sizes, strict=False)) if pair[0] != pair[1])
        raise ValueError(
            f"{name}: query {i + 1} has size {sizes[i]}, but by the qids of {parsed.name} it has {by_qid[i]} "
            "documents; remove or correct the wrong one"
        )


def _read_sizes(source: PathLike | npt.ArrayLike) -> tuple[str, list[int]]:
    """Return the name of the query sizes for error messages, and the sizes."""
    if not isinstance(source, (str, os.PathLike)):
        sizes = np.asarray(source)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes < 1).any():
            raise ValueError(f"sizes must be a path, or integers of at least 1, one per query; got {source!r}")
        return "sizes", sizes.tolist()
    lines = Path(source).read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        if line.strip() and not re.fullmatch(rb"0*[1-9]\d{0,15}", line.strip()):
            raise ValueError(
                f"{os.fspath(source)}, line {number}: expected one query size of at least 1; got {quote(line, 40)}"
            )
    return os.fspath(source), [int(line) for line in lines if line.strip()]


def _find_sizes(name: str) -> str | None:
    stems = dict.fromkeys([name, name.removesuffix(".gz")])
    return next((s + end for s in stems for end in (".query", ".group") if os.path.isfile(s + end)), None)


def make_datasets(files: list[ParsedFile], options: ReadOptions) -> list[Dataset]:
    """Make a data set of each file, all with the same columns, the same type of X and the same type of qid."""
    width = options.n_features or max(parsed.width for parsed in files)
    n_cells = sum(parsed.n_rows for parsed in files) * width
    n_stored = sum(parsed.data.size for parsed in files)
    is_dense = 2 * n_stored >= n_cells if options.sparse == "auto" else not options.sparse
    all_int64 = all(is_int64(text) for parsed in files for text, _ in parsed.qid_runs)
    _refuse_merged_qids(files)
    datasets = []
    for parsed in files:
        X = _dense(parsed, width) if is_dense else _csr(parsed, width)
        texts, counts = zip(*parsed.qid_runs, strict=True)
        ids = np.array([int(text) if all_int64 else text.decode(errors="backslashreplace") for text in texts])
        datasets.append(Dataset(X, np.concatenate(parsed.labels), np.repeat(ids, counts)))
    return datasets


def _refuse_merged_qids(files: list[ParsedFile]) -> None:
    """Raise ValueError if a qid that is not UTF-8 is shown as the text of another qid."""
    shown: dict[str, bytes] = {}
    for parsed in files:
        for text, _ in parsed.qid_runs:
            other = shown.setdefault(text.decode(errors="backslashreplace"), text)
            if other != text:
                raise ValueError(
                    f"{parsed.name}: the qids {other!r} and {text!r} are different, but one of them is not UTF-8, and "
                    "both would be shown as the same text; convert the file to UTF-8"
                )


def _dense(parsed: ParsedFile, width: int) -> Array:
    data, shape = parsed.data.finish(), (parsed.n_rows, width)
    if parsed.n_regular == width:
        return data.reshape(shape)
    try:
        X = np.zeros(shape, data.dtype)
    except (MemoryError, ValueError):  # NumPy raises ValueError for more bytes than can be addressed.
        raise MemoryError(
            f"a dense array of {shape[0]} x {shape[1]} features does not fit in memory; pass sparse=True"
        ) from None
    if parsed.n_regular is not None:
        X[:, : parsed.n_regular] = data.reshape(parsed.n_rows, parsed.n_regular)
        return X
    indices, row, start = parsed.indices.finish(), 0, 0
    for counts in parsed.counts:  # One block at a time: the row numbers of all values would take much memory.
        rows = np.repeat(np.arange(row, row + len(counts)), counts)
        listed = slice(start, start + rows.size)
        X[rows, indices[listed]] = data[listed]
        row, start = row + len(counts), listed.stop
    return X


def _csr(parsed: ParsedFile, width: int) -> sp.csr_matrix:
    from scipy import sparse as sp

    columns = parsed.indices.finish()
    if parsed.n_regular is not None:
        columns = np.tile(np.arange(parsed.n_regular, dtype=np.int32), parsed.n_rows)
    indptr = np.concatenate([[0], np.cumsum(np.concatenate(parsed.counts))])
    return sp.csr_matrix((parsed.data.finish(), columns, indptr), shape=(parsed.n_rows, width))
