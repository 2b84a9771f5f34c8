"""`set_params` and `get_params`: parameters of rankers, and native ones of their backends."""

import numpy as np
import pytest
from sklearn.base import clone

import boostrank as br
from boostrank.surrogates import Cosine


def small(ranker_class, objective="softmax", **parameters):
    return ranker_class(objective, **{"n_estimators": 8, "random_state": 0, "n_jobs": 1, **parameters})


def test_parameters_survive_clone_and_reach_the_backend(ranker_class, data):
    X, y, qid = data
    native = {"extra_trees": True} if ranker_class is br.LightGBMRanker else {"colsample_bynode": 0.3}
    ranker = small(ranker_class, Cosine(epsilon=2.0), k=5, **native)
    assert clone(ranker).get_params() == ranker.get_params()
    assert native.items() <= ranker.get_params().items()
    plain = clone(ranker).set_params(**{name: 1.0 if name[0] == "c" else False for name in native})
    assert not np.array_equal(ranker.fit(X, y, qid).predict(X), plain.fit(X, y, qid).predict(X))
    ranker.set_params(n_estimators=3)
    assert ranker.fit(X, y, qid).best_iteration_ == 3


@pytest.mark.parametrize("wrong", [{"num_leafs": 3}, {"objektive": "softmax"}])
def test_misspelt_parameters_are_errors(ranker_class, wrong, data):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(ranker_class, **wrong).fit(*data)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small(ranker_class).set_params(**wrong).fit(*data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": "lambdamart"}, "objective must be"),
        ({"k": 0}, "k must be"),
        ({"gain": "exp"}, "gain must be"),
        ({"discount": "log"}, "discount must be"),
        ({"normalize": "idcg"}, "normalize must be"),
        ({"n_estimators": 0}, "n_estimators must be"),
        ({"early_stopping_rounds": 3}, "needs validation queries"),
        ({"validation_fraction": 1.5}, "fraction"),
        ({"objective": "logistic", "normalize": "none"}, "needs targets"),
    ],
)
def test_bad_settings_are_errors_that_name_them(ranker_class, change, message, data):
    with pytest.raises(ValueError, match=message):
        small(ranker_class).set_params(**change).fit(*data)


def test_parameters_of_native_objectives_are_known_beside_them(data):
    pairs = {"lambdarank_pair_method": "topk", "lambdarank_num_pair_per_sample": 2}
    small(br.XGBoostRanker, "rank:ndcg", **pairs).fit(*data)
    small(br.LightGBMRanker, "lambdarank", lambdarank_truncation_level=5).fit(*data)
    with pytest.raises(ValueError, match="lambdarank_pair_method"):
        small(br.XGBoostRanker, "softmax", **pairs).fit(*data)
