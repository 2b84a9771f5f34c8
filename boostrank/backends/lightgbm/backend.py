"""LightGBM as a :class:`~boostrank.backends.base.Backend`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from boostrank.backends.base import (
    Trained,
    Training,
    TrainingSpecification,
    ValidationSet,
    import_backend,
    import_onnx_converter,
)
from boostrank.backends.history import History
from boostrank.backends.lightgbm.average import average as average
from boostrank.backends.lightgbm.callbacks import AfterRound, KeptRounds, check_callbacks, printing_callbacks
from boostrank.backends.lightgbm.callbacks import without_validation as without_validation
from boostrank.backends.lightgbm.dart import dart_callbacks
from boostrank.backends.lightgbm.features import NAMES, blocks, dataset_features, join
from boostrank.backends.lightgbm.format import check_lightgbm, with_named_objective
from boostrank.backends.lightgbm.parameters import FEATURE_PARAMETERS as FEATURE_PARAMETERS
from boostrank.backends.lightgbm.parameters import PARAMETERS as PARAMETERS
from boostrank.backends.lightgbm.parameters import boosting_of, check_boosting
from boostrank.backends.lightgbm.parameters import check_categories as check_categories
from boostrank.backends.lightgbm.parameters import known_parameters as known_parameters
from boostrank.backends.lightgbm.parameters import loss_defaults as loss_defaults
from boostrank.backends.lightgbm.rounds import LightGBMRounds
from boostrank.backends.model_checks import require_same_categories
from boostrank.backends.model_files import (
    BLANK_CHECKSUM,
    CHECKSUM_FIELD,
    read_with_checksum,
    write_with_checksum,
)
from boostrank.backends.progress import RoundsBar, metric_text
from boostrank.backends.query_bagging import QueryBagging, samples_queries, without_bagging
from boostrank.backends.rounds import BinnedData
from boostrank.core.dcg import DCG
from boostrank.datasets.feature_files import FeatureFiles
from boostrank.inputs.arrays import Floats
from boostrank.inputs.frames import is_pandas

NATIVE_OBJECTIVES: tuple[str, ...] = ("lambdarank", "rank_xendcg")
#: Name of feature i in the models if the training data had no names.
UNNAMED_FEATURE = "Column_{}"
#: Smallest value of min_sum_hessian_in_leaf. With exactly 0 LightGBM crashes.
MIN_SUM_HESSIAN = 1e-10
#: Largest label for native objectives, and so the largest index of the table of gains that lambdarank gets.
MAX_NATIVE_LABEL = 10_000
#: Largest label in LightGBM's default table of gains, 2^y - 1.
MAX_DEFAULT_LABEL = 30
#: Largest label for rank_xendcg. Larger ones give wrong scores without a warning.
MAX_XENDCG_LABEL = 31
#: Parameters on which the binned data do not depend.
TREE_PARAMETERS = frozenset(
    {"extra_trees", "lambda_l1", "lambda_l2", "learning_rate", "max_depth", "min_sum_hessian_in_leaf", "num_leaves"}
)


def native_parameters(objective: str, dcg: DCG, relevance: Floats) -> dict[str, Any]:
    """Table of gains for lambdarank, where it differs from LightGBM's default; no parameter otherwise.

    Raises ValueError for labels that are not integers up to :data:`MAX_NATIVE_LABEL`, or, for rank_xendcg, up to
    :data:`MAX_XENDCG_LABEL`.
    """
    highest = int(relevance.max())
    wrong = relevance[(relevance != np.floor(relevance)) | (relevance > MAX_NATIVE_LABEL)]
    if len(wrong):
        raise ValueError(f"{objective} takes integer labels up to {MAX_NATIVE_LABEL}; got the label {wrong[0]:g}")
    if objective == "rank_xendcg" and highest > MAX_XENDCG_LABEL:
        raise ValueError(
            f"rank_xendcg takes labels up to {MAX_XENDCG_LABEL}, because its gain is 2^y - 1; got labels up to "
            f"{highest}. Use a surrogate with gain='linear'"
        )
    if objective != "lambdarank" or (dcg.gain == "exp2" and highest <= MAX_DEFAULT_LABEL):
        return {}
    return {"label_gain": dcg.gains(np.arange(highest + 1)).tolist()}


def adds_trees(parameters: Mapping[str, Any]) -> bool:
    """Whether a round adds a tree, times the learning rate, and changes no earlier ones."""
    return boosting_of(parameters) not in ("dart", "rf")


def train(training: Training) -> Trained:
    """Train a booster."""
    lgb = import_backend("lightgbm")
    specification, history = training.specification, History(training)
    parameters, dataset, validation = _prepare(training)

    def evaluate(scores: NDArray[Any], evaluated: Any) -> list[tuple[str, float, bool]]:
        i = next(i for i, candidate in enumerate(validation) if candidate is evaluated)
        return history.record(i, scores)

    with RoundsBar(specification.n_rounds, specification.verbose, lambda: metric_text(history.last())) as bar:
        after_round, kept = AfterRound(training, history, bar), KeptRounds()
        booster = lgb.train(
            parameters,
            dataset,
            num_boost_round=specification.n_rounds,
            valid_sets=validation or None,
            valid_names=[part.name for part in training.validation] or None,
            feval=evaluate if validation else None,
            init_model=specification.init_model,
            callbacks=[
                *specification.callbacks,
                *printing_callbacks(specification),
                *dart_callbacks(specification),
                kept,
                after_round,
            ],
        )
    best_round = len(kept.after_round)
    if training.stops_early:
        best_round = history.best_round() + 1
    elif booster.best_iteration > 0:
        # A callback of the user stopped the training.
        best_round = booster.best_iteration - after_round.n_earlier_rounds
    best = kept.after_round[best_round - 1]
    text = after_round.best_model or booster.model_to_string(num_iteration=best)
    return Trained(lgb.Booster(model_str=with_named_objective(text)), best, history.as_dict(), best_round)


def start(training: Training, binned: BinnedData | None = None) -> LightGBMRounds:
    """Begin a training that goes on round by round; its last validation set is scored after each round."""
    return LightGBMRounds(training, *_prepare(training, binned))


def _prepare(training: Training, binned: BinnedData | None = None) -> tuple[dict[str, Any], Any, list[Any]]:
    """The parameters of LightGBM with the objective, the Dataset to train on, and those of the validation sets.

    Datasets are taken from `binned` or added to it.
    """
    specification = training.specification
    _check(training)
    parameters = _parameters(specification)
    # LightGBM ignores categorical features in the parameters of the training: the Dataset must get them.
    categorical = parameters.pop("categorical_feature", "auto")
    bagging = parameters if specification.native_objective is None and samples_queries(parameters) else None
    if bagging is not None:
        parameters = without_bagging(bagging)
    elif specification.native_objective is None:
        # Without a sample, LightGBM's own bagging of queries does nothing or gives a constant model.
        parameters.pop("bagging_by_query", None)
    if binned is None or specification.init_model is not None:
        # LightGBM adds the scores of an earlier model to the Datasets of a training.
        binned = {}
    key = training.bins_key({**parameters, "categorical_feature": categorical}, without=TREE_PARAMETERS)
    if key not in binned:
        dataset = _training_data(training, parameters, categorical)
        can_be_evaluated = not _changes_training_scores(parameters)
        validation = [
            dataset if part.data is training.data and can_be_evaluated else _validation_data(part, dataset)
            for part in training.validation
        ]
        binned[key] = dataset, validation
    dataset, validation = binned[key]
    parameters.update(_objective(training, dataset, bagging))
    return parameters, dataset, validation


def _check(training: Training) -> None:
    """Raise an error for callbacks, parameters or data that LightGBM does not take with these."""
    specification, data = training.specification, training.data
    check_boosting(specification.parameters, specification.native_objective)
    check_callbacks(specification.callbacks)
    _refuse_init_scores(training)
    if data.position is not None and specification.native_objective != "lambdarank":
        # LightGBM would take positions for rank_xendcg, and ignore them.
        raise ValueError("position is only for objective='lambdarank': other objectives do not use it")
    if specification.init_model is not None:
        if any(isinstance(part.X, FeatureFiles) for part in (data, *(one.data for one in training.validation))):
            raise ValueError(
                "LightGBM takes no init_model with features in FeatureFiles: give init_score=init_model.predict(X) in "
                "its place; the new model then has only the new rounds"
            )
        columns = data.X.select_dtypes("category") if is_pandas(data.X) else {}
        found = [columns[name].cat.categories.tolist() for name in columns]
        require_same_categories(specification.init_model.pandas_categorical or [], found)


def _training_data(training: Training, parameters: dict[str, Any], categorical: Any) -> Any:
    """The Dataset to train on; `categorical` are LightGBM's categorical features."""
    data, specification = training.data, training.specification
    return import_backend("lightgbm").Dataset(
        **dataset_features(data),
        label=data.labels.per_document,
        group=data.queries.sizes,
        weight=None if specification.native_objective is None else training.native_weights(),
        init_score=data.init_score,
        position=data.position,
        params=dict(parameters),
        categorical_feature=categorical,
        # The scores of a model whose training goes on are computed from the features, so they must be kept.
        free_raw_data=specification.init_model is None,
    )


