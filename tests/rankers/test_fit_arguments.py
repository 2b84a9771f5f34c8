"""Arguments of ``fit`` that the estimators of the libraries have: errors say what to use instead."""

import inspect

import lightgbm
import pytest
import xgboost

import boostrank as br

ESTIMATORS = {br.LightGBMRanker: lightgbm.LGBMRanker, br.XGBoostRanker: xgboost.XGBRanker}


def test_every_argument_of_the_library_is_taken_or_has_advice(ranker_class, data):
    own = inspect.signature(ranker_class.fit).parameters
    others = [name for name in inspect.signature(ESTIMATORS[ranker_class].fit).parameters if name not in own]
    assert others
    for name in others:
        with pytest.raises(TypeError, match=rf"{ranker_class.__name__}.fit has no argument '{name}': (give|set) "):
            ranker_class().fit(*data, **{name: None})


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("early_stopping_rounds", r"a parameter of the ranker, \w+Ranker\(early_stopping_rounds=\.\.\.\)"),
        ("xgb_model", "give init_model"),
        ("foo", "its help lists those"),
    ],
)
def test_other_arguments_are_errors(ranker_class, data, name, advice):
    with pytest.raises(TypeError, match=advice):
        ranker_class().fit(*data, **{name: 5})


def test_callbacks_are_no_parameter_of_a_ranker(ranker_class, data):
    with pytest.raises(ValueError, match="the parameter 'callbacks' cannot be used in a ranker: give callbacks to fit"):
        ranker_class(callbacks=[]).fit(*data)
