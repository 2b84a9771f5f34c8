"""CuPy and XGBoost on a GPU: gradients and models are those of the CPU. It has not been run yet, for want of a GPU."""

import sys

import numpy as np
import pytest
from bound_losses import bind_loss

import boostrank as br
from boostrank.backends.xgboost.training import CudaObjective, on_device
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
if not cupy.cuda.is_available():
    pytest.skip("CuPy finds no GPU", allow_module_level=True)
TAKING = [name for name, surrogate in SURROGATES.items() if surrogate.takes_device_arrays]
SIZES = [4, 1, 300, 7]


@pytest.mark.parametrize("weights", [None, [1.0, 0.5, 2.0, 1.0]], ids=["equal weights", "weights"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 40.0])
@pytest.mark.parametrize("loss", TAKING)
def test_gradients_are_those_of_the_cpu_and_stay_on_the_gpu(loss, scale, dtype, weights):
    random = np.random.default_rng(0)
    on_host = bind_loss(loss, random.integers(0, 5, sum(SIZES)), Queries.from_sizes(SIZES), weights=weights)
    on_gpu = on_device(on_host, {"device": "cuda"})
    assert isinstance(on_gpu, CudaObjective)
    scores = (random.normal(size=sum(SIZES)) * scale).astype(dtype)
    for result, expected in zip(on_gpu.gradient_hessian(scores), on_host.gradient_hessian(scores), strict=True):
        assert isinstance(result, cupy.ndarray)
        assert (result.dtype, result.shape) == (np.float32, expected.shape)
        np.testing.assert_allclose(result.get(), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("loss", [*TAKING, "consistent-lambdarank"])
def test_models_are_the_same_with_and_without_cupy(loss, monkeypatch):
    X, y, qid = br.make_ranking(n_queries=50, random_state=0)

    def scores():
        return br.XGBoostRanker(loss, n_estimators=5, device="cuda", random_state=0).fit(X, y, qid).predict(X)

    with_cupy = scores()
    monkeypatch.setitem(sys.modules, "cupy", None)
    np.testing.assert_allclose(with_cupy, scores(), rtol=1e-4, atol=1e-5)
    assert np.ptp(with_cupy) > 0
