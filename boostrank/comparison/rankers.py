"""Comparison of rankers on the same folds, by paired tests over queries or over repeated folds."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from boostrank.backends.progress import ProgressBar
from boostrank.comparison.comparison import Comparison, check_named
from boostrank.comparison.differences import GROUP
from boostrank.comparison.groups import (
    groups_of_folds,
    groups_of_rows,
    of_ids,
    with_validation_groups,
)
from boostrank.comparison.trainings import (
    TrainingJob,
    TrainingResult,
    run_trainings,
)
from boostrank.comparison.versions import versions
from boostrank.datasets import Dataset, Fold
from boostrank.inputs.arrays import Ints, as_array, check_lengths, refuse_lazy
from boostrank.inputs.checks import as_random_state, check_count, check_flag, is_count, named_part
from boostrank.metrics import Measure, default_measure, evaluate, named_measures
from boostrank.metrics.labels import fractions_are_named, warn_of_fractions
from boostrank.metrics.scorers import Estimator
from boostrank.model_selection import QueryKFold, with_validation
from boostrank.model_selection.estimators import accept_qid, needs_validation
from boostrank.model_selection.splits import Splitter, make_folds
from boostrank.model_selection.time_split import without_time
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels, as_labels
from boostrank.queries.groups import number_groups
from boostrank.queries.id_columns import warn_of_frame, without_id_warnings
from boostrank.queries.queries import Queries, find_qid, require_qid

#: A DataFrame is an ArrayLike.
Features = ArrayLike | sparse.spmatrix

# Cutoffs of the default measures.
CUTOFFS = (1, 5, 10)
# Names of the seed of an estimator; the first one is set if none is given.
SEEDS = ("random_state", "random_seed", "seed")


def compare(
    rankers: Mapping[str, Estimator],
    X: Features | Iterable[Fold] | None = None,
    y: ArrayLike | Labels | None = None,
    qid: ArrayLike | None = None,
    *,
    cv: Splitter = None,
    folds: Iterable[Fold] | None = None,
    repeats: int | None = None,
    groups: Any = None,
    measures: str | Measure | Iterable[object] | Mapping[str, object] | None = None,
    baseline: str | None = None,
    n_permutations: int = 10_000,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    results: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Comparison:
    """Cross-validate rankers, and compare their measures with those of a baseline.

    The measures are those of the test queries. Call it as ``compare(rankers, X, y, qid, cv=5)``,
    like :func:`boostrank.cross_validate`, or with folds that you have as
    ``compare(rankers, folds)``. Each ranker is trained on each fold. A ranker with
    `early_stopping_rounds` chooses its number of rounds by the validation queries of the fold, its
    `eval_set`, or, if it has a `validation_fraction`, by that part of the training queries. The
    test queries are only scored.

    Parameters
    ----------
    rankers : dict of str to estimator
        Rankers by name, of which clones are trained: those of boostrank; ``lightgbm.LGBMRanker``,
        ``xgboost.XGBRanker`` and ``catboost.CatBoostRanker``, which get the groups in the form of
        their library, and the validation queries if they stop early; and any other estimator with
        `fit` and `predict`, which gets query ids if its `fit` takes `qid`. Pipelines may end with
        any of these.
    X, y, qid
        Features, labels and query ids, as in :func:`boostrank.cross_validate`: `qid` may be left
        out if `X` is a DataFrame with a column or an index level named "qid", or if `y` is
        ClickLabels. Without `y`, X is `folds`.
    cv : int, splitter or iterable of (train, test), default 5
        As in :func:`boostrank.cross_validate`. No query may be in the test rows of two folds,
        because the tests count each query once. With `repeats`, the number of folds.
    folds : iterable of Fold, optional
        In place of `X`, `y`, `qid` and `cv`: the result of :func:`boostrank.read_letor_folds` or
        :func:`boostrank.query_folds`. The labels `y` of their parts are relevance labels or
        :class:`boostrank.ClickLabels`. If a fold has no validation data, as those of `cv`, and one
        of the rankers stops early by them, a fifth of its training queries is used for validation
        instead of training, for all rankers.
    repeats : int, optional
        How often folds are drawn, 10 for example, with other seeds each time. The tests are then
        corrected resampled t-tests over the ``cv * repeats`` folds
        (:func:`boostrank.significance.corrected_resampled_t_test`), which count that training on
        other queries, or with another seed, gives other rankers. The i-th fold, from 0, adds i to
        each ranker's seed (`random_state`, `random_seed` or `seed`, also those of steps and
        members), where none or an object counts as 0. A training in `results` is the same for a
        larger number of repetitions. By default folds are not repeated, and tests are over queries.
    groups : array-like, str, Mapping, Series or DataFrame, optional
        Group of each query, where queries belong together, such as those of one user, or one query
        that was issued many times: one value for each row or each query (in the sequence in which
        queries first appear), the name of a column of `X`, which is then no feature, or values by
        query id, as `by` of :func:`boostrank.evaluate`; for `folds` only the last. The queries of a
        group are in one fold, and are held out for validation together; tests, intervals and
        effects are by group, as those of :func:`boostrank.permutation_test`, while means are still
        those over queries. By default queries are independent.
    measures : list of str or Measure, or dict of str to them, optional
        As in :func:`boostrank.evaluate`; by default "ndcg@1", "ndcg@5" and "ndcg@10", and if the
        test labels are ClickLabels "click-dcg@1", "click-dcg@5" and "click-dcg@10".
        :func:`boostrank.get_measure` makes measures with other settings, such as
        ``get_measure("ndcg@10", gain="linear")``.
    baseline : str, optional
        Name of the ranker to compare with; the first one by default.
    n_permutations : int, default 10_000
        As in :func:`boostrank.permutation_test`. The queries of all folds are tested together. Not
        for `repeats`.
    random_state : int or None, default 0
        Seed of the permutation tests, of the choice of validation queries, and of repeated folds.
    n_jobs : int, optional
        Number of trainings at the same time, in processes of joblib; -1 means one for each
        processor, and None means 1, unless a ``joblib.parallel_config`` says otherwise. Each
        process gets the processors divided by their number for its threads, if the ranker has no
        setting for threads, because threads that outnumber the processors slow both libraries
        tenfold. The result does not depend on `n_jobs`, except for the seconds that trainings take.
    results : str or os.PathLike, optional
        Folder that keeps the result of each training as soon as it ends: an interrupted comparison
        goes on where it stopped if it is called again. A training in it is not run again if the
        names of ranker and fold, the data of the fold, the class and all parameters of the ranker,
        and the versions of boostrank and of the libraries are the same. Of classes and functions in
        other files, the content of the file must be the same too; modules that the file imports are
        not looked at. A ranker with a parameter that cannot be hashed, such as a lambda expression,
        is always trained. Measures are computed anew, so that they may be changed. Several
        comparisons may use one folder.
    progress : bool, default False
        True shows the progress on standard error: on a terminal, by the package rich, a bar with
        the time left, and elsewhere a line for every ten seconds.

    Returns
    -------
    Comparison

    Notes
    -----
    Tests and intervals are over the test queries, and take the trained rankers as they are: they do
    not say how much the result of another training would differ. With `repeats`, they are over
    folds, and count that. With `groups`, they are about other groups.

    Rankers that learn from clicks are compared on ``query_folds(Dataset(X, clicks, clicks.qid))``
    by estimates from the clicks on the test queries, or with ``query_folds(..., test_labels=y)`` by
    true labels. The value of a query in the measure "click-dcg" is its term in the estimate of its
    fold (:class:`boostrank.clicks.ClickDCG`). All rankers of a fold have the same divisor, so that
    the paired tests are those of the terms. Queries with more sessions count more, unless the
    ClickLabels have ``average="queries"``, and queries without impressions are ties. Errors of the
    propensities are not in the p-values: they are the same for all rankers, but a wrong click model
    may favour one.

    Raises
    ------
    ValueError
        If there are neither folds nor rows with labels and query ids, or both; if `cv` is invalid,
        or tests a query in two folds; if `repeats` is not an integer of at least 2, or is given
        with folds or a `cv` that is no number; if a query is in two groups, or has none, if there
        are fewer groups than folds, or `cv` divides a group; if `baseline` is not the name of a
        ranker, if the test labels are not of the kind that a measure needs, and as
        :func:`boostrank.get_measure` for `measures`.
    TypeError
        If `rankers` is not a dict of one or more rankers by name; or if `folds` and `groups` are
        given, and `groups` is not by query id.
    OSError
        If the folder `results` cannot be read or written.

    Warns
    -----
    UserWarning
        If a fold of `folds` has a group both to train and to test on.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=60, random_state=0)
    >>> losses = "lambdarank", "consistent-lambdarank"
    >>> rankers = {
    ...     loss: br.LightGBMRanker(loss, n_estimators=10, learning_rate=0.1) for loss in losses
    ... }
    >>> comparison = br.compare(rankers, X, y, qid, cv=3, measures=["ndcg@10"])
    >>> print(comparison)  # doctest: +ELLIPSIS
    ndcg@10, compared with lambdarank
    ranker  mean  diff  p (Holm)  w/t/l  rounds
    ───...
    lambdarank  0...  10
    consistent-lambdarank  0...  10
    consistent-lambdarank does not differ significantly from lambdarank.
    """
    baseline = check_named("ranker", rankers, baseline)
    _refuse_lower_is_better(rankers)
    check_flag("progress", progress)
    draws = _draws(cv, repeats, random_state)
    of_queries = None
    if groups is not None and y is not None and folds is None:
        X, of_queries = groups_of_rows(X, y, qid, groups)
    make = partial(_folds, X, y, qid, folds=folds, groups=of_queries)
    first = make(draws[0].cv)
    if groups is not None and of_queries is None:
        of_queries = groups_of_folds(groups, first)
    named = _measures_of_test_labels(measures, first)
    for draw in draws[1:]:
        _check_test_labels(named, make(draw.cv))
    # Once, and not for each training.
    warn_of_frame(first[0].train.X, Queries.from_qid(first[0].train.qid))
    run = partial(
        _run_draw,
        rankers,
        measures=named,
        groups=of_queries,
        n_jobs=n_jobs,
        results=None if results is None else Path(results),
    )
    progress_bar = _Progress(len(rankers) * len(first) * len(draws), progress)
    tables = []
    with without_id_warnings(), progress_bar:
        # Folds are copies of the rows: those of one draw at a time are in memory.
        tables.append(run(first, draws[0], progress_bar))
        del first
        for draw in draws[1:]:
            tables.append(run(make(draw.cv), draw, progress_bar))
    settings = {name: _parameters(ranker) for name, ranker in rankers.items()}
    settings["random_state"] = str(random_state)
    if repeats is None:
        settings["n_permutations"] = str(n_permutations)
    else:
        settings["repeats"] = str(repeats)
    settings["versions"] = versions()
    per_query = pd.concat(tables, ignore_index=True)
    return Comparison(
        per_query, list(named), baseline, "ranker", n_permutations, random_state, settings
    )


class _Draw(NamedTuple):
    """One draw of the folds.

    Attributes
    ----------
    cv : int, splitter, iterable of pairs, or None
    seed : int, optional
        The seed of the validation queries.
    repetition : int, optional
        Its number, from 0, if folds are drawn several times.
    """

    cv: Splitter
    seed: int | None
    repetition: int | None


def _draws(cv: Splitter, repeats: int | None, random_state: int | None) -> list[_Draw]:
    """The draws of the folds: one, or `repeats`, each with a seed of its own."""
    check_count("repeats", repeats, smallest=2, optional=True)
    if repeats is None:
        return [_Draw(cv, random_state, None)]
    check_count("cv with repeats", cv, smallest=2, optional=True)
    n_folds: Any = cv or 5
    seeds = as_random_state(random_state).randint(2**31 - 1, size=repeats).tolist()
    return [
        _Draw(QueryKFold(n_folds, shuffle=True, random_state=seed), seed, repetition)
        for repetition, seed in enumerate(seeds)
    ]


def _measures_of_test_labels(measures: Any, folds: Sequence[Fold]) -> Mapping[str, Measure]:
    """The measures by name, which fit the test labels; None means the default ones."""
    y = folds[0].test.y
    if measures is None:
        labels = as_labels(y)
        measures = [default_measure(labels, DCG(k=k)) for k in CUTOFFS]
    named: Mapping[str, Measure] = named_measures(measures)
    if isinstance(y, Labels):
        named = y.measures(named)
    _require_means(named)
    _check_test_labels(named, folds)
    _warn_of_fractions(named, folds)
    return named


class _Progress(ProgressBar):
    """The progress of all trainings, with the name of the one that ended last."""

    def __init__(self, n_trainings: int, is_shown: bool) -> None:
        self._label = ""
        super().__init__(n_trainings, is_shown, lambda: self._label, "trainings")

    def end(self, job: TrainingJob, is_saved: bool) -> None:
        """Count a training that ended, or one whose result was read."""
        if is_saved:
            self.leave_out()
        else:
            self._label = f"{job.fold.name}: {job.name}"
            self.advance()


def _run_draw(
    rankers: Mapping[str, Estimator],
    folds: Sequence[Fold],
    draw: _Draw,
    progress: _Progress,
    *,
    measures: Mapping[str, Measure],
    groups: pd.Series | None,
    n_jobs: int | None,
    results: Path | None,
) -> pd.DataFrame:
    """Train all rankers on the folds of a draw: a row for each ranker, fold and test query."""
    if any(map(needs_validation, rankers.values())):
        folds = [_with_validation(fold, groups, draw.seed) for fold in folds]
    first = None
    if draw.repetition is not None:
        first = draw.repetition * len(folds)
    jobs = _jobs(rankers, folds, first, groups)
    tables: dict[int, pd.DataFrame] = {}
    with contextlib.closing(run_trainings(jobs, n_jobs, results)) as finished:
        for number, result, is_saved in finished:
            tables[number] = _values(jobs[number], result, measures)
            progress.end(jobs[number], is_saved)
    # The sequence is that of the arguments, and not that in which the trainings ended.
    per_query = pd.concat([tables[number] for number in sorted(tables)], ignore_index=True)
    if groups is not None:
        place = 1 + list(per_query).index("query")
        of_rows = of_ids(groups, per_query["query"].to_numpy())
        # As for ids, Arrow does not have all texts.
        per_query.insert(place, GROUP, pd.Series(of_rows, dtype=of_rows.dtype))
    if draw.repetition is not None:
        per_query.insert(1, "repetition", 1 + draw.repetition)
    return per_query


def _jobs(
    rankers: Mapping[str, Estimator],
    folds: Sequence[Fold],
    first: int | None,
    of_queries: pd.Series | None,
) -> list[TrainingJob]:
    """The trainings of all rankers on all folds.

    If folds are repeated, `first` is the number of the first fold in all repetitions. `of_queries`
    has the group of each query by its id.
    """
    jobs = []
    for i, fold in enumerate(folds):
        groups = None if of_queries is None else of_ids(of_queries, fold.train.qid)
        for name, ranker in rankers.items():
            job = TrainingJob(name, ranker, fold, groups)
            if first is not None:
                job = _in_repetition(job, first + i)
            jobs.append(job)
    return jobs


def _in_repetition(job: TrainingJob, number: int) -> TrainingJob:
    """The job with the number of its fold in all repetitions, which is added to the seeds."""
    ranker = clone(accept_qid(job.ranker))
    for estimator in (ranker, *ranker.get_params().values()):
        if hasattr(estimator, "set_params"):
            estimator.set_params(**_added_seeds(estimator, number))
    return job._replace(ranker=ranker, fold=job.fold._replace(name=f"Fold{number + 1}"))


def _added_seeds(estimator: Estimator, number: int) -> dict[str, int]:
    """The seeds of an estimator plus a number; those that are None or an object count as 0."""
    # CatBoost returns only the parameters that were given.
    values: dict[str, Any] = dict.fromkeys(inspect.signature(type(estimator)).parameters)
    values |= estimator.get_params(deep=False)
    names = [key for key in SEEDS if values.get(key) is not None]
    if not names and SEEDS[0] in values:
        names = [SEEDS[0]]
    return {key: number + (values[key] if is_count(values[key]) else 0) for key in names}


def _values(
    job: TrainingJob, result: TrainingResult, measures: Mapping[str, Measure]
) -> pd.DataFrame:
    """The measures of the test queries of a fold, and what is known of the training."""
    test = job.fold.test
    with fractions_are_named():
        values: Any = evaluate(test.y, result.scores, test.qid, measures, per_query=True)
    # reset_index() of pandas fails for texts that Arrow does not have.
    ids = pd.Series(values.index.to_numpy(), dtype=values.index.dtype)
    columns = {
        "ranker": job.name,
        "fold": job.fold.name,
        "query": ids,
        "rounds": result.rounds,
        "seconds": result.seconds,
    }
    return pd.DataFrame(columns | _relevant(test) | dict(values.reset_index(drop=True)))


def _relevant(test: Dataset) -> dict[str, Ints]:
    """The column of the numbers of relevant documents, if the labels are relevance."""
    if isinstance(test.y, Labels):
        return {}
    queries = Queries.from_qid(test.qid)
    is_relevant = queries.group(as_array(test.y, "y") > 0)
    return {"relevant": queries.sum(is_relevant.astype(np.int64))}


def _parameters(ranker: Estimator) -> str:
    """The class of a ranker and its parameters that are not None."""
    parameters = [
        f"{name}={value!r}" for name, value in ranker.get_params().items() if value is not None
    ]
    return f"{type(ranker).__name__}({', '.join(parameters)})"


def _folds(
    X: Features | Iterable[Fold] | None,
    y: ArrayLike | Labels | None,
    qid: ArrayLike | None,
    cv: Splitter,
    folds: Iterable[Fold] | None,
    groups: pd.Series | None,
) -> list[Fold]:
    """The folds in the arguments of :func:`compare`, or those that `cv` makes of its rows."""
    given: Any = {"X": X, "y": y, "qid": qid, "cv or repeats": cv}
    are_folds = isinstance(X, (list, tuple)) and isinstance(next(iter(X), None), Fold)
    if folds is None and (y is None or are_folds):
        folds = given.pop("X")
    elif folds is None and X is not None:
        return _folds_of_rows(X, y, qid, 5 if cv is None else cv, groups)
    listed: list[Any] = list(folds) if isinstance(folds, Iterable) else [folds]
    others = [name for name, value in given.items() if value is not None]
    if listed and not others and all(isinstance(fold, Fold) for fold in listed):
        return listed
    arguments = ", ".join([type(folds).__name__, *others])
    if y is None:
        arguments += " without y"
    raise ValueError(
        "compare needs either rows, compare(rankers, X, y, qid, cv=5), for a Dataset "
        "compare(rankers, *data), or a list of folds without cv and repeats, "
        f"compare(rankers, folds); got {arguments}"
    )


def _folds_of_rows(
    X: Any, y: Any, qid: ArrayLike | None, cv: Splitter, groups: pd.Series | None
) -> list[Fold]:
    refuse_lazy(y, "y")
    X, qid = find_qid(X, qid, y)
    data = Dataset(X, y, as_array(require_qid(qid, "compare"), "qid"))
    check_lengths(X=_num_samples(X), y=_num_samples(y), qid=len(data.qid))
    queries = Queries.from_qid(data.qid)
    of_queries = None
    if groups is not None:
        of_queries = number_groups(of_ids(groups, queries.ids))
    pairs = make_folds(X, y, queries, cv, of_queries)
    data = data._replace(X=without_time(X, cv))
    tested = np.concatenate([pd.unique(data.qid[test]) for _, test in pairs])
    ids = pd.Series(tested, dtype=object)
    repeated = ids[ids.duplicated()]
    if not repeated.empty:
        raise ValueError(
            f"cv tests the query {str(repeated.iloc[0])!r} in several folds, and the tests count "
            "each query once: use an integer, QueryKFold or QueryTimeSplit"
        )
    with named_part("a fold of cv"):
        return [
            Fold(f"Fold{i}", data.take(rows), None, data.take(test))
            for i, (rows, test) in enumerate(pairs, 1)
        ]


def _with_validation(fold: Fold, groups: pd.Series | None, seed: int | None) -> Fold:
    if groups is None:
        return with_validation(fold, random_state=seed)
    return with_validation_groups(fold, groups, seed)


def _warn_of_fractions(measures: Mapping[str, Measure], folds: Sequence[Fold]) -> None:
    """Warn once of labels between 0 and 1 that measures do not count."""
    arrays = [as_array(fold.test.y, "y") for fold in folds if not isinstance(fold.test.y, Labels)]
    if arrays:
        warn_of_fractions(measures.values(), np.concatenate(arrays))


def _refuse_lower_is_better(rankers: Mapping[str, Estimator]) -> None:
    """Raise ValueError for a ranker that reads labels in another way than the measures."""
    for name, ranker in rankers.items():
        for parameter, value in clone(accept_qid(ranker)).get_params().items():
            if parameter.rpartition("__")[2] == "lower_is_better" and value is True:
                raise ValueError(
                    f"{name} has {parameter}=True, but the measures of a comparison take larger "
                    "labels as better: give compare the negative labels, y=-y, and leave "
                    f"{parameter} out"
                )


def _require_means(measures: Mapping[str, Measure]) -> None:
    """Raise ValueError for a measure that is no mean over queries."""
    for name, measure in measures.items():
        if measure.summary != "mean":
            raise ValueError(
                f"{name!r} is no mean over queries, which the tests compare: give a measure whose "
                "values are averaged, such as 'ic' or 'spearman'"
            )


def _check_test_labels(measures: Mapping[str, Measure], folds: Sequence[Fold]) -> None:
    """Raise ValueError for test labels of another kind than a measure needs."""
    for fold in folds:
        y = fold.test.y
        queries = Queries.from_qid(fold.test.qid)
        with named_part(f"the test labels of {fold.name}"):
            if isinstance(y, Labels):
                labels = y.group(queries).values
            else:
                labels = queries.group(as_array(y, "y"))
            with fractions_are_named():
                for measure in measures.values():
                    measure.bind(labels, queries)
