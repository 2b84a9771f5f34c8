"""Optuna over objectives and hyperparameters, with unpromising trials stopped by round.

Needs the packages optuna and optuna-integration. Each trial trains on some queries, reports NDCG@10 of held-out queries
after every round, and is pruned in a round in which it is worse than the median of earlier trials. The test queries
are used only once, for the last line that is printed.
"""

import optuna
from optuna_integration.lightgbm import LightGBMPruningCallback

import boostrank as br

X, y, qid = br.make_ranking(n_queries=250, random_state=0)
rest, test = br.split_queries(qid, 0.2, random_state=0)
train, held_out = br.split_queries(qid[rest], 0.25, random_state=0)
train, held_out = rest[train], rest[held_out]
STOPPING = {"n_estimators": 300, "early_stopping_rounds": 15, "random_state": 0}


def score(trial):
    """NDCG@10 of the held-out queries with the settings that a trial suggests."""
    ranker = br.LightGBMRanker(
        objective=trial.suggest_categorical("objective", ["consistent-lambdarank", "softmax", "cosine", "lambdarank"]),
        k=trial.suggest_categorical("k", [None, 10]),
        num_leaves=trial.suggest_int("num_leaves", 4, 64, log=True),
        learning_rate=trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        min_child_samples=trial.suggest_int("min_child_samples", 5, 100, log=True),
        **STOPPING,
    )
    ranker.fit(
        X[train],
        y[train],
        qid[train],
        eval_set=[(X[held_out], y[held_out], qid[held_out])],
        eval_metric="ndcg@10",
        callbacks=[LightGBMPruningCallback(trial, "ndcg@10")],
    )
    return max(ranker.evals_result_["valid_0"]["ndcg@10"])


optuna.logging.set_verbosity(optuna.logging.WARNING)
pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=5)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0), pruner=pruner)
study.optimize(score, n_trials=12)
pruned = len(study.get_trials(states=[optuna.trial.TrialState.PRUNED]))
print(f"{pruned} of {len(study.trials)} trials were pruned; NDCG@10 {study.best_value:.4f} with {study.best_params}")

final = br.LightGBMRanker(**study.best_params, **STOPPING, validation_fraction=0.2, refit=True)
final.fit(X[rest], y[rest], qid[rest])
test_score = br.ndcg_score(y[test], final.predict(X[test]), qid[test], k=10)
print(f"trained on all other queries with {final.best_iteration_} rounds: NDCG@10 {test_score:.4f} on test queries")
