"""Interrupts in every part of a training: each ends it by the interrupt itself, and by no other
error or crash."""

import signal
import sys

import numpy as np
import pytest
import xgboost
from scipy.sparse import csr_array

import boostrank as br
from boostrank.backends.xgboost import features

y, qid = np.tile([0, 1, 2, 1, 0], 12), np.repeat(np.arange(12), 5)
X = np.random.default_rng(0).normal(size=(60, 4)) + y[:, None]
# XGBoost reads the blocks of the features in this number of passes, or in one less with a cache.
N_PASSES, N_BLOCKS = 4, 3


pytestmark = pytest.mark.usefixtures("default_interrupts")


def interrupt(*ignored):
    signal.raise_signal(signal.SIGINT)


def act_at(monkeypatch, owner, name, call, act=interrupt):
    """Let a function act before it does its work, when it is called for the given time; returns its
    calls."""
    function, calls = getattr(owner, name), []

    def count(*arguments, **options):
        calls.append(arguments)
        if len(calls) == call:
            act()
        return function(*arguments, **options)

    monkeypatch.setattr(owner, name, count)
    return calls


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    file = tmp_path_factory.mktemp("features") / "X.npy"
    np.save(file, X)
    return file


@pytest.fixture
def in_blocks(monkeypatch):
    monkeypatch.setattr(br.FeatureFiles, "rows_per_block", len(y) // N_BLOCKS)
    monkeypatch.setattr(features, "BLOCK_ELEMENTS", X.size // N_BLOCKS)


@pytest.mark.usefixtures("in_blocks")
@pytest.mark.parametrize("act", [interrupt, sys.exit])
@pytest.mark.parametrize("call", [1, 5])
@pytest.mark.parametrize("kind", ["sparse", "files", "cache", "lightgbm"])
def test_reading_a_block_of_features_may_raise_an_interrupt(
    kind, call, act, monkeypatch, tmp_path, path
):
    given = (
        csr_array(X)
        if kind == "sparse"
        else br.FeatureFiles(path, cache=tmp_path if kind == "cache" else None)
    )
    owner, name = (features, "_dense") if kind == "sparse" else (br.FeatureFiles, "read")
    ranker = br.XGBoostRanker(n_estimators=2)
    if kind == "lightgbm":
        ranker, owner = br.LightGBMRanker(n_estimators=2), type(given._files[0])
    calls = act_at(monkeypatch, owner, name, call, act)
    with pytest.raises(KeyboardInterrupt if act is interrupt else SystemExit):
        ranker.fit(given, y, qid)
    # No block is read after it.
    assert len(calls) == call
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", [1, N_PASSES + 1])
@pytest.mark.parametrize("given", [X, csr_array(X)])
def test_a_signal_in_the_functions_that_xgboost_calls_back_waits(given, call, monkeypatch):
    # Each pass calls it for the block and at the end of the data.
    calls = act_at(monkeypatch, xgboost.DataIter, "_next_wrapper", call)
    with pytest.raises(KeyboardInterrupt):
        br.XGBoostRanker(n_estimators=2).fit(given, y, qid)
    # Without blocks that are read here, all passes end before.
    assert len(calls) >= (call if isinstance(given, csr_array) else 2 * N_PASSES)


@pytest.mark.parametrize("options", [{}, {"objective": None}])
def test_a_signal_ends_the_training_after_the_round(ranker_class, options):
    rounds = []

    def act(*_):
        interrupt()
        # The library, which calls this, is not interrupted.
        rounds.append(None)

    class Callback(xgboost.callback.TrainingCallback):
        after_iteration = act

    with pytest.raises(KeyboardInterrupt):
        ranker_class(**options).fit(
            X, y, qid, callbacks=[Callback() if ranker_class is br.XGBoostRanker else act]
        )
    assert len(rounds) == 1


@pytest.mark.parametrize("role", ["objective", "eval_metric"])
def test_a_function_of_the_user_is_interrupted_at_once(ranker_class, role):
    def interrupted(labels, scores):
        interrupt()
        pytest.fail("the function goes on")

    ranker = ranker_class(**({"objective": interrupted} if role == "objective" else {}))
    options = (
        {"eval_set": [(X, y, qid)], "eval_metric": interrupted} if role == "eval_metric" else {}
    )
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y, qid, **options)
