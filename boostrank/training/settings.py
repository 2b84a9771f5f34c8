"""The settings of a ranker: its parameters, checked, with the other names of the boosting library
translated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import NoneType
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from boostrank.backends.base import Backend, LibraryParameters, TrainingSpecification
from boostrank.backends.features import resolve_features
from boostrank.backends.left_out_queries import FIXED_TOTAL_STEP, MAX_ROUNDS, MIN_TOTAL_STEP
from boostrank.backends.progress import BAR
from boostrank.inputs import checks
from boostrank.inputs.arrays import as_list
from boostrank.queries.dcg import DCG
from boostrank.queries.queries import draw_queries_to_hold_out
from boostrank.surrogates.base import Surrogate
from boostrank.training.features import TrainingFeatures
from boostrank.training.losses import DEFAULT_LOSS, BindableLoss, find_loss, is_function, loss_names

#: A function of the name and the value of a parameter, which raises ValueError for a value without
#: a meaning.
Rule = Callable[[str, Any], None]


def integer(smallest: int | None = None) -> Rule:
    """Integers of at least `smallest`; a bool is no integer."""
    return partial(checks.check_count, smallest=smallest)


def one_of(*names: str) -> Rule:
    """One of these strings."""
    return partial(checks.check_choice, choices=names)


NOT_NEGATIVE: Rule = partial(checks.check_number, smallest=0)
SHARE: Rule = partial(checks.check_number, above=0, largest=1)

#: Rounds and learning rate of objectives of the boosting libraries and of functions, unless the
#: user sets them.
NATIVE_ROUNDS, NATIVE_LEARNING_RATE = 100, 0.1
#: Learning rate of losses of boostrank, whose trees are random, and whose number of rounds left-out
#: queries choose. It and the shares below are as good on held-out training queries as others that
#: were tried (benchmarks/defaults.py).
LOSS_LEARNING_RATE = 0.08
#: With more documents than the first number, the rate is larger in proportion, up to twice as large
#: with the second, which takes half of the time.
RATE_DOCUMENTS = 50_000, 100_000
#: Share of the queries that each round of these draws, share of the features that each tree draws,
#: share of those that each node draws, and the smallest number of features that a node draws, if
#: there are as many.
QUERY_SHARE, TREE_SHARE, NODE_SHARE, MIN_NODE_FEATURES = 0.5, 0.65, 0.6, 8
#: Rules of the parameters that both rankers have.
RULES: Mapping[str, Rule] = {
    "n_estimators": integer(1),
    "subsample_queries": SHARE,
    "learning_rate": partial(checks.check_number, above=0),
    "min_child_weight": NOT_NEGATIVE,
    "subsample": SHARE,
    "colsample_bytree": SHARE,
    "colsample_bynode": SHARE,
    "reg_alpha": NOT_NEGATIVE,
    "reg_lambda": NOT_NEGATIVE,
    "early_stopping_rounds": integer(1),
    "validation_fraction": partial(checks.check_number, above=0, below=1),
    "n_jobs": integer(),
}


#: Arguments of ``fit`` that rankers of the libraries have as parameters.
OF_FIT = ("eval_metric", "eval_at", "callbacks")
#: Parameters besides those of the boosting library that may be None.
OPTIONAL = (
    "n_estimators",
    "subsample_queries",
    "early_stopping_rounds",
    "validation_fraction",
    "importance_type",
)


@dataclass(frozen=True)
class Settings:
    """The checked parameters of a ranker.

    Attributes
    ----------
    backend : Backend
    loss : Surrogate, BindableLoss, CustomObjective or str
        A loss of boostrank, the objective of a user, or the name of an objective of the boosting
        library.
    values : dict
        Parameters of the ranker by name, with the values of native parameters that are other names
        of them; the value of "query_features" is a transformer, not fitted, or None.
    native : dict
        The other native parameters, by canonical name.
    unused : set of str
        Native names of parameters of the ranker that the boosting library does not have with these
        settings.
    """

    backend: Backend
    loss: Any
    values: dict[str, Any]
    native: dict[str, Any]
    unused: frozenset[str]

    @classmethod
    def resolve(
        cls,
        backend: Backend,
        values: dict[str, Any],
        native: dict[str, Any],
        defaults: Mapping[str, Any],
        rules: Mapping[str, Rule],
    ) -> Settings:
        """Check parameters, and translate native parameters that are other names of parameters of
        the ranker.

        Parameters
        ----------
        backend : Backend
        values : dict
            Parameters of the ranker by name.
        native : dict
            Native parameters by their canonical names or aliases.
        defaults : mapping of str to object
            Defaults of the parameters of the ranker.
        rules : mapping of str to Rule
            Rules of the parameters of the ranker.
        """
        if native and values["objective"] == DEFAULT_LOSS:
            values = {**values, "objective": _objective_of(backend.parameters, native)}
        loss = _resolve_objective(backend.parameters, values["objective"], values["normalize"])
        _check_values(values, rules, optional=backend.parameters.PARAMETERS)
        library, native_objective = backend.parameters, loss if isinstance(loss, str) else None
        by_native_name = {canonical: values[name] for name, canonical in library.PARAMETERS.items()}
        refused = library.refused_parameters({**by_native_name, **native}, native_objective)
        handed_on: dict[str, Any] = {}
        if native:
            values, handed_on = _translate(library, refused, values, native, defaults)
            _check_values(values, rules, optional=backend.parameters.PARAMETERS)
        if native_objective and values["subsample_queries"] not in (None, 1):
            raise ValueError(
                f"subsample_queries={values['subsample_queries']} is not for {native_objective!r}, "
                f"which {library.LIBRARY} computes: set subsample, the share of the rows"
            )
        if values["query_features"] is not None:
            # Imported on use: few trainings need it.
            from boostrank.training.query_features import as_query_features

            values = {
                **values,
                "query_features": as_query_features(values["query_features"], handed_on),
            }
        unused = frozenset(refused.keys() & set(library.PARAMETERS.values()))
        for name, canonical in library.PARAMETERS.items() if unused else ():
            if canonical in unused and values[name] is not None and values[name] != defaults[name]:
                raise ValueError(
                    f"{name}={values[name]!r} would have no effect: {refused[canonical]}"
                )
        return cls(backend, loss, values, handed_on, unused)

    @property
    def is_own_loss(self) -> bool:
        """Whether the objective is a loss of boostrank, which has the defaults of random trees."""
        return isinstance(self.loss, (Surrogate, BindableLoss))

    def _rounds(
        self, share: float, rate: float, stops_early: bool
    ) -> tuple[int, int | None, int | None]:
        """The numbers of rounds of a specification: the largest, the least and the fixed one.

        `share` is that of the queries that each round draws, `rate` the learning rate.
        `stops_early` says whether validation sets decide.
        """
        n_rounds = self.values["n_estimators"]
        if n_rounds is not None or not self.is_own_loss:
            return int(n_rounds or NATIVE_ROUNDS), None, None
        if stops_early:
            return MAX_ROUNDS, None, None
        fixed_rounds = max(1, round(FIXED_TOTAL_STEP / rate))
        if share == 1:
            return fixed_rounds, None, None
        return MAX_ROUNDS, max(1, round(MIN_TOTAL_STEP / rate)), fixed_rounds

    def random_trees(self, n_columns: int, n_features: int) -> dict[str, Any]:
        """Shares of the features and shape of the trees of losses of boostrank.

        Trees draw as many features as they would from the columns of X alone: with features of
        lists, more are not better, and take longer.
        """
        share = (
            min(1.0, max(TREE_SHARE * NODE_SHARE, MIN_NODE_FEATURES / n_columns))
            * n_columns
            / n_features
        )
        by_tree, by_node = self.values["colsample_bytree"], self.values["colsample_bynode"]
        if by_tree is None:
            by_tree = min(1.0, share / NODE_SHARE) if by_node is None else 1.0
        shares = {"colsample_bytree": by_tree, "colsample_bynode": min(1.0, share / by_tree)}
        return {**shares, **self.backend.parameters.tree_shape(self.values, self.unused)}

    def check_validation(
        self, eval_set: Any, early_stopping_metric: str | None, name: str = "eval_set"
    ) -> None:
        """Raise ValueError for settings that contradict each other or these arguments, or that have
        no effect.

        `name` is that of the argument that has the validation sets.
        """
        if not isinstance(eval_set, (Mapping, list, tuple, NoneType)):
            checks.refuse(
                "eval_set", eval_set, "a list or dict of (X, y, qid)", got=type(eval_set).__name__
            )
        holds_out = self.values["validation_fraction"] is not None
        stops_early = self.values["early_stopping_rounds"] is not None
        if eval_set and holds_out:
            raise ValueError(f"give either {name} or validation_fraction, not both")
        if stops_early and not (eval_set or holds_out):
            raise ValueError(
                f"early_stopping_rounds needs validation queries: give {name} or "
                f"validation_fraction"
            )
        if early_stopping_metric is not None and not stops_early:
            raise ValueError("early_stopping_metric needs early_stopping_rounds")

    def random_state(self) -> RandomState:
        """A generator of the random numbers of one call of ``fit``, from the parameter
        `random_state`.
        """
        return checks.as_random_state(self.values["random_state"])

    def kept_queries(self, n_queries: int, random_state: RandomState) -> NDArray[np.bool_] | None:
        """Mask of the queries to train on, or None if `validation_fraction` holds no queries
        out.
        """
        if self.values["validation_fraction"] is None:
            return None
        return ~draw_queries_to_hold_out(
            n_queries, self.values["validation_fraction"], random_state
        )

    def specification(
        self,
        features: TrainingFeatures,
        shape: tuple[int, int],
        random_state: RandomState,
        *,
        eval_metric: Any = None,
        eval_at: Any = None,
        early_stopping_metric: str | None = None,
        callbacks: Any = None,
        verbose: bool | int | str = False,
        init_model: Any = None,
    ) -> TrainingSpecification:
        """The specification of the training on features of a shape, with those that the ranker
        adds.

        The other arguments are those of ``fit``, with `init_model` as a booster.

        Raises ValueError if `verbose` is invalid, for unknown metrics, and for native parameters
        that do not fit the features; see :mod:`boostrank.backends.features`.
        """
        is_flag = isinstance(verbose, (bool, np.bool_))
        if verbose != BAR and not is_flag and not (checks.is_count(verbose) and int(verbose) >= 0):
            checks.refuse("verbose", verbose, f"True, False, a number of rounds or {BAR!r}")
        values, backend, parameters = (
            self.values,
            self.backend,
            self.parameters(features, shape, random_state),
        )
        dcg = DCG(values["k"], values["gain"], values["discount"])
        share = float(values["subsample_queries"] or (QUERY_SHARE if self.is_own_loss else 1.0))
        callbacks = (*as_list(values["callbacks"]), *(callbacks or ()))
        stops_early = bool(
            values["early_stopping_rounds"] or (callbacks and backend.stopping_callbacks(callbacks))
        )
        rate = parameters[backend.parameters.PARAMETERS["learning_rate"]]
        n_rounds, min_rounds, fixed_rounds = self._rounds(share, rate, stops_early)
        metrics: tuple[Any, ...] = ()
        names: dict[str, str] = {}
        deciding = 0
        given = (eval_metric, eval_at, values["eval_metric"], values["eval_at"])
        if isinstance(self.loss, str) or any(value is not None for value in given):
            metrics, names, deciding = self._metrics(eval_metric, eval_at, dcg)
        return TrainingSpecification(
            loss=self.loss,
            dcg=dcg,
            normalize=values["normalize"],
            parameters=parameters,
            n_rounds=n_rounds,
            min_rounds=min_rounds,
            fixed_rounds=fixed_rounds,
            query_share=share,
            # The rounds that are added to a model draw other queries than its first ones.
            seed=(
                parameters.get("seed", 0),
                0 if init_model is None else backend.n_rounds(init_model),
            ),
            early_stopping_rounds=values["early_stopping_rounds"],
            early_stopping_metric=deciding
            if early_stopping_metric is None
            else early_stopping_metric,
            metrics=metrics,
            metric_names=names,
            callbacks=callbacks,
            verbose=verbose,
            init_model=init_model,
        )

    def _metrics(
        self, eval_metric: Any, eval_at: Any, dcg: DCG
    ) -> tuple[tuple[Any, ...], dict[str, str], int]:
        """The metrics of ``fit``, and then those of the parameters; other names of them; and which
        one decides.

        The library's own objectives have the metrics of its own ranker, of which the last one
        decides, if there are no others and `dcg` has no cutoff.
        """
        from boostrank.training.custom_functions import as_metrics

        eval_at = eval_at if self.values["eval_at"] is None else self.values["eval_at"]
        parameters = as_list(self.values["eval_metric"])
        of_fit = [
            metric
            for metric in as_list(eval_metric)
            if not (isinstance(metric, str) and metric in parameters)
        ]
        deciding = self.backend.parameters.DECIDING_METRIC if parameters and not of_fit else 0
        if (
            isinstance(self.loss, str)
            and eval_at is None
            and dcg.k is None
            and not (of_fit or parameters)
        ):
            (name, eval_at), deciding = (
                self.backend.parameters.native_metric(self.loss, self.native),
                -1,
            )
            of_fit = [name]
        return *as_metrics([*of_fit, *parameters], eval_at, dcg), deciding

    def parameters(
        self, features: TrainingFeatures, shape: tuple[int, int], random_state: RandomState
    ) -> dict[str, Any]:
        """Parameters of the boosting library by canonical name."""
        library, native, (n_documents, n_features) = self.backend.parameters, self.native, shape
        if native:
            native = resolve_features(native, library.FEATURE_PARAMETERS, features.of_booster)
        defaults: dict[str, Any] = {"learning_rate": NATIVE_LEARNING_RATE}
        if self.is_own_loss:
            rate = LOSS_LEARNING_RATE * np.clip(n_documents, *RATE_DOCUMENTS) / RATE_DOCUMENTS[0]
            defaults = {"learning_rate": float(rate), **library.LOSS_DEFAULTS}
            defaults.update(self.random_trees(features.n_features_in_, n_features))
            native = {**library.NATIVE_LOSS_DEFAULTS, **native}
        parameters: dict[str, Any] = {}
        for name, canonical in library.PARAMETERS.items():
            value = defaults.get(name) if self.values[name] is None else self.values[name]
            if value is not None and canonical not in self.unused:
                parameters[canonical] = value
        seed = self.values["random_state"]
        if seed is not None:
            # As in the libraries' own estimators, an integer is the seed itself.
            parameters["seed"] = (
                int(seed) if checks.is_count(seed) else int(random_state.randint(2**31 - 1))
            )
        return {**parameters, **native}


def _translate(
    library: LibraryParameters,
    refused: Mapping[str, str],
    values: Mapping[str, Any],
    native: Mapping[str, Any],
    defaults: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Translate the native parameters that a user gave.

    Parameters
    ----------
    library : LibraryParameters
    refused : mapping of str to str
        Result of :meth:`LibraryParameters.refused_parameters`.
    values : mapping of str to object
        Parameters of the ranker by name.
    native : mapping of str to object
        Native parameters by their canonical names or aliases.
    defaults : mapping of str to object
        Defaults of the parameters of the ranker. A parameter that has its default counts as not
        given.

    Returns
    -------
    values : dict
        Parameters of the ranker, with the values of native parameters that are other names of them.
    native : dict
        The other native parameters by their canonical names.

    Raises
    ------
    ValueError
        For a native parameter that is unknown or refused, and for two names of one parameter with
        two values.
    """
    resolved, handed_on = dict(values), {}
    settings = {
        name: (name, value)
        for name, value in values.items()
        if not _equal(value, defaults.get(name))
    }
    for name, value in native.items():
        canonical = _canonical_name(library, refused, name, value, values)
        if value is None or canonical in refused:
            continue
        value = library.CONVERT[canonical](value) if canonical in library.CONVERT else value
        name_in_ranker = library.EXPLICIT.get(canonical, canonical)
        first_name, previous = settings.setdefault(name_in_ranker, (name, value))
        if not _equal(value, previous):
            raise ValueError(
                f"{first_name}={previous!r} and {name}={value!r} are two names of one parameter: "
                f"give only {name_in_ranker}"
            )
        if canonical in library.EXPLICIT:
            resolved[name_in_ranker] = value
        else:
            handed_on[canonical] = value
    return resolved, handed_on


