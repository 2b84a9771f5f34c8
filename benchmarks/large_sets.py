"""The data sets of large_experiment.py: their files, how they are read, and synthetic ones.

The sizes of the synthetic files are a tenth of those of the real ones. MSLR-WEB30K has 3,771,126
documents of 31,531 queries in five parts; set 1 of Yahoo's challenge 473,134, 71,083 and 165,660
documents of 19,944, 2,994 and 6,983 queries, set 2 34,815, 34,881 and 103,174 of 1,266, 1,266 and
3,798; Istella-S 3,408,630 documents, of which 60%, 20% and 20% of the queries are for training,
validation and test; Istella 10,454,629 documents, 23,219 queries for training and 9,799 for test.
These are the numbers that the pages of the data sets have.
"""

import shutil
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from workloads import WEB_SHARES, grades, ragged_sizes, read_folds

import boostrank as br


class Split(NamedTuple):
    """The queries to train on, those for validation, and those for testing, if they were read."""

    train: br.Dataset
    validation: br.Dataset
    test: br.Dataset | None


class LargeSet(NamedTuple):
    """How the files of a known data set are named.

    Attributes
    ----------
    n_features : int
    n_documents : int
        About the number of documents to train on in a split.
    files : list of (str, str or None, str)
        The files for training, validation and test of each split, in the folder of the set. Without
        a validation file, the last fifth of the training queries is for validation.
    repeats : int
        Number of trainings of a method on a split.
    lists : tuple of bool
        Whether features of lists are added: without and with, or only without.
    is_primary : bool
        Whether the set counts in the mean over sets.
    has_large_values : bool
        Whether the files have values that float32 does not hold, such as 1.8e308; they are missing
        values for all rankers.
    """

    n_features: int
    n_documents: int
    files: list[tuple[str, str | None, str]]
    repeats: int = 5
    lists: tuple[bool, ...] = (False, True)
    is_primary: bool = True
    has_large_values: bool = False


def _names(pattern, ending="vali"):
    return tuple(pattern.format(part) for part in ("train", ending, "test"))


KNOWN = {
    "MSLR-WEB30K": LargeSet(
        136, 2_263_000, [_names(f"Fold{i}/{{}}.txt") for i in range(1, 6)], repeats=1
    ),
    "Yahoo-set1": LargeSet(699, 473_134, [_names("set1.{}.txt", "valid")]),
    "Yahoo-set2": LargeSet(699, 34_815, [_names("set2.{}.txt", "valid")]),
    "Istella-S": LargeSet(220, 2_045_000, [_names("sample/{}.txt")], has_large_values=True),
    # It contains the queries of Istella-S; with features of lists it does not fit into 20 GB.
    "Istella": LargeSet(
        220,
        5_900_000,
        [("full/train.txt", None, "full/test.txt")],
        repeats=2,
        lists=(False,),
        is_primary=False,
        has_large_values=True,
    ),
}


def set_of(name, path):
    """The description of a set; that of a name that is not known has the folds of `path`."""
    if name in KNOWN:
        return KNOWN[name]
    n_folds = len(read_folds(path))
    return LargeSet(0, 0, [("", "", "")] * n_folds, repeats=1)


def file_sizes(name, path):
    """Bytes of the files of a set, by name: a resumed experiment needs the same files."""
    if name not in KNOWN:
        return {}
    names = sorted({file for files in KNOWN[name].files for file in files if file})
    missing = [file for file in names if not Path(path, file).exists()]
    if missing:
        raise SystemExit(f"{name}: {path} has no {', '.join(missing)}")
    return {file: Path(path, file).stat().st_size for file in names}


def read_split(name, path, number, *, with_test):
    """Read a split in float32."""
    if name not in KNOWN:
        fold = read_folds(path)[number]
        parts = (fold.train, fold.validation, fold.test if with_test else None)
        return Split(*(part and in_sequence(_float32(part)) for part in parts))
    of_train, of_validation, of_test = KNOWN[name].files[number]
    read = partial(_read, n_features=KNOWN[name].n_features)
    train = read(Path(path, of_train))
    if of_validation is None:
        train, validation = last_fifth(train)
    else:
        validation = read(Path(path, of_validation))
    return Split(train, validation, read(Path(path, of_test)) if with_test else None)


