"""Trainings with LightGBM, and the features that its Datasets take."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse, isspmatrix

from boostrank.backends.base import (
    BoostingObjective,
    GroupedData,
    Trained,
    TrainingSpecification,
    ValidationSet,
    import_backend,
)
from boostrank.backends.interrupts import interruptible
from boostrank.backends.left_out_queries import QuerySample
from boostrank.backends.lightgbm.parameters import (
    FEATURE_NAMES,
    boosting_of,
    native_parameters,
    samples_queries,
)
from boostrank.backends.models import require_same_categories
from boostrank.backends.progress import BAR, History, ProgressBar
from boostrank.inputs.arrays import Floats
from boostrank.inputs.frames import is_pandas
from boostrank.inputs.streams import FeatureStream

#: Smallest value of min_sum_hessian_in_leaf. With exactly 0 LightGBM crashes.
MIN_SUM_HESSIAN = 1e-10
#: LightGBM's default of num_leaves. It warns if max_depth is given without num_leaves.
DEFAULT_LEAVES = 31
#: Parameters of LightGBM that need all columns of a Dataset at once: values by column, and random
#: numbers by bundle.
OF_ALL_COLUMNS = ("max_bin_by_feature", "forcedbins_filename", "extra_trees")
#: LightGBM counts the rows of a Dataset, and those of all workers together, in 32 bits.
MAX_ROWS = 2**31 - 1


def train(
    specification: TrainingSpecification,
    data: GroupedData,
    validation: Sequence[ValidationSet],
    objective: BoostingObjective | None,
    weights: Floats | None,
) -> Trained:
    """Train a booster; see :meth:`boostrank.backends.base.Backend.train`."""
    lgb = import_backend("lightgbm")
    _check(specification, data, validation)
    parameters = _parameters(specification)
    is_dart, is_continued = boosting_of(parameters) == "dart", specification.init_model is not None
    # LightGBM ignores categorical features in the parameters of the training: the Dataset must get
    # them.
    categorical = parameters.pop("categorical_feature", "auto")
    reads_all = is_continued or not parameters.keys().isdisjoint(OF_ALL_COLUMNS)
    of_datasets = dict(parameters)
    # LightGBM refuses this one in the parameters of a training whose Dataset is constructed, as it
    # is for our losses.
    parameters.pop("forcedbins_filename", None)
    dataset = lgb.Dataset(
        **dataset_features(data, reads_all),
        label=data.labels.per_document,
        group=data.queries.sizes,
        weight=weights,
        init_score=data.init_score,
        position=data.position,
        params=of_datasets,
        categorical_feature=categorical,
        # The scores of a model whose training goes on are computed from the features, so they must
        # be kept.
        free_raw_data=not is_continued,
    )
    if isinstance(data.X, FeatureStream) and data.X.in_memory and not reads_all:
        _add_columns(dataset, data.X, of_datasets)
    datasets = []
    for validation_set in validation:
        evaluated = validation_set.data
        # With these, LightGBM's scores of the training data are not those of the model after each
        # round. DART drops trees of the next round when a function asks for these scores, so that
        # the model would stay without them after the last round. With `bagging_by_query`, the
        # scores lack trees for queries that were left out.
        if evaluated is data and not is_dart and not samples_queries(parameters):
            datasets.append(dataset)
            continue
        features, label = (
            dataset_features(evaluated, is_continued, has_bins=True),
            evaluated.labels.per_document,
        )
        settings = {"init_score": evaluated.init_score, "reference": dataset, "params": of_datasets}
        datasets.append(lgb.Dataset(**features, label=label, **settings))
    # DART changes earlier trees, so that what a round adds is not its tree.
    sample = (
        None
        if objective is None
        else QuerySample(objective, specification, data, is_measured=not is_dart)
    )
    parameters.update(_objective(specification, data, sample, dataset))
    history = History(validation, specification) if validation else None
    callbacks = list(specification.callbacks)
    if specification.verbose not in (False, 0, BAR):
        callbacks.append(lgb.log_evaluation(int(specification.verbose)))
    if is_dart and objective is not None:
        callbacks.append(FirstRound())
    bar = None
    if specification.verbose == BAR:
        bar = ProgressBar(
            specification.n_rounds, True, str if history is None else history.last_value
        )
    n_earlier = (
        0 if specification.init_model is None else specification.init_model.current_iteration()
    )
    # With DART, which rescales earlier trees in every round, the best model is not the first rounds
    # of the last one.
    best_model = ""

    # LightGBM does not keep a round in which it finds no split, unless it is the first one. Later
    # rounds may find one, where random numbers decide on the features, the documents or the
    # thresholds.
    rounds_kept: list[int] = []

    def count_rounds(environment: Any) -> None:
        # Here, a signal that waits is handled.
        interruptible(rounds_kept.append, environment.model.current_iteration())

    def end_round(environment: Any) -> None:
        nonlocal best_model
        if bar is not None:
            bar.advance(sample)
        if sample is not None and sample.should_stop():
            raise lgb.EarlyStopException(environment.iteration, environment.evaluation_result_list)
        if history is None or specification.early_stopping_rounds is None:
            return
        if is_dart and history.improved():
            best_model = environment.model.model_to_string()
        if history.should_stop():
            raise lgb.EarlyStopException(
                n_earlier + history.best_round(), environment.evaluation_result_list
            )

    # LightGBM calls this callback before all others, because any of them may end the training, and
    # that one last.
    count_rounds.order, end_round.order = -np.inf, np.inf  # type: ignore[attr-defined]

    def evaluate(scores: NDArray[Any], scored: Any) -> list[tuple[str, float, bool]]:
        assert history is not None
        return history.record(
            next(i for i, candidate in enumerate(datasets) if candidate is scored), scores
        )

    with bar or nullcontext():
        booster = lgb.train(
            parameters,
            dataset,
            num_boost_round=specification.n_rounds,
            valid_sets=datasets or None,
            valid_names=[validation_set.name for validation_set in validation]
            if validation
            else None,
            feval=evaluate if validation else None,
            init_model=specification.init_model,
            callbacks=[*callbacks, count_rounds, end_round],
        )
    best_round = len(rounds_kept)
    if history is not None and specification.early_stopping_rounds is not None:
        best_round = history.best_round() + 1
    elif booster.best_iteration > 0:
        # Left-out queries or a callback of the user stopped the training.
        best_round = booster.best_iteration - n_earlier
    best = rounds_kept[best_round - 1]
    model = lgb.Booster(
        model_str=with_named_objective(best_model or booster.model_to_string(num_iteration=best))
    )
    has_splits, curves = (
        bool(model.feature_importance().any()),
        {} if history is None else history.as_dict(),
    )
    return Trained(
        model, best, curves, best_round, has_splits, () if sample is None else sample.improvement
    )


def stopping_callbacks(callbacks: Sequence[Any]) -> list[Any]:
    """Those of the callbacks that are LightGBM's ``early_stopping``."""
    kind = type(import_backend("lightgbm").early_stopping(1))
    return [callback for callback in callbacks if isinstance(callback, kind)]


