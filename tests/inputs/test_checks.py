"""Flags of public functions: only True and False are valid, and messages name the argument."""

import numpy as np
import pytest

import boostrank as br
from boostrank import datasets, model_selection, preferences, theory

X, Y, QID = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([2.0, 1.0, 0.0, 1.0]), np.array([7, 7, 8, 8])
SCORES = np.array([0.3, 0.2, 0.1, 0.4])
FOLD = datasets.Fold("Fold1", train=None, validation=datasets.Dataset(X, Y, QID), test=None)
DATA = theory.RankedData(Y, SCORES, SCORES, QID)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("per_query", lambda flag: br.ndcg_score(Y, SCORES, QID, per_query=flag)),
        ("per_query", lambda flag: br.evaluate(Y, SCORES, QID, per_query=flag)),
        ("return_bayes", lambda flag: br.make_ranking(2, return_bayes=flag)),
        ("stratify", lambda flag: list(br.QueryKFold(2, stratify=flag).split(X, Y, QID))),
    ],
)
def test_flags_are_true_or_false(name, call):
    for flag in ("no", 1, None):
        with pytest.raises(ValueError, match=rf"^{name} must be True or False; got {flag!r}"):
            call(flag)


def test_flags_of_letor_files_are_true_or_false(tmp_path):
    path = tmp_path / "train.txt"
    br.write_letor(path, X, Y, QID)
    before = path.read_text()
    for call in (
        lambda: br.read_letor(path, zero_based="no"),
        lambda: br.write_letor(path, X, Y, QID, zero_based="no"),
        lambda: br.read_letor_folds(tmp_path, zero_based="no"),
    ):
        with pytest.raises(ValueError, match=r"^zero_based must be True or False; got 'no'"):
            call()
    assert path.read_text() == before
    assert len(br.read_letor(path, comments=np.True_)) == 4


@pytest.mark.parametrize(
    ("call", "fault"),
    [
        (
            lambda: model_selection.with_validation(FOLD, fraction=5),
            "fraction must be a finite number above 0 and below",
        ),
        (lambda: br.DCG(gain="nonsense"), "gain must be 'exp2', 'linear', a table"),
        (lambda: preferences.from_pairs([(0, 1)], QID), "pairs must be a DataFrame of pandas or polars"),
        (
            lambda: theory.distinguishability(DATA, [10, 2.5]),
            r"n must be lengths of lists, integers of at least 1 .* got \[10, 2.5",
        ),
        (
            lambda: theory.distinguishability(DATA, 0),
            "n must be lengths of lists, integers of at least 1 and below .* got 0",
        ),
    ],
)
def test_invalid_settings_are_named(call, fault):
    with pytest.raises((ValueError, TypeError), match=f"^{fault}"):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda state: br.make_ranking(3, random_state=state),
        lambda state: br.split_queries(QID, 0.5, random_state=state),
        lambda state: list(br.QueryKFold(2, shuffle=True, stratify=True, random_state=state).split(X, Y, QID)),
        lambda state: br.permutation_test(np.arange(20.0), np.zeros(20), random_state=state),
        lambda state: br.simulate_clicks(Y, SCORES, QID, random_state=state),
        lambda state: theory.LabelDistribution.random(2, random_state=state),
        lambda state: br.BaggedRanker(br.LightGBMRanker(n_estimators=1), random_state=state).fit(X, Y, QID),
    ],
)
def test_random_states_are_named(call):
    for state in ("a", -1, 1.5, True):
        with pytest.raises(ValueError, match=rf"^random_state must be None, an integer .*; got {state!r}$"):
            call(state)
