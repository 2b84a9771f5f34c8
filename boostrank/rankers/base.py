"""The base class of the rankers: parameters, and fit."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from boostrank.backends.interface import Backend
from boostrank.backends.models import SOURCES, ModelSource, Notes
from boostrank.backends.records import Trained, TrainingSpecification
from boostrank.inputs.table import TableLike
from boostrank.ndcg.dcg import DCG
from boostrank.rankers.model import TrainedModel
from boostrank.rankers.training_queries import TrainingQueries, refuse_search_without_routing
from boostrank.training.arguments import (
    EvalArguments,
    EvalSets,
    RoundArguments,
    TrainingArguments,
    takes_other_names,
)
from boostrank.training.features import TrainingFeatures
from boostrank.training.settings import OF_FIT, Rule, Settings
from boostrank.training.specification import specify
from boostrank.training.train import prepare, train_prepared


class BoostedRanker(TrainedModel):
    """A ranker on a boosting library; a subclass sets its backend and defines its parameters.

    These parameters and attributes are those that :class:`boostrank.LightGBMRanker` and
    :class:`boostrank.XGBoostRanker` have in common.

    Parameters
    ----------
    objective : str, Surrogate, EdgeLoss, callable or None, default "softmax"
        A surrogate of :mod:`boostrank.surrogates`, by name or as an instance; for labels that are
        preferences a loss of :mod:`boostrank.preferences` ("edge-logistic"); or one of the
        library's own objectives: LightGBM's "lambdarank" or "rank_xendcg", XGBoost's "rank:ndcg",
        "rank:pairwise" or "rank:map". These have their own targets: `gain` is passed on to
        "lambdarank", and to "rank:ndcg", which knows only "exp2" and "linear", and `discount` and
        `k` are only used in `score` and early stopping. A function ``(y, scores[, weight[, group]])
        -> (gradient, hessian)`` gets labels, scores, weights (None without `sample_weight`) and
        sizes of queries, grouped by query. It applies the weights itself, and `gain`, `discount`
        and `k` are only used in `score` and early stopping. None means what it means for the
        library's own ranker: "lambdarank" for LightGBM and "rank:ndcg" for XGBoost.
    gain, discount, k
        Gain, discount and cutoff of NDCG in the targets, in early stopping and in `score`. See
        :class:`boostrank.DCG`. With ``gain="rank"``, labels may be any real numbers, such as
        returns, of which only the order within a query counts.
    lower_is_better : bool, optional
        Whether the smallest label of a query is the best, as with finishing places, distances and
        times; needs ``gain="rank"``. `fit` (also for validation sets) and `score` then take the
        negative labels, and so do metrics and functions of users in `fit`, scorers of
        :func:`boostrank.make_scorer` and :func:`boostrank.feature_importance`. False says that the
        largest is the best, as without this parameter, and that `fit` need not warn of labels that
        are 1, 2, ..., n.
    normalize : {"dcg", "none", "l2", "sum", "softmax"}, default "dcg"
        How gains are normalized to targets of the surrogate; only "dcg" is NDCG-consistent. See
        :func:`boostrank.make_targets`. :class:`boostrank.ClickLabels` have a setting of their own
        in its place.
    n_estimators : int, optional
        Number of boosting rounds. By default, for the losses of boostrank, the queries that each
        round leaves out decide: the training has twice as many rounds as those after which the loss
        of these queries was least, but at most 3000, and so many that rounds times rate are 4 or
        more. With early stopping, validation sets decide, on at most 3000 rounds. Where no query is
        left out (``subsample_queries=1``, or a single query), and with DART, rounds times rate are
        15. It is 100 for objectives of the library and functions.
    learning_rate : float, optional
        By default, for the losses of boostrank, 0.07 on LightGBM and 0.06 on XGBoost; with more
        than 40,000 documents it grows in proportion to their number, to 0.16 with 100,000 or more.
        It is 0.1 for objectives of the library and functions. With twice the rate, training takes
        half of the rounds. With few `n_estimators`, give a larger rate.
    subsample_queries : float in (0, 1], optional
        Share of the queries that each round draws; only these have gradients (stochastic gradient
        boosting). By default 0.5 for the losses of boostrank, and 1 for functions. The library's
        own objectives have `subsample` in its place, the share of the rows. Random trees overfit
        noisy labels less, and need more rounds where a few features decide without noise.
        ``subsample_queries=1, colsample_bynode=1`` turns samples off.
    colsample_bytree, colsample_bynode : float in (0, 1], optional
        Share of the features that is drawn for each tree, and share of these that is drawn for each
        of its nodes, which is then split by one of them. By default 0.65 and 0.6 for the losses of
        boostrank, but at least 8 features for a node if there are as many. If only
        `colsample_bytree` is given, nodes draw as many features as by default; if only
        `colsample_bynode` is given, trees draw all. By default both are 1 for other objectives.
        ``tree_method="exact"`` of XGBoost does not have `colsample_bynode`.
    early_stopping_rounds : int, optional
        Training stops when the deciding metric has not improved for this number of rounds:
        `early_stopping_metric` of `fit`, by default the first metric, on the last validation set
        that is not the training data. The model keeps the rounds up to the best one. For the losses
        of boostrank, whose rate is small, take 100 or more: with a few hundred queries, fewer
        rounds without improvement are chance. The default needs no early stopping.
    validation_fraction : float in (0, 1), optional
        Share of the training queries that are held out as validation set. The model is not trained
        on them; another ranker with ``n_estimators=ranker.best_iteration_`` is. With `init_model`,
        subtract its rounds.
    validation : {"random", "last"}, default "random"
        Which queries `validation_fraction` holds out: random ones; or the last ones, in the
        sequence in which queries first appear in the data, for lists in time: sort the rows by
        time. Copies of a held-out query are held out too, also earlier ones.
    query_features : str, list of str or QueryFeatures, optional
        Features that say how a document stands among those of its query, which are added to each
        column that varies within queries: "standardize", "rank", "minmax" or several of these; see
        :class:`boostrank.QueryFeatures`. `fit` computes them, also for validation sets, and
        `predict` then needs `qid` or `group`. Lists at prediction must be drawn as those of the
        training. By default none are added, so that documents can be scored without their lists. In
        parameters with one value per feature, such as `monotone_constraints`, give those of the
        columns of X: the added features have the values of their columns. So do groups of
        `interaction_constraints`.
    random_state : int, RandomState or None
        An integer is the seed of the library, and of the choice of the queries to hold out: the
        same integer gives the same model. From a RandomState, each `fit` draws another seed. With
        None, the library uses its default seed, and each `fit` holds out other queries.
    n_jobs : int, optional
        Number of threads of the library, and of the losses and metrics of boostrank in `fit`. None
        lets the library choose, and is ``OMP_NUM_THREADS``, or the number of processors, for losses
        and metrics.

    Attributes
    ----------
    booster_ : lightgbm.Booster or xgboost.Booster
    best_iteration_ : int
        Number of rounds that `predict` uses: those that were found, or `n_estimators`; with
        `init_model`, also its rounds. Rounds in which LightGBM finds no split have no tree, and do
        not count, except the first one.
    learning_rate_ : float
        The learning rate at the start of the training, which callbacks may change; not after
        `load_model`.
    evals_result_ : dict of str to dict of str to list of float
        Values of each metric on each validation set, one for each round of this training:
        ``{"valid_0": {"ndcg@10": [...], "map": [...]}, "test": ...}``. The names of the sets are
        those of `eval_set` or `eval_names`; the queries that `validation_fraction` holds out are
        "valid_0". Those of metrics are as they were asked for; two metrics of one name are an
        error. Empty without validation sets and after `load_model`.
    oob_improvement_ : ndarray of float64, shape (n_values,)
        How much each round lowered the loss of the queries that it left out (out of bag), a mean
        over their documents; see :class:`boostrank.backends.left_out_queries.QuerySample`. The last
        round has no value. Their running sum, ``numpy.cumsum``, chooses the number of rounds. Empty
        if no queries are left out, and not there after `load_model`.
    best_score_ : dict of str to dict of str to float
        The values in the last round of the model, ``{"valid_0": {"ndcg@10": ..., "map": ...},
        "test": ...}``.
    objective_ : str, Surrogate, EdgeLoss or callable
        The parameter `objective` with which the model was trained; not after `load_model`.
    feature_importances_ : ndarray, shape (n_features,)
        For all features of the model, also those that `query_features` adds.
    query_features_ : QueryFeatures or None
        The fitted transformer that adds the features of lists; ``query_features_.transform(X,
        qid)`` are the features of `booster_`, for example for ``shap.TreeExplainer``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if X had column names
    """

    _backend: ClassVar[Backend]
    _rules: ClassVar[Mapping[str, Rule]]
    # Native parameters by name. Without any, __init__ must not set the attribute: scikit-learn's
    # checks require that it sets only its parameters.
    _native: Any = MappingProxyType({})

    #: Defaults of the explicit parameters by name, also of those that only a base class takes.
    _defaults: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    #: Names of the explicit parameters that ``__init__`` takes, and whether it takes native ones
    #: too.
    _explicit: ClassVar[Sequence[str]] = ()
    _takes_native: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        # Signatures are read once, because that takes time. As long as an __init__ passes
        # ``**kwargs`` on, the class takes the parameters of the __init__ of its base class.
        defaults: dict[str, Any] = {}
        names: set[str] = set()
        takes_more = True
        for base in cls.__mro__[:-1]:
            if "__init__" not in vars(base):
                continue
            parameters = list(inspect.signature(vars(base)["__init__"]).parameters.values())[1:]
            explicit = [
                parameter
                for parameter in parameters
                if parameter.kind is not inspect.Parameter.VAR_KEYWORD
            ]
            defaults = {parameter.name: parameter.default for parameter in explicit} | defaults
            names |= {parameter.name for parameter in explicit} if takes_more else set()
            takes_more = takes_more and len(explicit) < len(parameters)
        cls._defaults, cls._explicit, cls._takes_native = (
            MappingProxyType(defaults),
            sorted(names),
            takes_more,
        )

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Names of the explicit parameters.

        scikit-learn does not look for those that ``**kwargs`` passes on.
        """
        return list(cls._explicit)

    def __getattr__(self, name: str) -> Any:
        """A native parameter, as in the rankers of the libraries: given, or the library's default.

        For example `device`. A parameter of the ranker itself is not looked up here.
        """
        native = vars(self).get("_native", {})
        if name in native:
            return native[name]
        # Names of other attributes must not need the library, nor those that Python looks for.
        if not name.startswith("_") and not name.endswith("_") and name not in self._defaults:
            by_default = self._backend.parameters.ranker_defaults()
            if name in by_default:
                return self._given_by_other_name(name, native, by_default[name])
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
        )

    def _given_by_other_name(self, name: str, native: Mapping[str, Any], default: object) -> Any:
        """The value of a native parameter that was given by another name, or the default."""
        if not native:
            return default
        known = self._backend.parameters.canonical_names()
        canonical = known.get(name, name)
        values = [value for other, value in native.items() if known.get(other) == canonical]
        return values[0] if values else default

    def __dir__(self) -> list[str]:
        """The names of all attributes, with those of native parameters."""
        by_default = self._backend.parameters.ranker_defaults()
        return sorted({*super().__dir__(), *self._native, *by_default})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters that ``__init__`` takes, by name: explicit and native ones."""
        return {**super().get_params(deep), **(self._native if self._takes_native else {})}

    def set_params(self, **params: object) -> Self:
        """Set parameters.

        Names that are not parameters of this class are native parameters of the boosting library.
        """
        # query_features may be a transformer with parameters of its own, such as
        # query_features__kind.
        owners = {name: name.partition("__")[0] for name in params}
        super().set_params(
            **{name: value for name, value in params.items() if owners[name] in self._explicit}
        )
        # An __init__ of a subclass need not take all parameters.
        for name in [
            name for name in params if name in self._defaults and name not in self._explicit
        ]:
            setattr(self, name, params[name])
        native = {
            name: value for name, value in params.items() if owners[name] not in self._defaults
        }
        if native:
            self._native = {**self._native, **native}
        return self

    @takes_other_names
    def fit(
        self,
        X: TableLike,
        y: ArrayLike,
        qid: ArrayLike | None = None,
        *,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        init_score: ArrayLike | None = None,
        position: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        eval_set: EvalSets = None,
        eval_names: Sequence[str] | None = None,
        eval_qid: Sequence[ArrayLike | None] | None = None,
        eval_group: Sequence[ArrayLike | None] | None = None,
        eval_sample_weight: Sequence[ArrayLike | None] | None = None,
        eval_init_score: Sequence[ArrayLike | None] | None = None,
        eval_metric: object = None,
        eval_at: Sequence[int] | None = None,
        early_stopping_metric: str | None = None,
        callbacks: Sequence[object] | None = None,
        verbose: bool | int | str = False,
        init_model: object = None,
        feature_name: Sequence[str] | str = "auto",
        categorical_feature: Sequence[int | str] | str = "auto",
    ) -> Self:
        """Train the ranker.

        Parameters
        ----------
        X : array-like, sparse matrix, DataFrame or FeatureFiles, shape (n_documents, n_features)
            NaN is a missing value, and an element that a sparse matrix does not store is 0. Rows
            need not be grouped by query; if they are, features are not copied. Categorical columns
            of pandas are categorical features, unless native parameters say otherwise; in
            validation sets and predictions, categories that the training data do not have are
            missing values. polars DataFrames and pyarrow Tables become pandas DataFrames. Features
            that do not fit into memory are given as :class:`boostrank.FeatureFiles`; their rows
            must be grouped.
        y : array-like, shape (n_documents,), PreferenceGraph, ClickLabels or MultipleLabels
            Relevance labels, 0 or more, or with ``gain="rank"`` any real numbers; or preferences
            between the rows of X, for an EdgeLoss such as "edge-logistic"; or clicks on them, for a
            surrogate: see :class:`boostrank.ClickLabels`; or labels of several objectives: see
            :class:`boostrank.MultipleLabels`.
        qid : array-like, shape (n_documents,), str or list of str
            Query id of each row, an integer or a string; or the name of a column or an index level
            of X that contains the ids, which is then no feature; or a list of such names, whose
            values together are the id, as in ``qid=["week", "customer"]``. May be left out if X is
            a DataFrame with a column named "qid", which is then no feature, or with an index level
            of this name, or if y is a PreferenceGraph or ClickLabels. If several of these are
            given, they must divide the rows into the same queries. LGBMRanker has `sample_weight`
            in this place: so numbers that are not whole, and one number for more than 1,000 rows,
            are errors.
        group : array-like of whole numbers, shape (n_queries,), optional
            Number of documents of each query, instead of `qid`; the rows must be sorted by query.
            ``[len(y)]`` says that all rows are one query.
        sample_weight : array-like, shape (n_queries,) or (n_documents,), optional
            Weights of queries, in the sequence in which they first appear in `qid`, or a pandas
            Series of them with the query ids as index (an index 0, 1, ... needs a name if it has
            ids that appear in another sequence); or weights of documents. Weights of documents may
            differ within a query for surrogates that have a term for each document: "squared",
            "logistic", "poisson", where they multiply its loss, and "softmax", "power", "cosine",
            "normalized-pnorm", "consistent-lambdarank" and the pairwise ones, where they multiply
            its normalized gain. So may they for LightGBM's objectives, which multiply the gradients
            of each row. For losses of boostrank, weights are relative: all of them times a constant
            give the same model, and they do not change the meaning of `min_child_weight`. The
            library's own objectives take them as they are. Queries of weight 0 are left out. These
            are no weights of metrics: those of the queries that `validation_fraction` holds out are
            means in which all queries count the same.
        init_score : array-like, shape (n_documents,), optional
            Scores from which boosting starts, such as those of another ranker; XGBoost calls them
            `base_margin`. `predict` does not add them.
        position : array-like of int, shape (n_documents,), optional
            Positions at which documents were shown, for LightGBM's "lambdarank", which then
            estimates the bias of positions. XGBoost has the parameter `lambdarank_unbiased`
            instead.
        groups : array-like, shape (n_documents,) or (n_queries,), or str, optional
            Lists that belong together, such as those of one user or of one query text in a log: one
            value for each row, one for each query in the sequence in which queries first appear, or
            the name of a column or an index level of `X`, which is then no feature. The lists of
            one group are drawn for a round, left out of it and held out together, so that the
            queries that decide on the number of rounds are as new as those of prediction.
        eval_set : list or dict of (X, y, qid), optional
            Validation sets, on which metrics are computed in every round. A set may be a pair (X,
            y) if its query ids are in a column or an index level, as in training, or in `eval_qid`
            or `eval_group`. The keys of a dict are the names of the sets. A set of the same objects
            `X` and `y` as in training is the training data, and needs no query ids. The last set
            that is not the training data decides on early stopping.
        eval_names : list of str, optional
            Names of the validation sets. By default, set number i is "valid_i", counted from 0, and
            the training data are "training"; callbacks of XGBoost, and what it prints, have
            "validation_i", as with XGBRanker.
        eval_qid, eval_group, eval_sample_weight, eval_init_score : list of array-like, optional
            `qid`, `group`, `sample_weight` and `init_score` of each validation set, or None for a
            set that has none. The weights are those of the queries in the mean that each metric
            takes over the queries of the set; if those of the documents of a query differ, its
            weight is their mean, as in LightGBM.
        eval_metric : str, Measure, callable, or list of these, optional
            Metrics of validation sets: names and measures as in :func:`boostrank.get_measure`, and
            functions ``(y, scores[, weight[, group]]) -> (name, value, is_higher_better)`` as in
            LightGBM. A name without a gain, such as "ndcg@10" or "dcg@5", has the ranker's `gain`
            and `discount`; a measure has its own. The default is NDCG with the ranker's `k`, `gain`
            and `discount`, agreement if the labels are preferences, and for ClickLabels the measure
            :class:`boostrank.clicks.ClickDCG` with the ranker's `k` and `discount`. With an
            objective of the library and without `k`, the default is that of the library's own
            ranker, "lightgbm:ndcg" at the ranks 1 to 5 or for instance "xgboost:ndcg@32", of which
            the last one decides on early stopping. Beside an objective of LightGBM and an
            `eval_set`, names without a cutoff, "ndcg" and "map", are LightGBM's own metrics at
            `eval_at`, or at the ranks 1 to 5, and its "ndcg" is always added, as in LGBMRanker; as
            there, `early_stopping_rounds` then ends the training as soon as one of them does not
            improve. "lightgbm:ndcg@5" and "xgboost:ndcg@5" are the library's own metric with the
            ranker's gain, with which early stopping finds the round that the library's own ranker
            finds: the measures of boostrank, such as "ndcg@5", average over ties, and the libraries
            rank tied documents by row. With weights of queries without a relevant document, they
            still differ. Without validation sets, metrics are not computed.
        eval_at : int or list of int, optional
            Cutoffs of the names in `eval_metric` that have none, as in LightGBM; of "ndcg" if there
            is no other metric.
        early_stopping_metric : str, optional
            Name of the metric that decides on early stopping; the first one by default.
        callbacks : list, optional
            Callbacks of the boosting library, as its own function `train` takes them. If one of
            them stops the training early, the rounds after the best one are not kept either.
        verbose : bool, int or "bar", default False
            True prints the metrics of every round, and a number n those of every n-th round. With
            "bar", a progress bar on standard error shows the number of rounds and the metric that
            decides on early stopping; off a terminal, and without the package rich, it is a line
            for every ten seconds. If left-out queries chose the number of rounds, a line says so.
        init_model : ranker, booster, str, path or bytes, optional
            The model whose training goes on: a fitted ranker or BaggedRanker on the same library, a
            booster or an estimator of the library, or a model file or its content. `n_estimators`
            counts the new rounds, and early stopping begins with them. With the same data and
            settings, 10 rounds and then 10 more give the model of 20 rounds, unless `boosting` is
            "dart", or random numbers are used, as they are by default: set ``subsample_queries=1,
            colsample_bynode=1``. Columns with a categorical type must have the categories of that
            training. With `query_features` of the same kinds, the features are those that the
            earlier model has, whatever varies in the new data. XGBoost then stores the features
            themselves, not only their bins, and LightGBM takes no `init_score` besides.
        feature_name : list of str, optional
            Names of the columns of `X`, as in LGBMRanker. It is simpler to give a DataFrame.
        categorical_feature : list of int or str, optional
            LightGBM's parameter, as in LGBMRanker: the columns whose values are codes of
            categories.

        Returns
        -------
        self

        Notes
        -----
        Arguments have their names of LGBMRanker and XGBRanker too: `xgb_model` is `init_model`,
        `base_margin` is `init_score`, `sample_weight_eval_set` is `eval_sample_weight`, and
        `base_margin_eval_set` is `eval_init_score`. "auto" for `feature_name` and
        `categorical_feature` changes nothing.

        Raises
        ------
        ValueError
            For query ids, labels, weights, features or parameters that are invalid. After an error
            or an interrupt the ranker is unchanged.
        TypeError
            If `init_model` is no model of the library, and for an argument that does not exist.
        FloatingPointError
            If a gradient or a Hessian is not finite in some round.

        Warns
        -----
        UserWarning
            If no tree has a split, with the cause if it lies in the labels: all are equal, or no
            document was clicked; if labels are too large for the gain; if they are the places 1, 2,
            ..., n of each query, of which the last one would be the best; and if integer columns of
            a DataFrame look like ids or dates.
        """
        refuse_search_without_routing(type(self).__name__)
        settings = self._settings(categorical_feature)
        settings.check_validation(eval_set, early_stopping_metric)
        evaluation = EvalArguments(
            eval_set, eval_names, eval_qid, eval_group, eval_sample_weight, eval_init_score
        )
        if settings.query_features is not None:
            settings.query_features.continue_from(self._model_of_file(init_model))
        prepared = prepare(
            type(self).__name__,
            settings,
            TrainingArguments(
                X, y, qid, group, sample_weight, init_score, position, feature_name, groups
            ),
        )
        rounds = RoundArguments(
            eval_metric,
            eval_at,
            early_stopping_metric,
            callbacks,
            verbose,
            self._model_to_continue(init_model, prepared.features),
            has_eval_set=bool(eval_set),
        )
        specification = specify(
            settings, prepared.features, prepared.data.X.shape, prepared.random_state, rounds
        )
        trained = train_prepared(settings, specification, prepared, evaluation)
        self._set_fitted(trained, prepared.features, specification)
        self._trained_on = TrainingQueries.of(prepared.data.queries, X, y)
        return self

    @property
    def _parameters(self) -> BoostedRanker:
        return self

    @property
    def _dcg(self) -> DCG:
        """Gain, discount and cutoff; the gain may be given by its name in the library."""
        return self._settings().dcg

    def _shared_parameters(self, model: TrainedModel) -> dict[str, Any]:
        """The parameters of this ranker that the library's own ranker has too, for a model."""
        of_library = self._backend.parameters.ranker_defaults()
        names = of_library.keys() - {"objective", "early_stopping_rounds", "missing", *OF_FIT}
        given = {name: value for name, value in self.get_params().items() if name in names}
        found = {
            "n_estimators": model.best_iteration_,
            "learning_rate": getattr(model, "learning_rate_", None),
        }
        return {name: value for name, value in {**given, **found}.items() if value is not None}

    def _load(self, source: ModelSource) -> tuple[Any, Notes]:
        """Read a booster and the notes on it from a file."""
        return self._backend.load(source)

    def _set_fitted(
        self, trained: Trained, features: TrainingFeatures, specification: TrainingSpecification
    ) -> None:
        """Set the attributes of a ranker that was trained with `specification`."""
        self._set_model(trained, features)
        self.objective_ = specification.loss.native_objective or self.objective
        self.learning_rate_ = specification.parameters.get(
            self._backend.parameters.PARAMETERS["learning_rate"]
        )
        self.oob_improvement_ = np.asarray(trained.oob_improvement, dtype=np.float64)

    def _settings(self, categorical_feature: Sequence[int | str] | str = "auto") -> Settings:
        """The checked parameters and an argument of ``fit``, with native parameters translated."""
        defaults = {**dict.fromkeys(OF_FIT), **self._defaults}
        values = dict.fromkeys(OF_FIT)
        for name in defaults:
            values[name] = vars(self).get(name)
        is_auto = isinstance(categorical_feature, str) and categorical_feature == "auto"
        native = (
            self._native
            if is_auto
            else {**self._native, "categorical_feature": categorical_feature}
        )
        return Settings.resolve(self._backend, values, native, defaults, self._rules)

    def _model_of_file(self, init_model: object) -> Any:
        """The ranker of a model file; anything else is returned unchanged."""
        if isinstance(init_model, SOURCES):
            return clone(self).load_model(init_model)
        return init_model

    def _model_to_continue(self, init_model: Any, features: TrainingFeatures) -> Any:
        """The booster of `init_model`, or None.

        Raises ValueError if it has other features than the training data.
        """
        if init_model is None:
            return None
        if isinstance(init_model, TrainedModel):
            check_is_fitted(init_model, "booster_")
            init_model = init_model.booster_
        elif isinstance(init_model, SOURCES):
            init_model, _ = self._backend.load(init_model)
        init_model = self._backend.as_booster(init_model)
        n_features, names = (
            self._backend.n_features(init_model),
            self._backend.feature_names(init_model),
        )
        own = features.of_booster
        if n_features != own.number or (
            names is not None and own.names is not None and names != own.names
        ):
            difference = ""
            if names and own.names:
                same = [first == second for first, second in zip(names, own.names, strict=False)]
                start = [*same, False].index(False)
                before, now = (
                    names[start : start + 5] or "none",
                    list(own.names[start : start + 5]) or "none",
                )
                difference = (
                    f"; they differ from feature {start} on: {before} in the model, {now} in X"
                )
            raise ValueError(
                f"init_model was trained on {n_features} features, and X has "
                f"{own.number}{difference}. Its training "
                "can only go on with the same features in the same sequence"
            )
        return init_model