class FirstRound:
    """A callback that makes trainings of DART with a custom objective take the same random numbers
    every time.

    LightGBM drops trees when the scores of a round are asked for, unless a flag says that it has
    done so. With a custom objective nothing sets this flag before the first round, so that its
    value is what the memory contained before. A round in which trees are dropped takes a random
    number. So without this callback the same seed gives one of two models.
    """

    before_iteration = True

    def __call__(self, environment: Any) -> None:
        """Set the flag, and let the random numbers start again, if no round of this training has
        ended.
        """
        if environment.iteration == environment.begin_iteration:
            # This call asks for the scores, which sets the flag and may take a random number.
            environment.model.eval_train(feval=lambda scores, data: ("", 0.0, True))
            # Setting any parameter makes the random numbers start again from `drop_seed`. Where no
            # feature can split the rows, LightGBM refuses it; no tree has a split then, and the
            # random numbers do not matter.
            with suppress(import_backend("lightgbm").basic.LightGBMError):
                environment.model.reset_parameter(
                    {"verbosity": environment.params.get("verbosity", 1)}
                )


def _check(
    specification: TrainingSpecification, data: GroupedData, validation: Sequence[ValidationSet]
) -> None:
    """Raise an error for callbacks, parameters or data that LightGBM does not take with these."""
    if boosting_of(specification.parameters) in ("rf", "random_forest"):
        raise ValueError(
            "boosting='rf' is not for rankers, because LightGBM's random forests take no custom "
            "objective: set 'gbdt' or 'dart'"
        )
    if data.position is not None and specification.native_objective != "lambdarank":
        # LightGBM would take positions for rank_xendcg, and ignore them.
        raise ValueError(
            "position is only for objective='lambdarank': other objectives do not use it"
        )
    if specification.init_model is not None:
        for data_set in [data, *(validation_set.data for validation_set in validation)]:
            is_in_files = isinstance(data_set.X, FeatureStream) and not data_set.X.in_memory
            if data_set.init_score is not None or is_in_files:
                raise ValueError(
                    "LightGBM takes no init_model beside init_score or with features in "
                    "FeatureFiles: give init_score=init_model.predict(X), plus the init_score if "
                    "there is one, without init_model; the new model then has only the new rounds"
                )
        require_same_categories(specification.init_model.pandas_categorical or [], data.X)