def _canonical_name(
    library: LibraryParameters,
    refused: Mapping[str, str],
    name: str,
    value: Any,
    values: Mapping[str, Any],
) -> str:
    """The canonical name of a parameter; ValueError if it is unknown, or refused with this
    value.
    """
    known = library.canonical_names()
    canonical = known.get(name, name if name in refused else None)
    if canonical is None:
        usable = {alias: target for alias, target in known.items() if target not in refused}
        names = {alias: library.EXPLICIT.get(target, target) for alias, target in usable.items()}
        near = checks.did_you_mean(name, {**names, **values}, names)
        raise ValueError(f"neither the ranker nor {library.LIBRARY} has a parameter {name!r}{near}")
    is_neutral = any(_equal(value, other) for other in (None, *library.NEUTRAL.get(canonical, ())))
    if canonical in refused and not is_neutral:
        alias = "" if name == canonical else f", which is {library.LIBRARY}'s {canonical},"
        raise ValueError(
            f"the parameter {name!r}{alias} cannot be used in a ranker: {refused[canonical]}"
        )
    return canonical


def _equal(first: Any, second: Any) -> bool:
    return first is second or np.array_equal(first, second)


def _objective_of(library: LibraryParameters, native: Mapping[str, Any]) -> str:
    """The library's objective, with a warning, if a parameter is one of LambdaMART; otherwise the
    default.
    """
    name = next(
        (name for name in native if name.startswith("lambdarank_") and native[name] is not None),
        None,
    )
    if name is None:
        return DEFAULT_LOSS
    objective = library.OBJECTIVE_ALIASES[None]
    checks.warn(
        f"{name} is a parameter of LambdaMART, so the objective is {objective!r} of "
        f"{library.LIBRARY}, and not {DEFAULT_LOSS!r}, the default of boostrank: give "
        f"objective={objective!r}, or leave {name} out"
    )
    return objective


