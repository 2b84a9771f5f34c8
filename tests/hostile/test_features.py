"""Hostile features at every entry point that takes them."""

import functools

import numpy as np
import pandas as pd
import pytest
from cases import for_each

import boostrank as br
from hostile.entry_points import NATIVE, RANKERS, tiny
from hostile.features import FEATURES, N_ROWS, X
from hostile.outcomes import Fault, check_fault, named, rotated_table

QID = np.arange(N_ROWS) % 5
Y = np.random.default_rng(1).integers(0, 4, N_ROWS)
NAMED = r"\bX\b|[Ff]eature|[Cc]olumn|[Aa]rray|[Rr]eshape|\b[bc]\b|Complex data|convert string to float"


def forms(given):
    """Whether the columns have names, which fit and predict must share."""
    return hasattr(given, "columns") or hasattr(given, "column_names")


def fit(ranker_class, given, meaning, objective="softmax"):
    """Fit on the given form, and predict with both where names allow it."""
    ranker = tiny(ranker_class, objective=objective).fit(given, Y, QID)
    others = [given] if meaning is None or forms(given) else [given, meaning]
    return np.stack([ranker.predict(other) for other in others])


def dense_for(given, meaning):
    """Features to train on before the given ones are used, with the same names."""
    if meaning is None:
        return X
    return pd.DataFrame(meaning, columns=["a", "b", "c"]) if forms(given) else meaning


def predict(ranker_class, given, meaning):
    return tiny(ranker_class).fit(dense_for(given, meaning), Y, QID).predict(given)[None]


def validate(ranker_class, given, meaning):
    ranker = tiny(ranker_class).fit(dense_for(given, meaning), Y, QID, eval_set=[(given, Y, QID)])
    return np.array([next(iter(ranker.evals_result_.values()))["ndcg@3"]])


CALLS = {
    f"{name}.{part}": functools.partial(function, ranker_class)
    for name, ranker_class in RANKERS.items()
    for part, function in {
        "fit": fit,
        "predict": predict,
        "eval_set": validate,
        "fit-native": lambda ranker_class, given, meaning, name=name: fit(ranker_class, given, meaning, NATIVE[name]),
    }.items()
}
#: Faults that need the rows of the other arguments, or that a frame of other names hides.
NOT_AT_PREDICT = ("too-short", "too-long", "no-rows")
CORE = ["XGBoostRanker.fit"]
PAIRS = [
    (features, call)
    for features, call in rotated_table(FEATURES, CORE, [call for call in CALLS if call not in CORE], 2)
    if not (features in NOT_AT_PREDICT and "predict" in call)
    # LightGBM takes infinity.
    and not (features.startswith("infinity") and call.startswith("LightGBM"))
]


@functools.cache
def expected(call, features):
    meaning = FEATURES[features][1]
    return CALLS[call](meaning, meaning)


@pytest.mark.slow
@for_each(("features", "call"), named(PAIRS))
@pytest.mark.filterwarnings("ignore:X (does not have|has) (valid )?feature names:UserWarning")
def test_features(features, call):
    given, meaning = FEATURES[features]
    if isinstance(meaning, Fault):
        check_fault(lambda: CALLS[call](given, None), NAMED, meaning.pattern)
    else:
        values = CALLS[call](given, meaning)
        np.testing.assert_allclose(values, expected(call, features)[: len(values)], rtol=1e-6, atol=1e-7)


def test_values_beyond_float32():
    huge = np.where(X == 2.0, 1e300, X)
    assert np.isfinite(tiny(br.LightGBMRanker).fit(huge, Y, QID).predict(huge)).all()
    with pytest.raises(ValueError, match="too large"):
        tiny(br.XGBoostRanker).fit(huge, Y, QID)
