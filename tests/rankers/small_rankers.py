"""Rankers that are trained quickly."""


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 6, "random_state": 0, "n_jobs": 1, **parameters})