def _read(path, n_features):
    return in_sequence(br.read_letor(path, n_features=n_features, sparse=False, dtype=np.float32))


def _float32(data):
    return data._replace(X=np.asarray(data.X, dtype=np.float32))


def in_sequence(data):
    """The data, whose rows of a query must follow each other."""
    if np.count_nonzero(data.qid[1:] != data.qid[:-1]) >= len(np.unique(data.qid)):
        raise ValueError("the rows of a query must follow each other in a file")
    return data


def last_fifth(data):
    """The first four fifths of the queries, and the last fifth, as views."""
    starts = np.flatnonzero(np.r_[True, data.qid[1:] != data.qid[:-1]])
    first = starts[round(0.8 * len(starts))]
    return (
        br.Dataset(*(rows[part] for rows in data)) for part in (slice(first), slice(first, None))
    )


def add_list_features(split):
    """The split with the features of documents relative to their list, for all rankers alike."""
    transformer = br.QueryFeatures().fit(split.train.X, qid=split.train.qid)
    return Split(
        *(part and part._replace(X=transformer.transform(part.X, part.qid)) for part in split)
    )


class Synthetic(NamedTuple):
    """How a synthetic file looks.

    Attributes
    ----------
    n_features : int
    n_documents : int
        Mean number of documents of a query.
    empty : tuple of int
        Features from the first to below the second number are 0 in all lines, as in Yahoo's sets.
    zeros : float
        Share of the values of the other features that are 0 and left out of the lines.
    extreme : bool
        Whether a feature has values that float32 does not hold.
    """

    n_features: int
    n_documents: int
    empty: tuple[int, int] = (0, 0)
    zeros: float = 0.0
    extreme: bool = False


MSLR = Synthetic(136, 120)
YAHOO_1 = Synthetic(699, 24, (519, 699), zeros=0.6)
YAHOO_2 = Synthetic(699, 27, (0, 103), zeros=0.6)
ISTELLA_S = Synthetic(220, 103, zeros=0.3, extreme=True)
ISTELLA = Synthetic(220, 317, zeros=0.3, extreme=True)
#: The format and the number of queries of the parts of each set: a tenth of the real numbers.
PARTS = {
    "MSLR-WEB30K": (MSLR, {f"S{i}": 631 for i in range(1, 6)}),
    "Yahoo-set1": (YAHOO_1, {"train": 1994, "valid": 299, "test": 698}),
    "Yahoo-set2": (YAHOO_2, {"train": 127, "valid": 127, "test": 380}),
    "Istella-S": (ISTELLA_S, {"train": 1981, "vali": 660, "test": 660}),
    "Istella": (ISTELLA, {"train": 2322, "test": 980}),
}
N_CODES, N_QUERY_FEATURES, N_TERMS = 256, 8, 40
#: Queries of a block, which is written at once.
BLOCK = 100


def make_synthetic(folder, scale=1.0, names=tuple(PARTS)):
    """Write files of the formats of known sets into folders of their names.

    The files of a set depend on `scale` only, which multiplies the numbers of queries.
    """
    for name in names:
        (form, parts), number = PARTS[name], list(PARTS).index(name)
        home, first = Path(folder, name), 1
        for part, n_queries in parts.items():
            n_queries = max(2, round(scale * n_queries))
            path = home / _file_of(name, part)
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, form, first, n_queries, seed=number)
            first += n_queries
        if name == "MSLR-WEB30K":
            _join_folds(home)


def _file_of(name, part):
    if name.startswith("Yahoo"):
        return f"{name.removeprefix('Yahoo-')}.{part}.txt"
    folders = {"MSLR-WEB30K": "parts", "Istella-S": "sample", "Istella": "full"}
    return f"{folders[name]}/{part}.txt"


