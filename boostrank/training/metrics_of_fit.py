"""The metrics of ``fit``: measures by name, also by LightGBM's and XGBoost's, and functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from boostrank.backends.interface import LibraryParameters
from boostrank.backends.records import Result
from boostrank.inputs.arrays import Floats, as_list
from boostrank.inputs.checks import is_number
from boostrank.inputs.warnings import warn
from boostrank.metrics import MEASURES, Measure, get_measure
from boostrank.metrics.names import base_name, parse_name
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.labels import Labels
from boostrank.queries.queries import Queries
from boostrank.queries.segments import Values
from boostrank.training.functions import UserFunction

if TYPE_CHECKING:
    from boostrank.training.arguments import RoundArguments
    from boostrank.training.settings import Settings

_XENDCG = ("rank_xendcg", "xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart")
#: LightGBM's and XGBoost's names of metrics that we, and what LightGBM prints, call by others.
_OTHER_NAMES = {
    "mean_average_precision": "map",
    **dict.fromkeys(("lambdarank", *_XENDCG), "ndcg"),
}
#: LightGBM's names that stand for no metric.
_NO_METRIC = ("None", "none", "null", "na", "custom", "")


class FunctionMetric:
    """A metric that is a function ``(y, scores[, weight[, group]])`` of the user.

    It returns ``(name, value, is_higher_better)``, or a list of such triples.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        returns = "(name, value, is_higher_better)"
        self.function = UserFunction(function, "eval_metric", returns)

    def bind(
        self, labels: Labels, queries: Queries, weights: Floats | None = None
    ) -> BoundFunctionMetric:
        """Bind the function to grouped labels; `weights` has the shape (n_documents,)."""
        return BoundFunctionMetric(self.function, labels, queries, weights)


class BoundFunctionMetric:
    """A function of the user, bound to the data of a validation set."""

    def __init__(
        self, function: UserFunction, labels: Labels, queries: Queries, weights: Floats | None
    ) -> None:
        self._function = function
        self._labels = labels.values
        self._queries = queries
        self._weights = weights

    def results(self, scores: Values) -> list[Result]:
        """The values of the metric at grouped scores.

        Raises
        ------
        ValueError
            If the function does not return such a triple or a list of them, or a value is not
            finite.
        """
        result = self._call(scores)
        triples = result if isinstance(result, list) else [result]
        return [self._checked(triple) for triple in triples]

    def _call(self, scores: Values) -> Any:
        return self._function(self._labels, scores, self._weights, self._queries)

    def _checked(self, result: Any) -> Result:
        is_triple = isinstance(result, tuple) and len(result) == 3 and isinstance(result[0], str)
        if not (is_triple and is_number(result[1])):
            name = self._function.name
            raise ValueError(
                f"the metric {name} returned {result!r}; it gets all queries at once, and not one "
                f"after another as in XGBRanker, and must return {self._function.returns} with a "
                f"finite value, such as ('{name}', 0.5, True)"
            )
        return result[0], float(result[1]), bool(result[2])


class SklearnMetric(FunctionMetric):
    """A metric of scikit-learn as in XGBRanker: the mean over queries, one after another.

    Higher is better if its name ends in "_score", as scikit-learn has it. Queries whose value is
    NaN do not count.
    """

    def bind(
        self, labels: Labels, queries: Queries, weights: Floats | None = None
    ) -> BoundSklearnMetric:
        """Bind the function to grouped labels; `weights` has the shape (n_documents,)."""
        return BoundSklearnMetric(self.function, labels, queries, weights)