def _parameters(specification: TrainingSpecification) -> dict[str, Any]:
    """Parameters of LightGBM, without those of the objective."""
    # Without force_col_wise LightGBM measures whether histograms by row or by column are faster,
    # and takes these. The two differ in rounding, so the model would depend on the measured times.
    defaults = {
        "verbosity": -1,
        "deterministic": True,
        "force_col_wise": True,
        "num_leaves": DEFAULT_LEAVES,
    }
    parameters = {**defaults, **specification.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    if "min_sum_hessian_in_leaf" in parameters:
        parameters["min_sum_hessian_in_leaf"] = max(
            parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN
        )
    return parameters


def check_n_rows(n_rows: int, where: str) -> None:
    """Raise ValueError for more rows than LightGBM can count; `where` says where they are."""
    if n_rows > MAX_ROWS:
        raise ValueError(
            f"LightGBM takes at most 2^31 - 1 rows, and there are {n_rows:,} {where}: use "
            f"XGBoostRanker, or fewer rows"
        )


def dataset_features(
    data: GroupedData, reads_all: bool = False, *, has_bins: bool = False
) -> dict[str, Any]:
    """The arguments of a Dataset that describe its features.

    They are the first block of columns of a FeatureStream in memory, to which :func:`_add_columns`
    adds the others; but all columns if `reads_all`, or for a Dataset that gets the bins of another
    one, which is what `has_bins` says.
    """
    check_n_rows(data.queries.n_documents, "in X")
    if not isinstance(data.X, FeatureStream):
        return {
            "data": plain_matrix(
                FEATURE_NAMES.encode_columns(data.X) if is_pandas(data.X) else data.X
            )
        }
    if data.X.cache is not None:
        raise ValueError(
            "LightGBM keeps the bins of the features in memory, not in the folder cache of "
            "FeatureFiles: make FeatureFiles without cache, or use XGBoostRanker"
        )
    X, n_columns = data.X, data.X.shape[1]
    if not X.in_memory or (has_bins and not reads_all):
        rows = _sequence_class()(X)
    else:
        rows = X.read() if reads_all else next(X.column_blocks())
        n_columns = rows.shape[1]
    names = (
        "auto" if X.names is None else [FEATURE_NAMES.encode(name) for name in X.names[:n_columns]]
    )
    return {"data": rows, "feature_name": names}


def _add_columns(dataset: Any, X: FeatureStream, parameters: dict[str, Any]) -> None:
    """Add the other blocks of columns to a Dataset of the first one.

    To find bins, LightGBM keeps up to 200,000 rows in float64, so only those of one block at a
    time. It finds the same bins as from all columns together.
    """
    lgb = import_backend("lightgbm")
    names = [FEATURE_NAMES.encode(name) for name in X.names or ()]
    # Features that need not be kept are freed here, before the others are computed.
    dataset.construct()
    for block in islice(X.column_blocks(), 1, None):
        n_columns = dataset.num_feature()
        block_names = names[n_columns : n_columns + block.shape[1]]
        added = lgb.Dataset(block, params=parameters, feature_name=block_names).construct()
        # Dataset.add_features_from does this too, and warns in every call, of what does not matter
        # here. Warnings cannot be ignored for one thread alone, and members of a bag are trained in
        # several.
        lgb.basic._safe_call(
            lgb.basic._LIB.LGBM_DatasetAddFeaturesFrom(dataset._handle, added._handle)
        )
    # Validation sets take them from here.
    dataset.feature_name = dataset.get_feature_name()


def plain_matrix(X: Any) -> Any:
    """Features of a type that LightGBM takes: sparse arrays become sparse matrices of the same
    memory.
    """
    if not issparse(X) or isspmatrix(X):
        return X
    rows: Any = X
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=rows.shape)


