"""XGBoost with device="cuda": which objectives a GPU computes, and that the models are those of the
CPU.

Without a GPU, XGBoost trains on the CPU after a warning, and reads arrays with
``__cuda_array_interface__`` from the memory of the host. So the arrays of `device_arrays` in place
of those of CuPy reach the trees."""

import shutil
import sys
import warnings
from types import SimpleNamespace

import device_arrays
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from bound_losses import bind_loss
from cases import for_each
from device_arrays import CUPY, Device, DeviceArray, copies_to_device, copies_to_host
from scipy.sparse import csr_matrix

import boostrank as br
from boostrank.backends.xgboost import backend as xgboost
from boostrank.backends.xgboost import cuda
from boostrank.backends.xgboost.cuda import CudaLoss, device_of_training, on_device
from boostrank.queries.queries import Queries
from boostrank.queries.threads import use_threads
from boostrank.surrogates import SURROGATES, Squared

pytestmark = pytest.mark.slow

NO_GPU = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
needs_no_gpu = pytest.mark.skipif(
    shutil.which("nvidia-smi") is not None,
    reason="on a GPU, XGBoost does not take arrays of the host as CUDA arrays",
)
TAKING = [name for name, surrogate in SURROGATES.items() if surrogate.takes_device_arrays]


@pytest.fixture
def gpu(monkeypatch):
    """XGBoost and CuPy say that they use a GPU. Without one, XGBoost still trains on the CPU."""
    devices = {None: "cpu", "cpu": "cpu", "cuda": "cuda:0", "cuda:1": "cuda:1", "sycl": "sycl:0"}
    monkeypatch.setattr(cuda, "device_of_training", devices.__getitem__)
    monkeypatch.setitem(sys.modules, "cupy", CUPY)


@pytest.fixture(scope="module")
def data():
    return br.make_ranking(n_queries=30, random_state=0)


def objective(loss="softmax", **settings):
    random = np.random.default_rng(0)
    return bind_loss(loss, random.integers(0, 5, 9), Queries.from_sizes([4, 1, 4]), **settings)


def fit(data, loss, device, **settings):
    """A fitted ranker; XGBoost warns that it finds no GPU."""
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "(?s).*(No visible GPU is found|Device is changed from GPU to CPU)"
        )
        X, y, qid = data
        return br.XGBoostRanker(
            loss, n_estimators=5, device=device, random_state=0, **settings
        ).fit(X, y, qid)


@pytest.mark.usefixtures("gpu")
@for_each(
    ("device", "loss", "module"),
    [
        *((device, "softmax", CUPY) for device in (None, "cpu", "sycl")),
        *(("cuda", loss, CUPY) for loss in ("consistent-lambdarank", "edge-logistic")),
        *(("cuda", "softmax", module) for module in (None, NO_GPU)),
    ],
)
def test_the_cpu_computes_what_no_gpu_can(device, loss, module, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", module)
    on_host = objective(loss)
    assert on_device(on_host, {} if device is None else {"device": device}) is on_host


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("device", "ordinal"), [("cuda", 0), ("cuda:1", 1)])
@for_each("weighted", ["queries", "documents"])
@for_each("dtype", [np.float32, np.float64])
@for_each("loss", TAKING)
def test_gradients_are_those_of_the_cpu_and_stay_on_the_gpu(
    loss, dtype, weighted, device, ordinal, monkeypatch
):
    # Several threads would work on the blocks of this small data set.
    monkeypatch.setattr("boostrank.queries.threads.MIN_SECONDS", 0.0)
    random = np.random.default_rng(1)
    weights = random.integers(0, 3, 9) + 0.5
    if weighted == "queries" or not (
        SURROGATES[loss].separable or SURROGATES[loss].linear_in_targets
    ):
        weights = weights[:3]
    on_host, scores = objective(loss, weights=weights), random.normal(size=9).astype(dtype)
    on_gpu = on_device(on_host, {"device": device})
    assert isinstance(on_gpu, CudaLoss)
    copies_to_device.clear()
    copies_to_host.clear()
    with use_threads(4):
        results = on_gpu.gradient_hessian(scores)
    assert copies_to_device == [9]
    assert set(copies_to_host) == {1}
    assert Device.current() == 0
    for result, expected in zip(results, on_host.gradient_hessian(scores), strict=True):
        assert isinstance(result, DeviceArray)
        assert (result.dtype, result.shape, result.device_id) == (np.float32, (9,), ordinal)
        with Device(ordinal):
            np.testing.assert_allclose(
                device_arrays.to_host(result), expected, rtol=1e-5, atol=1e-6
            )