def _objective(training: Training, dataset: Any, bagging: Mapping[str, Any] | None) -> dict[str, Any]:
    """The parameters of the objective; `bagging` are the parameters by which queries are sampled."""
    specification, data = training.specification, training.data
    native = specification.native_objective
    if native is not None:
        relevance = data.labels.require_relevance(native)
        return {"objective": native, **native_parameters(native, specification.dcg, relevance)}
    if not _can_split(dataset):
        # LightGBM refuses a custom objective if no feature can be split. Its own least squares on labels that are all 0
        # gives every document the score 0.
        dataset.set_label(np.zeros(data.queries.n_documents))
        return {"objective": "regression"}
    boost = training.boosting_function()
    if bagging is not None:
        boost = QueryBagging(boost, data.queries, bagging)
    return {"objective": lambda scores, _: boost(scores)}


def _refuse_init_scores(training: Training) -> None:
    """Raise ValueError for initial scores beside an earlier model, whose scores would take their place."""
    parts = [training.data, *(part.data for part in training.validation)]
    is_forest = boosting_of(training.specification.parameters) == "rf"
    if is_forest and (training.specification.init_model is not None or training.data.init_score is not None):
        raise ValueError("LightGBM's boosting='rf' takes no init_model and no init_score")
    if training.specification.init_model is not None and any(part.init_score is not None for part in parts):
        raise ValueError(
            "LightGBM takes no init_score beside init_model: give init_score + init_model.predict(X) as init_score, "
            "without init_model; the new model then has only the new rounds"
        )