@functools.cache
def _sequence_class() -> type[Any]:
    """The class of features that LightGBM reads in batches. It is made on use, because it needs
    LightGBM.
    """
    lgb = import_backend("lightgbm")

    class FileSequence(lgb.Sequence):  # type: ignore[name-defined]
        """Rows of files. LightGBM first reads single rows, a sample with increasing numbers, and
        then all batches.
        """

        def __init__(self, features: FeatureStream) -> None:
            self.batch_size = features.rows_per_block
            self._features = features
            # The block that contains the row that was read last.
            self._block, self._start = features.read(0, 0), 0

        def __len__(self) -> int:
            return len(self._features)

        def __getitem__(self, rows: Any) -> NDArray[Any]:
            if isinstance(rows, slice):
                self._block, self._start = self._features.read(0, 0), 0
                return interruptible(self._features.read, rows.start, rows.stop)
            if not 0 <= rows - self._start < len(self._block):
                self._start = int(rows) - int(rows) % self.batch_size
                self._block = interruptible(
                    self._features.read, self._start, self._start + self.batch_size
                )
            # LightGBM takes sampled rows in float64 only.
            return self._block[rows - self._start].astype(np.float64)

    return FileSequence


def _objective(
    specification: TrainingSpecification,
    data: GroupedData,
    sample: QuerySample | None,
    dataset: Any,
) -> dict[str, Any]:
    """The parameters of the objective."""
    native = specification.native_objective
    if native is not None:
        relevance = data.labels.require_relevance(native)
        return {"objective": native, **native_parameters(native, specification.dcg, relevance)}
    assert sample is not None
    dataset.construct()
    # None can be split if all are constant, or for few documents in min_child_samples.
    if not any(map(dataset.feature_num_bin, range(dataset.num_feature()))):
        # LightGBM refuses a custom objective if no feature can be split. Its own least squares on
        # labels that are all 0 gives every document the score 0.
        dataset.set_label(np.zeros(data.queries.n_documents))
        return {"objective": "regression"}
    return {"objective": lambda scores, _: interruptible(sample.next_round, scores)}


def with_named_objective(text: str) -> str:
    """Return the text of a model with the objective "regression" in place of a custom one.

    LightGBM writes no name for a custom objective, but converters and explainers need one. The
    scores of "regression" are the plain sums over trees.
    """
    if "\nobjective=" in text:
        return text
    text = text.replace("\nfeature_names=", "\nobjective=regression\nfeature_names=", 1)
    return text.replace("\n[objective: custom]\n", "\n[objective: regression]\n", 1)