class BoundSklearnMetric(BoundFunctionMetric):
    """A metric of scikit-learn, bound to the data of a validation set."""

    def _call(self, scores: Values) -> Any:
        ends = np.cumsum(self._queries.sizes)[:-1]
        pairs = zip(np.split(self._labels, ends), np.split(scores, ends), strict=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            values = np.array([self._function.function(*pair) for pair in pairs])
        counts = ~np.isnan(values)
        value = np.nan
        if counts.any():
            value = np.average(values[counts], weights=self._query_weights(counts))
        name = self._function.name
        return name, value, name.endswith("_score")

    def _query_weights(self, counts: NDArray[np.bool_]) -> Floats | None:
        """The mean weight of the documents of each query that counts."""
        if self._weights is None:
            return None
        means = self._queries.sum(self._weights) / self._queries.sizes
        return means[counts]


#: A metric of validation sets.
Metric = Measure | FunctionMetric


def metrics_of_training(
    settings: Settings, arguments: RoundArguments
) -> tuple[tuple[Metric, ...], dict[str, str], int | None]:
    """The metrics of a training, the user's names of them, and the place of the deciding one.

    None in place of it means that each metric may end the training. See
    :class:`boostrank.training.specification.Metrics`.

    Warns if a name is unknown and there are no validation sets.
    """
    native = settings.loss.native_objective
    library = settings.backend.parameters
    eval_at = arguments.eval_at
    if settings.eval_at is not None:
        eval_at = settings.eval_at
    parameters = as_list(settings.eval_metric)
    of_fit = []
    for metric in as_list(arguments.eval_metric):
        is_repeated = isinstance(metric, str) and metric in parameters
        if not is_repeated:
            of_fit.append(metric)
    deciding: int | None = 0
    if parameters and not of_fit:
        deciding = library.DECIDING_METRIC
    is_own = native is not None and (of_fit or parameters or settings.k is None)
    asked = Asked(of_fit, parameters, eval_at, deciding)
    if native is not None and is_own:
        default = library.native_metric(native, settings.native)
        asked = of_library(library, asked, default, bool(arguments.has_eval_set))
    try:
        metrics, names = as_metrics(
            [*asked.of_fit, *asked.of_parameters], asked.eval_at, settings.dcg
        )
    except ValueError as error:
        if arguments.has_eval_set is not False or settings.validation_fraction is not None:
            raise
        warn(f"eval_metric: {error}. Without validation queries, metrics are not computed")
        return (), {}, 0
    return metrics, names, asked.deciding


def as_metrics(
    eval_metric: object, eval_at: object = None, dcg: DCG | None = None
) -> tuple[tuple[Metric, ...], dict[str, str]]:
    """The metrics of `eval_metric`, an argument of ``fit``, and the user's names of them.

    Parameters
    ----------
    eval_metric : str, Measure, callable, list of these, or None
        None, an empty list and LightGBM's "None" mean no metrics.
    eval_at : int or list of int, optional
        Cutoffs of the names that have none, and of NDCG if there are no metrics.
    dcg : DCG, optional
        Gain and discount of measures whose name has none, as "ndcg@10". A Measure has its own.

    Returns
    -------
    metrics : tuple of Metric
    names : dict of str to str
        The names that the user has for them, by their own.

    Raises
    ------
    ValueError
        For an unknown name, and for an invalid cutoff.

    Examples
    --------
    >>> metrics, names = as_metrics(["ndcg@5", "pre@3"])
    >>> metrics
    (get_measure('ndcg@5'), get_measure('precision@3'))
    >>> names
    {'ndcg@5': 'ndcg@5', 'precision@3': 'pre@3'}
    >>> as_metrics(["mean_average_precision", "auc"], eval_at=[5, 10])[0]
    (get_measure('map@5'), get_measure('map@10'), get_measure('auc'))
    """
    cutoffs = as_list(eval_at)
    metrics = [metric for metric in as_list(eval_metric) if not _is_no_metric(metric)]
    if not metrics and cutoffs:
        metrics = ["ndcg"]
    expanded: list[Metric] = []
    names: dict[str, str] = {}
    for metric in metrics:
        if isinstance(metric, str):
            named = _measures(metric, cutoffs, dcg or DCG())
            names.update({str(measure): name for name, measure in named.items()})
            expanded.extend(named.values())
        else:
            expanded.append(_as_metric(metric))
    return tuple(expanded), names


class Asked(NamedTuple):
    """The metrics that a user asked for, and which of their results decides on early stopping.

    Attributes
    ----------
    of_fit, of_parameters : list
        Names, measures and functions that were given to ``fit``, and as parameters of the ranker.
    eval_at : int or list of int, optional
    deciding : int or None
        The place of the result; None means that each metric may end the training.
    """

    of_fit: list[Any]
    of_parameters: list[Any]
    eval_at: object
    deciding: int | None


def of_library(
    library: LibraryParameters,
    asked: Asked,
    default: tuple[str, tuple[int | None, ...]],
    has_eval_set: bool,
) -> Asked:
    """The metrics beside an objective of the library, as its own ranker has them.

    Parameters
    ----------
    library : LibraryParameters
    asked : Asked
    default : tuple of str and tuple of int
        The metric of the objective and its cutoffs.
    has_eval_set : bool
        Whether the user gave validation sets, as to the library's own ranker.
    """
    if has_eval_set and library.OWN_METRICS:
        return _with_added_metric(library.OWN_METRICS, asked, default)
    if asked.of_fit or asked.of_parameters or asked.eval_at is not None:
        return asked
    return Asked([default[0]], [], default[1], -1)


def _with_added_metric(
    own_metrics: Mapping[str, str], asked: Asked, default: tuple[str, tuple[int | None, ...]]
) -> Asked:
    """The metrics of LGBMRanker, which adds that of its objective to those of ``fit``.

    They are those that were asked for if it does not have one of them.
    """
    given = [*asked.of_fit, *asked.of_parameters]
    functions = [metric for metric in given if not isinstance(metric, str)]
    names = [name for name in given if isinstance(name, str) and not _is_no_metric(name)]
    if not set(names) <= own_metrics.keys() or any(isinstance(one, Measure) for one in functions):
        return asked
    own = [own_metrics[name] for name in names]
    if not asked.of_parameters:
        own.append(default[0])
    # LightGBM sorts the cutoffs, and computes functions last. A dict keeps the first of two equal
    # metrics.
    cutoffs = sorted(as_list(default[1] if asked.eval_at is None else asked.eval_at))
    return Asked([*dict.fromkeys(own), *functions], [], cutoffs, None)


def _is_no_metric(metric: object) -> bool:
    return isinstance(metric, str) and metric in _NO_METRIC


def _as_metric(metric: Any) -> Metric:
    """The metric that a measure or a function of the user is."""
    if isinstance(metric, Measure) or not callable(metric):
        return get_measure(metric)
    if str(getattr(metric, "__module__", "")).startswith("sklearn."):
        return SklearnMetric(metric)
    return FunctionMetric(metric)


def _measures(text: str, cutoffs: list[int], dcg: DCG) -> dict[str, Measure]:
    """The measure of a name, or one for each cutoff if it has none, by the name with the cutoff."""
    # XGBoost's "ndcg@5-" counts a query without a relevant document as 0, as "ndcg@5" does here.
    plain = text.removesuffix("-")
    end = text[len(plain) :]
    name, at, cutoff = plain.partition("@")
    library, colon, name = name.rpartition(":")
    name = _OTHER_NAMES.get(name, name)
    own_name = "precision" if name == "pre" else name
    measure = get_measure(library + colon + own_name + at + cutoff)
    measure = _with_gain_of_ranker(measure, own_name + at + cutoff, bool(library), dcg)
    if at or not cutoffs or not hasattr(measure, "k"):
        return {name + at + cutoff + end: measure}
    by_name = {}
    for k in cutoffs:
        at_cutoff = f"@{k}" if k else ""
        by_name[name + at_cutoff + end] = get_measure(measure, k=k)
    return by_name


def _with_gain_of_ranker(measure: Measure, name: str, is_of_library: bool, dcg: DCG) -> Measure:
    """The measure with the ranker's gain and discount, where its name has none.

    The libraries' metrics have the gain of the training too, but always their own discount.
    """
    if base_name(name) not in MEASURES:
        # A name of trec_eval or ir_measures says which gain is meant.
        return measure
    parsed = parse_name(name)
    given = {} if parsed is None else parsed.settings
    inherited = ("gain",) if is_of_library else ("gain", "discount")
    settings: dict[str, Any] = {}
    for setting in inherited:
        if hasattr(measure, setting) and setting not in given:
            settings[setting] = getattr(dcg, setting)
    return get_measure(measure, **settings)