def _parameters(specification: TrainingSpecification) -> dict[str, Any]:
    """Parameters of LightGBM, without those of the objective."""
    # Without force_col_wise LightGBM measures whether histograms by row or by column are faster, and takes these. The
    # two differ in rounding, so the model would depend on the measured times.
    parameters = {"deterministic": True, "force_col_wise": True, **specification.parameters, "metric": "None"}
    if parameters.get("force_row_wise"):
        parameters["force_col_wise"] = False
    if "min_sum_hessian_in_leaf" in parameters:
        parameters["min_sum_hessian_in_leaf"] = max(parameters["min_sum_hessian_in_leaf"], MIN_SUM_HESSIAN)
    return parameters


def _changes_training_scores(parameters: Mapping[str, Any]) -> bool:
    """Whether LightGBM's scores of the training data are not those of the model after each round.

    DART drops trees of the next round when a function asks for these scores, so that the model would stay without them
    after the last round. With `bagging_by_query`, the scores lack trees for queries that were left out.
    """
    return boosting_of(parameters) == "dart" or samples_queries(parameters)


def _validation_data(part: ValidationSet, dataset: Any) -> Any:
    """The Dataset of a validation set."""
    return import_backend("lightgbm").Dataset(
        **dataset_features(part.data),
        label=part.data.labels.per_document,
        init_score=part.data.init_score,
        reference=dataset,
    )


def _can_split(dataset: Any) -> bool:
    """Whether any feature can be split. None can if all are constant, or for few documents in min_child_samples."""
    dataset.construct()
    return any(dataset.feature_num_bin(feature) for feature in range(dataset.num_feature()))


def as_booster(model: Any) -> Any:
    """The booster of a model: itself, or that of an estimator of LightGBM; TypeError for anything else."""
    lgb = import_backend("lightgbm")
    booster = model.booster_ if isinstance(model, lgb.LGBMModel) else model
    if not isinstance(booster, lgb.Booster):
        raise TypeError(f"init_model must be a model of LightGBM; got {type(model).__name__}")
    return booster


