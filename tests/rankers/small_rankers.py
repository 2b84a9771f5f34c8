"""Rankers that are trained quickly."""


def small(ranker_class, objective="softmax", **parameters):
    settings = {"n_estimators": 6, "learning_rate": 0.1, "random_state": 0, "n_jobs": 1}
    return ranker_class(objective, **{**settings, **parameters})
