"""Optuna over objectives and hyperparameters, scored by cross-validation on whole queries. Needs optuna."""

import optuna

import boostrank as br

X, y, qid = br.make_ranking(n_queries=150, random_state=0)


def score(trial):
    """Mean NDCG@10 over folds of the settings that a trial suggests."""
    ranker = br.LightGBMRanker(
        objective=trial.suggest_categorical("objective", ["softmax", "centered-squared", "cosine", "lambdarank"]),
        k=trial.suggest_categorical("k", [None, 10]),
        num_leaves=trial.suggest_int("num_leaves", 4, 64, log=True),
        learning_rate=trial.suggest_float("learning_rate", 0.03, 0.3, log=True),
        min_child_samples=trial.suggest_int("min_child_samples", 5, 100, log=True),
        n_estimators=300,
        early_stopping_rounds=15,
        validation_fraction=0.2,
        random_state=0,
    )
    results = br.cross_validate(ranker, X, y, qid, cv=3, scoring="ndcg@10")
    trial.set_user_attr("n_estimators", float(results["test_n_estimators"].mean()))
    return results["test_score"].mean()


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.optimize(score, n_trials=10)
print(f"NDCG@10 {study.best_value:.4f}, {study.best_trial.user_attrs['n_estimators']:.0f} rounds: {study.best_params}")

final = br.LightGBMRanker(
    **study.best_params,
    n_estimators=300,
    early_stopping_rounds=15,
    validation_fraction=0.2,
    refit=True,
    random_state=0,
).fit(X, y, qid)
print(f"trained on all queries with {final.best_iteration_} rounds")