def predict(booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.float64]:
    """Scores of the rows of X, float64, shape (n_documents,)."""
    return join([booster.predict(block, raw_score=True, **_iterations(rounds)) for block in blocks(X)])


def leaves(booster: Any, X: Any, rounds: range | None = None) -> NDArray[np.int32]:
    """Number of the leaf of each tree in which each row ends, shape (n_documents, n_trees)."""
    return join([booster.predict(block, pred_leaf=True, **_iterations(rounds)) for block in blocks(X)])


def contributions(booster: Any, X: Any, rounds: range | None = None) -> Any:
    """SHAP values of the features and the expected score, shape (n_documents, n_features + 1); sparse for sparse X."""
    lgb = import_backend("lightgbm")
    try:
        values = [booster.predict(block, pred_contrib=True, **_iterations(rounds)) for block in blocks(X)]
    except lgb.basic.LightGBMError as error:
        raise ValueError(f"there are no contributions (pred_contrib): {error}") from error
    in_csr_format: Any = type(X)
    return in_csr_format(values[0]) if issparse(X) else join(values)


def base_score(booster: Any) -> float:
    """The score before the first round: 0, because LightGBM's first tree contains it."""
    return 0.0


def _iterations(rounds: range | None) -> dict[str, int]:
    """The rounds as LightGBM takes them."""
    return {} if rounds is None else {"start_iteration": rounds.start, "num_iteration": len(rounds)}


def importances(booster: Any, kind: str) -> NDArray[Any]:
    """Importance of each feature, of kind ``"split"`` (number of splits) or ``"gain"`` (their total gain)."""
    return booster.feature_importance(importance_type=kind)


def feature_names(booster: Any) -> list[str] | None:
    """Names of the features; None if the training data had none."""
    names = booster.feature_name()
    unnamed = [UNNAMED_FEATURE.format(i) for i in range(len(names))]
    return None if names == unnamed else [NAMES.decode(name) for name in names]


def categories(booster: Any) -> dict[int, list[Any] | None]:
    """The categories of each feature that was a column of a categorical type, by its index."""
    known, indices = booster.pandas_categorical or [], booster.params.get("categorical_feature") or []
    is_known = isinstance(indices, list) and len(indices) == len(known)
    return dict(zip(sorted(indices), known, strict=True)) if is_known else {}


def n_features(booster: Any) -> int:
    """Number of features."""
    return booster.num_feature()


def has_splits(booster: Any) -> bool:
    """Whether some tree has a split."""
    return bool(importances(booster, "split").any())


def n_rounds(booster: Any) -> int:
    """Number of boosting rounds that the booster holds."""
    return booster.current_iteration()


def save(booster: Any, path: str | os.PathLike[str]) -> None:
    """Write a model file in LightGBM's text format."""
    # The field is in the first lines of the file, which a truncated file still has, and where LightGBM ignores unknown
    # fields.
    field = f"\n{CHECKSUM_FIELD}={BLANK_CHECKSUM}"
    text = booster.model_to_string().replace("\nnum_class=", f"{field}\nnum_class=", 1)
    write_with_checksum(path, text.encode())


def load(path: str | os.PathLike[str]) -> Any:
    """Read a booster from a model file in LightGBM's text format."""
    lgb = import_backend("lightgbm")
    content, name = read_with_checksum(path), os.fspath(path)
    # LightGBM reads a truncated file without an error, so the end of the last section is searched.
    if not content.startswith(b"tree\n") or b"\nend of parameters" not in content:
        raise ValueError(f"{name!r} is not a complete LightGBM model file")
    try:
        text = content.decode()
        check_lightgbm(text)
        return lgb.Booster(model_str=text)
    except (lgb.basic.LightGBMError, ValueError, RecursionError) as error:
        raise ValueError(f"{name!r} cannot be loaded as a ranker of LightGBM: {error}") from error


def to_onnx(booster: Any) -> Any:
    """Convert the booster to an ``onnx.ModelProto``."""
    onnxmltools, matrix = import_onnx_converter()
    text = with_named_objective(booster.model_to_string())
    if "\nis_linear=1\n" in text:
        raise ValueError("onnxmltools ignores the linear models in the leaves: train without linear_tree for ONNX")
    plain = import_backend("lightgbm").Booster(model_str=text)
    return onnxmltools.convert_lightgbm(plain, initial_types=[("X", matrix([None, booster.num_feature()]))])
