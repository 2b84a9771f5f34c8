"""Interrupts in every part of a training: each ends it by the interrupt itself, and by no other error or crash."""

import signal

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.sparse import csr_array

import boostrank as br
from boostrank.backends.xgboost import features
from boostrank.queries import compiled

y, qid = np.tile([0, 1, 2, 1, 0], 12), np.repeat(np.arange(12), 5)
X = np.random.default_rng(0).normal(size=(60, 4)) + y[:, None]
# XGBoost reads the blocks of the features in this number of passes, or in one less with a cache.
N_PASSES, N_BLOCKS = 4, 3
RANKERS = [br.LightGBMRanker, br.XGBoostRanker]


@pytest.fixture(autouse=True)
def _default_handler():
    # A shell that starts pytest in the background makes it ignore this signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def interrupt(*ignored):
    signal.raise_signal(signal.SIGINT)


def exit_program():
    raise SystemExit(3)


def act_at(monkeypatch, owner, name, call, act=interrupt):
    """Let a function act before it does its work, when it is called for the given time; returns its calls."""
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
@pytest.mark.parametrize("act", [interrupt, exit_program])
@pytest.mark.parametrize("call", [1, 5, 9, 12])
@pytest.mark.parametrize("kind", ["sparse", "files", "cache"])
def test_a_block_that_xgboost_reads_in_any_pass_may_raise_an_interrupt(kind, call, act, monkeypatch, tmp_path, path):
    given = csr_array(X) if kind == "sparse" else br.FeatureFiles(path, cache=tmp_path if kind == "cache" else None)
    owner, name = (features, "_dense") if kind == "sparse" else (br.FeatureFiles, "read")
    calls = act_at(monkeypatch, owner, name, call, act)
    if call > (N_PASSES - (kind == "cache")) * N_BLOCKS:
        br.XGBoostRanker(n_estimators=2).fit(given, y, qid)
        return
    with pytest.raises(KeyboardInterrupt if act is interrupt else SystemExit):
        br.XGBoostRanker(n_estimators=2).fit(given, y, qid)
    # No block is read after it.
    assert len(calls) == call
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("in_blocks")
@pytest.mark.parametrize("call", [1, N_BLOCKS, 2 * N_BLOCKS])
def test_a_block_that_lightgbm_reads_may_be_interrupted(call, monkeypatch, path):
    given = br.FeatureFiles(path)
    calls = act_at(monkeypatch, type(given._files[0]), "read", call)
    with pytest.raises(KeyboardInterrupt):
        br.LightGBMRanker(n_estimators=2).fit(given, y, qid)
    assert len(calls) == call


@pytest.mark.parametrize("call", [1, 2, N_PASSES + 1, 2 * N_PASSES])
@pytest.mark.parametrize("given", [X, pd.DataFrame(X, columns=list("abcd")), csr_array(X)])
def test_a_signal_in_the_functions_that_xgboost_calls_back_waits(given, call, monkeypatch):
    # Each pass calls it for the block and at the end of the data.
    calls = act_at(monkeypatch, xgboost.DataIter, "_next_wrapper", call)
    with pytest.raises(KeyboardInterrupt):
        br.XGBoostRanker(n_estimators=2).fit(given, y, qid)
    # Without blocks that are read here, all passes end before.
    assert len(calls) >= (call if isinstance(given, csr_array) else 2 * N_PASSES)


@pytest.mark.parametrize(
    ("ranker_class", "module", "name"),
    [(br.LightGBMRanker, lightgbm.basic, "_log_native"), (br.XGBoostRanker, xgboost.core, "py_str")],
)
def test_a_signal_in_the_output_of_a_library_ends_the_training(ranker_class, module, name, monkeypatch):
    calls = act_at(monkeypatch, module, name, 1)
    with xgboost.config_context(verbosity=3), pytest.raises(KeyboardInterrupt):
        ranker_class(verbosity=3).fit(X, y, qid)
    assert calls


def make_callback(ranker_class, function):
    class Callback(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            function()

    return Callback() if ranker_class is br.XGBoostRanker else lambda environment: function()


@pytest.mark.parametrize("ranker_class", RANKERS)
@pytest.mark.parametrize(
    "options", [{}, {"n_estimators": "auto"}, {"validation_fraction": 0.3}, {"objective": "native"}]
)
def test_a_signal_ends_the_training_after_the_round(ranker_class, options):
    rounds = []
    if "objective" in options:
        options = {"objective": "rank:ndcg" if ranker_class is br.XGBoostRanker else "lambdarank"}

    def act():
        interrupt()
        # The library, which calls this, is not interrupted.
        rounds.append(None)

    with pytest.raises(KeyboardInterrupt):
        ranker_class(**options).fit(X, y, qid, callbacks=[make_callback(ranker_class, act)])
    assert len(rounds) == 1


@pytest.mark.parametrize("ranker_class", RANKERS)
@pytest.mark.parametrize("role", ["objective", "eval_metric"])
def test_a_function_of_the_user_is_interrupted_at_once(ranker_class, role):
    reached = []

    def objective(labels, scores):
        interrupt()
        reached.append(None)
        return scores - labels, np.ones(len(labels))

    def metric(labels, scores):
        interrupt()
        reached.append(None)
        return "error", 0.0, False

    options = {"eval_set": [(X, y, qid)], "eval_metric": metric} if role == "eval_metric" else {}
    ranker = ranker_class(objective) if role == "objective" else ranker_class()
    with pytest.raises(KeyboardInterrupt):
        ranker.fit(X, y, qid, **options)
    assert reached == []


def test_an_interrupt_in_the_arguments_of_a_compiled_function_stays_one():
    class Interrupted(np.ndarray):
        @property
        def flags(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled.call("elementary", np.zeros(3).view(Interrupted), 3, np.zeros(3), np.zeros(3))