def _resolve_objective(library: LibraryParameters, objective: Any, normalize: str) -> Any:
    """The loss, the objective of a user or the name of the library's objective that the parameter
    stands for.
    """
    if objective is None or isinstance(objective, str):
        objective = library.OBJECTIVE_ALIASES.get(objective, objective)
    is_native = isinstance(objective, str) and objective in library.NATIVE_OBJECTIVES
    loss = None if is_native else find_loss(objective)
    if loss is not None:
        return loss
    if not (is_native or is_function(objective)):
        names = [*loss_names(), *library.NATIVE_OBJECTIVES]
        expected = f"one of {', '.join(names)}, or a Surrogate, EdgeLoss or function"
        checks.refuse("objective", objective, expected, checks.did_you_mean(objective, names))
    if normalize != "dcg":
        raise ValueError(f"normalize={normalize!r} has no meaning for the objective {objective!r}")
    if is_native:
        return objective
    from boostrank.training.custom_functions import CustomObjective

    return CustomObjective(objective)


def _check_values(
    values: Mapping[str, Any], rules: Mapping[str, Rule], optional: Mapping[str, str]
) -> None:
    """Raise ValueError for a value that breaks its rule. None leaves the choice to the boosting
    library.
    """
    for name, check in rules.items():
        if values[name] is not None or not (name in optional or name in OPTIONAL):
            check(name, values[name])