@pytest.mark.usefixtures("gpu")
def test_a_surrogate_that_declares_too_much_is_named():
    class OnHost(Squared):
        def slope_curvature(self, scores):
            return scores, np.ones(len(scores))

    on_gpu, advice = (
        on_device(objective(OnHost()), {"device": "cuda"}),
        "set takes_device_arrays = False in its class",
    )
    with pytest.raises(TypeError, match=rf"OnHost\(\) cannot compute with .*: {advice}"):
        on_gpu.gradient_hessian(np.zeros(9, np.float32))


@needs_no_gpu
@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_models_are_those_of_the_cpu(loss, data):
    copies_to_device.clear()
    on_gpu, on_cpu = fit(data, loss, "cuda"), fit(data, loss, "cpu")
    assert copies_to_device.count(len(data.y)) >= 5
    np.testing.assert_allclose(on_gpu.predict(data.X), on_cpu.predict(data.X), rtol=1e-4, atol=1e-5)
    assert np.ptp(on_gpu.predict(data.X)) > 0


@pytest.mark.parametrize(
    ("kind", "rounds"), [(np.asarray, range(1, 4)), (csr_matrix, None), (pd.DataFrame, None)]
)
def test_predictions_of_a_model_on_a_gpu_do_not_use_what_xgboost_warns_of(
    kind, rounds, data, monkeypatch
):
    X = kind(np.where(data.X > 0.5, 0.0, data.X))
    booster = (
        br.XGBoostRanker("softmax", n_estimators=5, missing=0.0).fit(X, data.y, data.qid).booster_
    )
    expected = xgboost.predict(booster, X, rounds)
    monkeypatch.setattr("boostrank.backends.xgboost.prediction.device_of", lambda _: "cuda:0")
    # XGBoost would warn that the features are not on the GPU.
    monkeypatch.setattr(type(booster), "inplace_predict", None)
    np.testing.assert_array_equal(xgboost.predict(booster.copy(), X, rounds), expected)


@needs_no_gpu
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "gpu"])
def test_without_a_gpu_xgboost_warns_and_trains_on_the_cpu(device, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", CUPY)
    assert device_of_training(device) == "cpu"
    X, y, qid = data
    # A training with another verbosity before this one may have left it to XGBoost.
    with xgb.config_context(verbosity=1), pytest.warns(UserWarning, match="GPU") as caught:
        ranker = br.XGBoostRanker("softmax", n_estimators=5, device=device, random_state=0).fit(
            X, y, qid
        )
    assert all("xgboost/src/context.cc" in str(warning.message) for warning in caught)
    np.testing.assert_array_equal(ranker.predict(X), fit(data, "softmax", "cpu").predict(X))


# On a GPU


@pytest.fixture
def cupy():
    module = pytest.importorskip("cupy", reason="CuPy is not installed")
    if not module.cuda.is_available():
        pytest.skip("CuPy finds no GPU")
    return module


@for_each("weights", [None, [1.0, 0.5, 2.0, 1.0]])
@for_each("dtype", [np.float32, np.float64])
@for_each("scale", [1.0, 40.0])
@for_each("loss", TAKING)
def test_gradients_of_cupy_are_those_of_the_cpu(cupy, loss, scale, dtype, weights):
    random, sizes = np.random.default_rng(0), [4, 1, 300, 7]
    on_host = bind_loss(
        loss, random.integers(0, 5, sum(sizes)), Queries.from_sizes(sizes), weights=weights
    )
    on_gpu = on_device(on_host, {"device": "cuda"})
    assert isinstance(on_gpu, CudaLoss)
    scores = (random.normal(size=sum(sizes)) * scale).astype(dtype)
    for result, expected in zip(
        on_gpu.gradient_hessian(scores), on_host.gradient_hessian(scores), strict=True
    ):
        assert isinstance(result, cupy.ndarray)
        assert (result.dtype, result.shape) == (np.float32, expected.shape)
        np.testing.assert_allclose(
            result.get(), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max()
        )


@for_each("loss", [*TAKING, "consistent-lambdarank"])
def test_models_are_the_same_with_and_without_cupy(cupy, loss, monkeypatch):
    X, y, qid = br.make_ranking(n_queries=50, random_state=0)

    def scores():
        return (
            br.XGBoostRanker(loss, n_estimators=5, device="cuda", random_state=0)
            .fit(X, y, qid)
            .predict(X)
        )

    with_cupy = scores()
    with monkeypatch.context() as context:
        context.setitem(sys.modules, "cupy", None)
        np.testing.assert_allclose(with_cupy, scores(), rtol=1e-4, atol=1e-5)
    assert np.ptp(with_cupy) > 0