def _join_folds(home):
    """Three parts for training, one for validation, one for testing, in turns, as the real ones."""
    for fold in range(5):
        numbers = [(fold + i) % 5 + 1 for i in range(5)]
        (home / f"Fold{fold + 1}").mkdir(exist_ok=True)
        for file, part in (("train", numbers[:3]), ("vali", numbers[3:4]), ("test", numbers[4:])):
            with (home / f"Fold{fold + 1}" / f"{file}.txt").open("wb") as target:
                for number in part:
                    with (home / "parts" / f"S{number}.txt").open("rb") as source:
                        shutil.copyfileobj(source, target)


def _write(path, form, first, n_queries, seed):
    """Write queries with the ids `first`, ...; each block of queries has a seed of its own."""
    tokens, values = _tokens(form, np.random.default_rng([seed, 0]))
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        for start in range(0, n_queries, BLOCK):
            size = min(BLOCK, n_queries - start)
            random = np.random.default_rng([seed, 1, first + start])
            sizes = ragged_sizes(size, form.n_documents, random)
            qid = np.repeat(np.arange(first + start, first + start + size), sizes)
            codes = _codes(form, sizes, random)
            quality = _quality(values(codes), seed) + 0.7 * random.standard_normal(len(qid))
            file.write(_lines(grades(quality, WEB_SHARES), qid, codes, tokens))
    draft.replace(path)


def _codes(form, sizes, random):
    """A code of each value: its position in the sorted values of the feature."""
    codes = random.integers(0, N_CODES, (sizes.sum(), form.n_features), dtype=np.uint8)
    # The first features are those of the query, which do not vary within it.
    of_queries = random.integers(0, N_CODES, (len(sizes), N_QUERY_FEATURES), dtype=np.uint8)
    at = 0 if form.empty[0] else form.empty[1]
    codes[:, at : at + N_QUERY_FEATURES] = np.repeat(of_queries, sizes, axis=0)
    codes[:, slice(*form.empty)] = 0
    return codes


def _tokens(form, random):
    """The text of each code of each feature, of a fixed length, and a function to get values."""
    texts, table = [], np.zeros((form.n_features, N_CODES))
    for feature in range(form.n_features):
        # Tails of several weights, from uniform to heavy ones, between 0 and 1.
        table[feature] = np.linspace(0, 1, N_CODES) ** random.uniform(1, 4)
        n_zeros = (
            N_CODES if form.empty[0] <= feature < form.empty[1] else round(form.zeros * N_CODES)
        )
        table[feature, :n_zeros] = 0.0
        numbers = [f"{value:.4f}" for value in table[feature]]
        if form.extreme and feature == N_QUERY_FEATURES:
            numbers[-8:] = ["1.79769313486e+308"] * 8
        lines = [
            "" if number == "0.0000" and form.zeros else f" {feature + 1}:{number}"
            for number in numbers
        ]
        width = max(1, *map(len, lines))
        texts.append(_bytes(lines, width))
    return texts, lambda codes: table[np.arange(form.n_features), codes]


def _bytes(lines, width):
    """Texts as an array of bytes, filled with spaces to one length."""
    return np.frombuffer("".join(line.ljust(width) for line in lines).encode(), np.uint8).reshape(
        -1, width
    )


def _quality(X, seed):
    """A sum of linear terms and products of two features, with the variance 1."""
    function = np.random.default_rng([seed, 2])
    varying = np.flatnonzero(X.std(axis=0) > 0)
    first, second = function.choice(varying, (2, N_TERMS))
    weights = function.standard_normal((2, N_TERMS))
    quality = X[:, first] @ weights[0] + (X[:, first] * X[:, second]) @ weights[1]
    return (quality - quality.mean()) / quality.std()


def _lines(y, qid, codes, tokens):
    """The lines of a block of documents, without a loop over documents."""
    parts = [_bytes([f"{label} qid:{query}" for label, query in zip(y, qid, strict=True)], 14)]
    parts += [token[codes[:, feature]] for feature, token in enumerate(tokens)]
    parts.append(np.full((len(y), 1), ord("\n"), np.uint8))
    return np.hstack(parts).tobytes()
