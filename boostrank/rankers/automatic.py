"""Choice of the objective and of the number of rounds by cross-validation, and the training with what was chosen."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np
import pandas as pd

from boostrank.backends.base import Backend, BinnedData, GroupedData, Trained, TrainingSpecification, ValidationSet
from boostrank.backends.objectives.labels import Clicks, Labels, Relevance
from boostrank.backends.objectives.losses import DEFAULT_LOSS
from boostrank.backends.progress import BAR, ProgressBar, metric_text
from boostrank.inputs.arrays import Bools, Floats
from boostrank.inputs.checks import named_part
from boostrank.inputs.warnings import warn
from boostrank.metrics import Measure
from boostrank.rankers.features import TrainingFeatures
from boostrank.rankers.settings import AUTO, FitOptions, Settings, fold_name
from boostrank.rankers.training import FoldTrainings, make_folds, train, train_on_kept, with_prior
from boostrank.significance.differences import paired_differences
from boostrank.tables.text import text_lines

# Candidates differ in what decides between data sets: how much a loss looks at the top of the list, and how hard the
# trees fit. The first one is the default, which has no parameters of its own. The objective of the boosting library is
# among them, with the same random trees, so that the choice is hardly ever worse than it.
#: Trees that fit harder, which are better where features say much about the labels.
_HARD: Mapping[str, Any] = {"learning_rate": 0.1, "reg_lambda": 1.0}
_OF_BOTH: Sequence[Mapping[str, Any]] = (
    {},
    {"objective": "pairwise-exponential"},
    _HARD,
    {**_HARD, "subsample_queries": 1.0, "colsample_bynode": 1.0},
)
LIGHTGBM_CANDIDATES = (*_OF_BOTH, {"objective": "lambdarank", "subsample": 0.5, "subsample_freq": 1})
XGBOOST_CANDIDATES = (*_OF_BOTH, {"objective": "rank:ndcg", "subsample": 0.5})
#: Parameters of the samples of a candidate, which its name does not show.
SAMPLES = ("subsample", "subsample_freq")
#: Cutoff of the NDCG by which the objective of a ranker without `k` is chosen.
DEFAULT_CUTOFF = 10
#: A candidate replaces the default if it is better by more than this number of standard errors of the difference.
ERRORS_TO_REPLACE = 1.0
#: A candidate is dropped early if it is worse than the best one by more than this number of standard errors.
ERRORS_TO_DROP = 2.0
#: The shares of all rounds after which candidates may be dropped.
SHARES = (0.25, 0.5)
#: Largest cost of ``objective="auto"`` with at most four folds, in rounds times rows of one fit on all queries.
MAX_COST = 10


@dataclass
class Candidate:
    """One of the specifications among which cross-validation chooses.

    Attributes
    ----------
    name : str
        For people.
    parameters : mapping of str to object
        The parameters of the ranker in which it differs from the first candidate.
    objective : str, Surrogate, EdgeLoss or callable
        The parameter `objective`.
    specification : TrainingSpecification
        The specification of the training on all queries.
    fold_specification : TrainingSpecification
        The specification of the trainings on folds.
    trainings : FoldTrainings
        The trainings of the candidate on the folds.
    dropped : bool
        Whether the candidate was dropped before the end.
    difference, standard_error : float
        Mean over queries of the candidate's value minus that of the first candidate, and its standard error.
    """

    name: str
    parameters: Mapping[str, Any]
    objective: Any
    specification: TrainingSpecification
    fold_specification: TrainingSpecification
    trainings: FoldTrainings = field(init=False)
    dropped: bool = False
    difference: float = 0.0
    standard_error: float = 0.0


@dataclass(frozen=True)
class Choice:
    """The result of :func:`choose`.

    Attributes
    ----------
    candidate : Candidate
        The chosen candidate.
    specification : TrainingSpecification
        The specification of the training on all queries, with the chosen number of rounds.
    n_rounds : int
        Number of rounds at which the candidate was judged.
    cv_results : dict of str to ndarray
        The attribute `cv_results_` of a ranker.
    """

    candidate: Candidate
    specification: TrainingSpecification
    n_rounds: int
    cv_results: dict[str, Any]

    def parameters(self, settings: Settings) -> dict[str, Any]:
        """The parameters with which a ranker without "auto" trains the same as what was chosen."""
        chosen = {"objective": self.candidate.objective, **self.candidate.parameters}
        if settings.chooses_rounds:
            # With another number of rounds, the default learning rate would be another one.
            rate = self.specification.parameters.get(settings.backend.PARAMETERS["learning_rate"])
            chosen |= {"n_estimators": self.n_rounds, "learning_rate": rate, "early_stopping_rounds": None}
        return {**chosen, "cv": None}


def make_candidates(
    settings: Settings,
    table: Sequence[Mapping[str, Any]],
    features: TrainingFeatures,
    options: FitOptions,
    random_state: np.random.RandomState,
    labels: Labels,
) -> list[Candidate]:
    """The specifications among which the training chooses; there is only one unless ``objective="auto"``.

    A value that the user set takes the place of that of a candidate in `table`, and a candidate that is then equal to
    an earlier one is left out. A parameter that has its default counts as not set. The objectives of the boosting
    libraries are left out if the labels are clicks, which they do not take.

    Raises
    ------
    ValueError
        If the objective is to be chosen, and the labels are preferences.

    Warns
    -----
    UserWarning
        For a candidate that contradicts other settings, and is left out.
    """
    dcg, state, backend = settings.dcg, random_state.get_state(), settings.backend

    def specify(resolved: Settings) -> tuple[TrainingSpecification, TrainingSpecification]:
        # All candidates get the same seed, also if it is drawn from a RandomState.
        random_state.set_state(state)
        specification = resolved.for_features(features).specification(random_state, options)
        in_folds = replace(specification, early_stopping_rounds=settings.patience_in_folds)
        if specification.metrics:
            return specification, in_folds
        cutoff = dcg.k or DEFAULT_CUTOFF if settings.chooses_objective else dcg.k
        measure = labels.default_measure(replace(dcg, k=cutoff))
        if specification.dcg.k != dcg.k:
            # The cutoff of a candidate belongs to its loss. The metric for early stopping has the cutoff of the ranker.
            specification = replace(specification, metrics=(labels.default_measure(dcg),))
        return specification, replace(in_folds, metrics=(measure,))

    if not settings.chooses_objective:
        return [Candidate(str(settings.values["objective"]), {}, settings.values["objective"], *specify(settings))]
    if not isinstance(labels, Clicks):
        labels.require_relevance(AUTO)
    given = settings.given - {"objective"}
    trees = settings.changed({"objective": DEFAULT_LOSS}).for_features(features).random_trees()
    candidates: list[Candidate] = []
    for parameters in table:
        own = {name: value for name, value in parameters.items() if name not in given}
        name, objective = _name(own), own.get("objective", DEFAULT_LOSS)
        if any(name == one.name for one in candidates):
            continue
        if objective in backend.NATIVE_OBJECTIVES:
            if isinstance(labels, Clicks):
                continue
            # It gets the trees of the others in place of its own defaults, and the library draws rows and not queries.
            own = {
                **{name: value for name, value in trees.items() if name not in given},
                **own,
                "subsample_queries": None,
            }
        try:
            specifications = specify(settings.changed({"objective": objective, **own}))
        except ValueError as error:
            if not own:
                raise
            warn_of_left_out(name, error)
            continue
        candidates.append(Candidate(name, own, objective, *specifications))
    return candidates


def _name(parameters: Mapping[str, Any]) -> str:
    """Name of a candidate: its objective, unless that is the default, and its other parameters but those of samples."""
    if not parameters:
        return f"default ({DEFAULT_LOSS})"
    others = [f"{name}={value}" for name, value in parameters.items() if name not in ("objective", *SAMPLES)]
    return ", ".join([*([parameters["objective"]] if "objective" in parameters else []), *others])


def choose_and_train(
    candidates: Sequence[Candidate],
    settings: Settings,
    data: GroupedData,
    kept: Bools | None,
    validation: list[ValidationSet],
    random_state: np.random.RandomState,
) -> tuple[Trained, TrainingSpecification, Choice | None]:
    """Choose objective and number of rounds, as far as the settings leave them open, and train.

    Parameters
    ----------
    candidates : list of Candidate
        See :func:`make_candidates`.
    settings : Settings
    data : GroupedData
    kept : ndarray of bool, shape (n_queries,), optional
        The queries to train on, if `validation_fraction` holds the others out.
    validation : list of ValidationSet
        Those of the user.
    random_state : RandomState
        Draws the folds.

    Returns
    -------
    (Trained, TrainingSpecification, Choice or None)
        The model, the specification of its training, and what was chosen on folds, if there were any.
    """
    backend = settings.backend
    choice, specification = None, candidates[0].specification
    if settings.uses_folds:
        # Queries that are held out must not decide on the objective either.
        with named_part("the queries that validation_fraction leaves to train on"):
            to_choose = data if kept is None else data.take(kept)
        choice = choose(candidates, to_choose, settings, random_state)
        del to_choose
        if specification.verbose and settings.chooses_objective:
            sys.stdout.write("\n".join(choice_lines(choice.cv_results)) + "\n")
        specification = choice.specification
    if kept is None:
        trained = train(backend, specification, data, validation)
    else:
        trained = train_on_kept(backend, specification, data, kept, settings.values["refit"])
    if choice is not None and settings.chooses_rounds:
        trained = trained._replace(evals_result={**choice.candidate.trainings.evals_result(), **trained.evals_result})
    return trained, specification, choice


def choose(
    candidates: Sequence[Candidate],
    data: GroupedData,
    settings: Settings,
    random_state: np.random.RandomState,
) -> Choice:
    """Train candidates on the folds, and choose one of them and its number of rounds.

    All candidates are trained on the same folds, and compared by the differences of the deciding metric on the held-out
    queries that have a relevant document. The first one is kept unless another one is better by more than
    :data:`ERRORS_TO_REPLACE` standard errors of the mean difference. Early in the training, candidates that are worse
    than the best one by more than :data:`ERRORS_TO_DROP` standard errors are dropped, except the first one.

    Parameters
    ----------
    candidates : list of Candidate
        The first one is the default. With `early_stopping_rounds` in their specifications for folds, each is judged at
        the best round of its mean curve, otherwise after all rounds.
    data : GroupedData
        The training queries.
    settings : Settings
        Those of the ranker.
    random_state : RandomState
        Draws the folds.

    Raises
    ------
    ValueError
        If there are fewer queries than folds, or if the first candidate cannot be trained on these data.

    Warns
    -----
    UserWarning
        For any other candidate that cannot be trained on these data, and is left out.
    """
    backend = settings.backend
    # Binding all data first makes errors in labels or weights name rows of all data, and not rows of a fold.
    candidates[0].fold_specification.bind(data)
    candidates[0].fold_specification.bind_metrics(data)
    if isinstance(data.labels, Relevance):
        # Only so the values of metrics on different folds are comparable.
        for one in candidates:
            metrics = one.fold_specification.metrics
            scaled = [each.for_parts_of(data.labels.values) if isinstance(each, Measure) else each for each in metrics]
            one.fold_specification = replace(one.fold_specification, metrics=tuple(scaled))
    folds = make_folds(data.queries, settings.n_folds, random_state)
    started = _start(backend, candidates, data, folds)
    _train_all(started, data, folds)
    better = [one for one in started if not one.dropped and one.difference > ERRORS_TO_REPLACE * one.standard_error]
    chosen = max(better, key=lambda one: one.difference, default=started[0])
    specification, n_rounds = chosen.specification, chosen.trainings.judged_round
    if settings.chooses_rounds:
        specification = specification.for_refit(backend, n_rounds)
    for one in started:
        if not one.dropped:
            one.trainings.free()
    return Choice(chosen, specification, n_rounds, _results(started, chosen))


def _progress(candidates: Sequence[Candidate]) -> ProgressBar:
    """The progress of trainings on folds, if the ranker shows its own: a round of all candidates counts once."""
    first = candidates[0]

    def quality() -> str:
        text = metric_text((first.trainings.deciding_metric, first.trainings.mean_curve[-1]))
        if len(candidates) == 1:
            return text
        return f"{text}, {sum(not one.dropped for one in candidates)} candidates"

    specification = first.specification
    return ProgressBar(specification.n_rounds, specification.verbose == BAR, quality, "rounds on folds")


def _train_all(candidates: Sequence[Candidate], data: GroupedData, folds: Sequence[Bools]) -> None:
    """Train the candidates round by round, drop some of them early, and compare the others at the end."""
    stages, relevant = [], np.zeros(0, dtype=bool)
    if len(candidates) > 1:
        stages, compared = _stages(candidates[0].fold_specification), data.labels.compared(data.queries)
        relevant = np.concatenate([compared[held_out] for held_out in folds])
    n_rounds = 0
    with _progress(candidates) as bar:
        while going := [one for one in candidates if not one.dropped and not one.trainings.has_ended]:
            for one in going:
                one.trainings.next_round()
            n_rounds += 1
            if n_rounds in stages:
                limit = _n_going_on(len(candidates), len(folds)) if n_rounds == stages[0] else len(candidates)
                _drop(candidates, relevant, limit)
            bar.advance()
    if len(candidates) > 1:
        _compare(candidates, relevant)


def _start(
    backend: Backend, candidates: Sequence[Candidate], data: GroupedData, folds: Sequence[Bools]
) -> list[Candidate]:
    """Begin the trainings of the candidates on all folds; returns those that can be trained on these data."""
    for one in candidates:
        one.trainings = FoldTrainings(backend, one.fold_specification)
    remaining = list(candidates)
    # One fold after another, so that only one copy of the features exists at a time.
    for i, held_out in enumerate(folds):
        with named_part(f"{fold_name(i)} of cv={len(folds)}"):
            kept, tested = data.take(~held_out), data.take(held_out)
            # All candidates have the targets that the trees of the first one give.
            kept = with_prior(backend, candidates[0].fold_specification, kept)
        binned: BinnedData = {}
        for one in list(remaining):
            try:
                one.trainings.add(fold_name(i), kept, tested, binned)
            except ValueError as error:
                # XGBoost's own errors are subclasses of ValueError, and may follow from an interrupt.
                if one is candidates[0] or type(error) is not ValueError:
                    raise
                warn_of_left_out(one.name, error)
                remaining.remove(one)
    return remaining


def warn_of_left_out(name: str, error: Exception) -> None:
    """Warn of a candidate that cannot be trained."""
    warn(f"objective='auto' leaves out the candidate {name}: {error}")


def _stages(specification: TrainingSpecification) -> list[int]:
    """The numbers of rounds after which candidates may be dropped.

    With early stopping, the number of rounds of the end is not known: then these are `early_stopping_rounds`, twice as
    many, four times as many, ...
    """
    n_rounds, patience = specification.n_rounds, specification.early_stopping_rounds
    if patience is None:
        return sorted({ceil(share * n_rounds) for share in SHARES} - {n_rounds})
    return [patience * 2**i for i in range(n_rounds.bit_length()) if patience * 2**i < n_rounds]


def _n_going_on(n_candidates: int, n_folds: int) -> int:
    """Largest number of candidates that go on after the first stage, such that all costs at most :data:`MAX_COST` fits.

    A candidate costs ``n_folds - 1`` fits, because each query is trained on by all folds except one. At least two
    candidates go on.

    Examples
    --------
    >>> _n_going_on(n_candidates=4, n_folds=3), _n_going_on(n_candidates=8, n_folds=3)
    (4, 3)
    """
    spent = n_candidates * (n_folds - 1) * SHARES[0]
    rest = (n_folds - 1) * (1 - SHARES[0])
    # One fit is that on all queries at the end.
    return max(2, int((MAX_COST - 1 - spent) / rest))


def _drop(candidates: Sequence[Candidate], relevant: Bools, limit: int) -> None:
    """Drop candidates that are significantly worse than the best one, and so many that at most `limit` remain."""
    default, *others = [one for one in candidates if not one.dropped]
    values = {id(one): one.trainings.per_query()[relevant] for one in (default, *others)}
    means = {key: float(np.nanmean(value)) if len(value) else 0.0 for key, value in values.items()}
    best = values[max(means, key=lambda key: means[key])]
    _compare(candidates, relevant)
    others.sort(key=lambda one: -means[id(one)])
    for place, one in enumerate(others):
        difference, standard_error = _mean_difference(best, values[id(one)])
        one.dropped = place >= limit - 1 or difference > ERRORS_TO_DROP * standard_error
        if one.dropped:
            one.trainings.free()


def _compare(candidates: Sequence[Candidate], relevant: Bools) -> None:
    """Set the differences to the first candidate, of those that were not dropped."""
    default = candidates[0].trainings.per_query()[relevant]
    for one in candidates:
        if not one.dropped:
            values = one.trainings.per_query()[relevant]
            one.difference, one.standard_error = _mean_difference(values, default)


def _mean_difference(values: Floats, baseline: Floats) -> tuple[float, float]:
    """Mean of the paired differences, and its standard error; NaN for less than two queries."""
    if (~np.isnan(baseline)).sum() < 2:
        return float("nan"), float("nan")
    differences, _ = paired_differences(values, baseline)
    return float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(differences)))


def _results(candidates: Sequence[Candidate], chosen: Candidate) -> dict[str, Any]:
    """The attribute `cv_results_` of a ranker."""
    trainings = [one.trainings for one in candidates]
    return {
        "name": _objects([one.name for one in candidates]),
        "params": _objects([dict(one.parameters) for one in candidates]),
        "objective": _objects([one.objective for one in candidates]),
        "metric": _objects([one.deciding_metric for one in trainings]),
        "n_rounds": np.array([one.judged_round for one in trainings]),
        "mean_test_score": np.array([one.mean_curve[one.judged_round - 1] for one in trainings]),
        "difference": np.array([one.difference for one in candidates]),
        "standard_error": np.array([one.standard_error for one in candidates]),
        "rounds_trained": np.array([one.n_rounds for one in trainings]),
        "dropped": np.array([one.dropped for one in candidates]),
        "chosen": np.array([one is chosen for one in candidates]),
        "mean_curve": _objects([np.array(one.mean_curve) for one in trainings]),
    }


def choice_lines(results: Mapping[str, Any]) -> list[str]:
    """Lines of a table that says why a candidate was chosen; `results` is the attribute `cv_results_` of a ranker."""
    rows = [["candidate", str(results["metric"][0]), "difference", "standard error", "rounds", ""]]
    for i, name in enumerate(results["name"]):
        difference, error = results["difference"][i], results["standard_error"][i]
        n_trained, n_rounds = results["rounds_trained"][i], results["n_rounds"][i]
        outcome = "chosen" if results["chosen"][i] else ""
        if results["dropped"][i]:
            outcome = f"dropped after {n_trained} rounds"
        against_default = [f"{difference:+.4f}", f"{error:.4f}"] if i else ["", ""]
        rows.append([name, f"{results['mean_test_score'][i]:.4f}", *against_default, str(n_rounds), outcome])
    return text_lines(rows, 1, last_is_text=True)


def _objects(values: Sequence[Any]) -> Any:
    """An array of these objects, also where they are arrays of equal length."""
    return pd.Series(values, dtype=object).to_numpy()
