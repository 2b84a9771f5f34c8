"""The settings of a ranker: its parameters, by the names of the ranker, checked by their rules."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from boostrank.backends.interface import Backend, LibraryParameters
from boostrank.inputs.arrays import Bools, Ints
from boostrank.inputs.checks import (
    EstimatorSeed,
    check_choice,
    check_count,
    check_flag,
    check_number,
    refuse,
)
from boostrank.inputs.warnings import warn
from boostrank.ndcg.dcg import DCG, Discount
from boostrank.ndcg.gains import Gain, is_rank
from boostrank.ndcg.labels import Labels, Relevance, as_labels
from boostrank.ndcg.targets import Normalize
from boostrank.queries.queries import draw_queries_to_hold_out, n_to_hold_out
from boostrank.surrogates.loss import Loss
from boostrank.training.losses import DEFAULT_LOSS, resolve_loss

if TYPE_CHECKING:
    from boostrank.training.query_features import QueryFeatures
    from boostrank.training.translation import Values

#: A function of the name and the value of a parameter, which raises ValueError for a value without
#: a meaning.
Rule = Callable[[str, object], None]


def integer(smallest: int | None = None) -> Rule:
    """Integers of at least `smallest`; a bool is no integer."""
    return partial(check_count, smallest=smallest)


def one_of(*names: str) -> Rule:
    """One of these strings."""
    return partial(check_choice, choices=names)


NOT_NEGATIVE: Rule = partial(check_number, smallest=0)
SHARE: Rule = partial(check_number, above=0, largest=1)
#: Rules of the parameters that both rankers have.
RULES: Mapping[str, Rule] = {
    "n_estimators": integer(1),
    "subsample_queries": SHARE,
    "learning_rate": partial(check_number, above=0),
    "min_child_weight": NOT_NEGATIVE,
    "subsample": SHARE,
    "colsample_bytree": SHARE,
    "colsample_bynode": SHARE,
    "reg_alpha": NOT_NEGATIVE,
    "reg_lambda": NOT_NEGATIVE,
    "early_stopping_rounds": integer(1),
    "validation_fraction": partial(check_number, above=0, below=1),
    "validation": one_of("random", "last"),
    "lower_is_better": check_flag,
    "n_jobs": integer(),
}
#: Parameters besides those of the boosting library that may be None.
OPTIONAL = (
    "n_estimators",
    "subsample_queries",
    "early_stopping_rounds",
    "validation_fraction",
    "lower_is_better",
    "importance_type",
)


def check_values(
    values: Mapping[str, object], rules: Mapping[str, Rule], of_library: Mapping[str, str]
) -> None:
    """Raise ValueError for a value that breaks its rule.

    None leaves the choice to the boosting library, which has the parameters `of_library`.
    """
    for name, check in rules.items():
        may_be_none = name in of_library or name in OPTIONAL
        if values[name] is not None or not may_be_none:
            check(name, values[name])


#: Arguments of ``fit`` that rankers of the libraries have as parameters.
OF_FIT = ("eval_metric", "eval_at", "callbacks")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The checked parameters of a ranker, with other names of the boosting library translated.

    Attributes
    ----------
    backend : Backend
    loss : Loss
    gain, lower_is_better, discount, k, normalize, n_estimators, learning_rate, subsample_queries,
    colsample_bytree, colsample_bynode, early_stopping_rounds, validation_fraction, validation,
    random_state, n_jobs
        The parameters of the ranker.
    query_features : QueryFeatures or None
        The transformer that the parameter stands for, not fitted.
    eval_metric, eval_at, callbacks
        The arguments of ``fit`` that were given as parameters.
    of_library : mapping of str to object
        Parameters that the boosting library has too, by their names in the ranker; None is the
        default.
    native : mapping of str to object
        The other native parameters, by canonical name.
    unused : set of str
        Native names of parameters of the ranker that the boosting library does not have with these
        settings.
    """

    backend: Backend
    loss: Loss
    gain: Gain
    lower_is_better: bool | None
    discount: Discount
    k: int | float | None
    normalize: Normalize
    n_estimators: int | None
    learning_rate: float | None
    subsample_queries: float | None
    colsample_bytree: float | None
    colsample_bynode: float | None
    early_stopping_rounds: int | None
    validation_fraction: float | None
    validation: str
    query_features: QueryFeatures | None
    random_state: EstimatorSeed
    n_jobs: int | None
    eval_metric: object
    eval_at: object
    callbacks: object
    of_library: Values
    native: Values
    unused: frozenset[str]

    @classmethod
    def resolve(
        cls,
        backend: Backend,
        values: Values,
        native: Values,
        defaults: Values,
        rules: Mapping[str, Rule],
    ) -> Settings:
        """Check parameters, and translate native ones that are other names of those of the ranker.

        Parameters
        ----------
        backend : Backend
        values : mapping of str to object
            Parameters of the ranker by name.
        native : mapping of str to object
            Native parameters by their canonical names or aliases.
        defaults : mapping of str to object
            Defaults of the parameters of the ranker.
        rules : mapping of str to Rule
            Rules of the parameters of the ranker.
        """
        library = backend.parameters
        objective = values["objective"]
        if native and objective == DEFAULT_LOSS:
            objective = _objective_of(library, native)
        loss = resolve_loss(library, objective, values["normalize"])
        check_values(values, rules, library.PARAMETERS)
        by_native_name = {canonical: values[name] for name, canonical in library.PARAMETERS.items()}
        refused = library.refused_parameters({**by_native_name, **native}, loss.native_objective)
        handed_on: Values = {}
        if native:
            # Imported on use: many trainings have no native parameters.
            from boostrank.training.translation import translate

            values, handed_on = translate(library, refused, values, native, defaults)
            check_values(values, rules, library.PARAMETERS)
        if loss.native_objective and values["subsample_queries"] not in (None, 1):
            raise ValueError(
                f"subsample_queries={values['subsample_queries']} is not for "
                f"{loss.native_objective!r}, which {library.LIBRARY} computes: set subsample, the "
                "share of the rows"
            )
        if values["lower_is_better"] and not is_rank(values["gain"]):
            raise ValueError(
                "lower_is_better=True needs gain='rank': only with it do labels have no zero from "
                f"which gains are counted; got gain={values['gain']!r}"
            )
        unused = frozenset(refused.keys() & set(library.PARAMETERS.values()))
        if unused:
            _refuse_unused(library, unused, refused, values, defaults)
        checked = {}
        for field in dataclasses.fields(cls):
            if field.name in values:
                checked[field.name] = values[field.name]
        if values["query_features"] is not None:
            # Imported on use: few trainings need it.
            from boostrank.training.query_features import as_query_features

            checked["query_features"] = as_query_features(values["query_features"], handed_on)
        checked["backend"] = backend
        checked["loss"] = loss
        checked["of_library"] = {name: values[name] for name in library.PARAMETERS}
        checked["native"] = handed_on
        checked["unused"] = unused
        return cls(**checked)

    @property
    def dcg(self) -> DCG:
        """Gain, discount and cutoff of the targets."""
        return DCG(self.k, self.gain, self.discount)

    def check_validation(
        self, eval_set: object, early_stopping_metric: str | None, name: str = "eval_set"
    ) -> None:
        """Raise ValueError for settings that contradict these arguments, or have no effect.

        `name` is that of the argument that has the validation sets.
        """
        if not isinstance(eval_set, (Mapping, list, tuple, NoneType)):
            refuse(
                "eval_set", eval_set, "a list or dict of (X, y, qid)", got=type(eval_set).__name__
            )
        holds_out = self.validation_fraction is not None
        stops_early = self.early_stopping_rounds is not None
        if eval_set and holds_out:
            raise ValueError(f"give either {name} or validation_fraction, not both")
        if stops_early and not (eval_set or holds_out):
            raise ValueError(
                f"early_stopping_rounds needs validation queries: give {name} or "
                "validation_fraction"
            )
        if self.validation == "last" and not holds_out:
            raise ValueError(
                "validation='last' says which queries validation_fraction holds out: give it too"
            )
        if early_stopping_metric is not None and not stops_early:
            raise ValueError("early_stopping_metric needs early_stopping_rounds")

    def as_labels(self, y: ArrayLike | Labels, *, signed: bool = False) -> Labels:
        """Labels of which larger ones are better: an array is negated with `lower_is_better`.

        Relevance that this method has returned stays as it is. It may be negative if `signed`, and
        with the gain "rank".
        """
        labels = as_labels(y, signed=signed or self.dcg.takes_negative)
        if not self.lower_is_better:
            return labels
        if not isinstance(labels, Relevance):
            raise ValueError(
                f"lower_is_better=True needs labels that are numbers; got {type(labels).__name__}"
            )
        return labels if labels is y else Relevance(-labels.relevance)

    def kept_queries(self, lists: Ints, random_state: RandomState) -> Bools | None:
        """Mask of the queries to train on; None if `validation_fraction` holds none out.

        Queries of one number in `lists`, shape (n_queries,), are copies, and stay together: where a
        query is among the last ones, which are held out, so are its earlier copies.
        """
        fraction = self.validation_fraction
        if fraction is None:
            return None
        if self.validation == "random":
            return ~draw_queries_to_hold_out(int(lists.max()) + 1, fraction, random_state)[lists]
        kept = ~np.isin(lists, lists[-n_to_hold_out(len(lists), fraction) :])
        if not kept.any():
            raise ValueError(
                "validation='last' leaves no query to train on: all are copies of the last ones"
            )
        return kept


def _refuse_unused(
    library: LibraryParameters,
    unused: frozenset[str],
    refused: Mapping[str, str],
    values: Values,
    defaults: Values,
) -> None:
    """Raise ValueError for a parameter that was given, and that the library does not have."""
    for name, canonical in library.PARAMETERS.items():
        is_given = values[name] is not None and values[name] != defaults[name]
        if canonical in unused and is_given:
            raise ValueError(f"{name}={values[name]!r} would have no effect: {refused[canonical]}")


def _objective_of(library: LibraryParameters, native: Values) -> str:
    """The default; or the library's objective, with a warning, for a parameter of LambdaMART."""
    for name, value in native.items():
        if name.startswith("lambdarank_") and value is not None:
            objective = library.OBJECTIVE_ALIASES[None]
            warn(
                f"{name} is a parameter of LambdaMART, so the objective is {objective!r} of "
                f"{library.LIBRARY}, and not {DEFAULT_LOSS!r}, the default of boostrank: give "
                f"objective={objective!r}, or leave {name} out"
            )
            return objective
    return DEFAULT_LOSS
