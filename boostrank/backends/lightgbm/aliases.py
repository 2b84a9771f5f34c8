"""The names of LightGBM's parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import numpy as np

from boostrank.backends.base import import_backend

# Other names of each parameter that has some. LightGBM has them in a table that is not public; a test compares the two.
_ALIASES: Mapping[str, str] = {
    "bagging_fraction": "bagging sub_row subsample",
    "bagging_freq": "subsample_freq",
    "bagging_seed": "bagging_fraction_seed",
    "bin_construct_sample_cnt": "subsample_for_bin",
    "boosting": "boost boosting_type",
    "categorical_feature": "cat_column cat_feature categorical_column categorical_features",
    "config": "config_file",
    "convert_model": "convert_model_file",
    "data": "data_filename train train_data train_data_file",
    "data_random_seed": "data_seed",
    "device_type": "device",
    "drop_rate": "rate_drop",
    "early_stopping_round": "early_stopping early_stopping_rounds n_iter_no_change",
    "enable_bundle": "bundle is_enable_bundle",
    "eval_at": "map_at map_eval_at ndcg_at ndcg_eval_at",
    "extra_trees": "extra_tree",
    "feature_contri": "fc feature_contrib feature_penalty fp",
    "feature_fraction": "colsample_bytree sub_feature",
    "feature_fraction_bynode": "colsample_bynode sub_feature_bynode",
    "forcedsplits_filename": "forced_splits forced_splits_file forced_splits_filename fs",
    "group_column": "group group_id query query_column query_id",
    "header": "has_header",
    "histogram_pool_size": "hist_pool_size",
    "ignore_column": "blacklist ignore_feature",
    "input_model": "model_in model_input",
    "is_enable_sparse": "enable_sparse is_sparse sparse",
    "is_provide_training_metric": "is_training_metric train_metric training_metric",
    "is_unbalance": "unbalance unbalanced_sets",
    "label_column": "label",
    "lambda_l1": "l1_regularization reg_alpha",
    "lambda_l2": "l2_regularization lambda reg_lambda",
    "learning_rate": "eta shrinkage_rate",
    "linear_tree": "linear_trees",
    "local_listen_port": "local_port port",
    "machine_list_filename": "machine_list machine_list_file mlist",
    "machines": "nodes workers",
    "max_bin": "max_bins",
    "max_delta_step": "max_leaf_output max_tree_output",
    "metric": "metric_types metrics",
    "metric_freq": "output_freq",
    "min_data_in_leaf": "min_child_samples min_data min_data_per_leaf min_samples_leaf",
    "min_gain_to_split": "min_split_gain",
    "min_sum_hessian_in_leaf": "min_child_weight min_hessian min_sum_hessian min_sum_hessian_per_leaf",
    "monotone_constraints": "mc monotone_constraint monotonic_cst",
    "monotone_constraints_method": "mc_method monotone_constraining_method",
    "monotone_penalty": "mc_penalty monotone_splits_penalty ms_penalty",
    "neg_bagging_fraction": "neg_bagging neg_sub_row neg_subsample",
    "num_class": "num_classes",
    "num_iterations": "max_iter n_estimators n_iter nrounds num_boost_round "
    "num_iteration num_round num_rounds num_tree num_trees",
    "num_leaves": "max_leaf max_leaf_nodes max_leaves num_leaf",
    "num_machines": "num_machine",
    "num_threads": "n_jobs nthread nthreads num_thread",
    "objective": "app application loss objective_type",
    "output_model": "model_out model_output",
    "output_result": "name_pred pred_name predict_name predict_result prediction_name prediction_result",
    "pos_bagging_fraction": "pos_bagging pos_sub_row pos_subsample",
    "pre_partition": "is_pre_partition",
    "predict_contrib": "contrib is_predict_contrib",
    "predict_leaf_index": "is_predict_leaf_index leaf_index",
    "predict_raw_score": "is_predict_raw_score predict_rawscore raw_score",
    "save_binary": "is_save_binary is_save_binary_file",
    "seed": "random_seed random_state",
    "snapshot_freq": "save_period",
    "task": "task_type",
    "top_k": "topk",
    "tree_learner": "tree tree_learner_type tree_type",
    "two_round": "two_round_loading use_two_round_loading",
    "valid": "test test_data test_data_file valid_data valid_data_file valid_filenames",
    "verbosity": "verbose",
    "weight_column": "weight",
}
#: Parameters that no model lists: those of LightGBM's command line and of prediction.
_NOT_IN_MODELS = (
    "config convert_model convert_model_language input_model is_provide_training_metric metric_freq "
    "num_iteration_predict output_model output_result pred_early_stop pred_early_stop_freq pred_early_stop_margin "
    "predict_contrib predict_disable_shape_check predict_leaf_index predict_raw_score save_binary snapshot_freq "
    "start_iteration_predict task"
)


@cache
def canonical_names() -> Mapping[str, str]:
    """Canonical names of the parameters by name and alias; LightGBM writes those of a training into its model."""
    lgb = import_backend("lightgbm")
    quiet = {"verbosity": -1, "num_threads": 1}
    booster = lgb.train(quiet, lgb.Dataset(np.zeros((2, 1)), label=[0.0, 1.0], params=quiet), num_boost_round=1)
    names = [*re.findall(r"^\[(\w+): ", booster.model_to_string(), re.MULTILINE), *_NOT_IN_MODELS.split()]
    aliases = {alias: name for name, others in _ALIASES.items() for alias in others.split()}
    # The last two are parameters of LightGBM's estimators.
    return {**dict(zip(names, names, strict=True)), **aliases, "eval_metric": "metric", "callbacks": "callbacks"}
