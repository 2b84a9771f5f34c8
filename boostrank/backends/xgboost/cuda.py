"""Losses on the GPU that XGBoost trains on.

XGBoost 3.2 passes the scores to a custom objective as an array of NumPy, whatever the device, and
has no other public access to them than a new prediction. It takes gradients and Hessians as arrays
of any library that has ``__cuda_array_interface__``. So in each round the scores are copied from
the GPU and back to it, 4 bytes a document each way. Gradients and Hessians stay on the GPU, and so
does what left-out queries are measured with; another 4 bytes a document say which ones these are.
"""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from boostrank.backends.libraries import Parameters, import_backend
from boostrank.backends.xgboost.prediction import device_of
from boostrank.inputs.arrays import Floats
from boostrank.queries.threads import use_threads
from boostrank.surrogates.loss import BoostingFunction, BoundLoss

#: An array of CuPy, which is imported on use only.
DeviceArray = Any


class CudaLoss(BoundLoss):
    """A loss that computes gradient and Hessian on a GPU.

    Parameters
    ----------
    loss : BoundLoss
        One that takes arrays of a device.
    cupy : module
    ordinal : int
        Number of the GPU.
    """

    def __init__(self, loss: Any, cupy: ModuleType, ordinal: int) -> None:
        self.queries = loss.queries
        self._cupy = cupy
        self._device = cupy.cuda.Device(ordinal)
        with self._device:
            self._loss = loss.to_device(cupy.asarray)

    def boosting_function(self) -> BoostingFunction:
        """The method :meth:`gradient_hessian`."""
        return self.gradient_hessian

    def gradient_hessian(self, scores: Floats | DeviceArray) -> tuple[DeviceArray, DeviceArray]:
        """Gradient and Hessian as arrays of CuPy, float32, each of shape (n_documents,).

        The scores are an array of NumPy or CuPy.

        Raises
        ------
        FloatingPointError
            If a score, gradient or Hessian is not finite.
        TypeError
            If the surrogate combines arrays of NumPy with those of the GPU.
        """
        # Other threads have another current device.
        with self._device, use_threads(1):
            try:
                return self._loss.gradient_hessian(self._cupy.asarray(scores))
            except TypeError as error:
                raise TypeError(
                    f"{self._loss.surrogate!r} cannot compute with arrays of a GPU ({error}): set "
                    "takes_device_arrays = False in its class, or make its arrays like its "
                    "arguments"
                ) from error

    def memory(self) -> AbstractContextManager[Any]:
        """The GPU as the current device of this thread: other threads have another one."""
        return self._device

    def copy(self, values: Floats) -> DeviceArray:
        """Copy an array of NumPy to the GPU, as an array of CuPy."""
        with self._device:
            return self._cupy.asarray(values)


def on_device(loss: BoundLoss, parameters: Parameters) -> BoundLoss:
    """Return the loss on the GPU on which XGBoost trains with these parameters.

    It is returned unchanged, so that it is computed by the CPU, if XGBoost trains on the CPU, if
    CuPy is not installed or finds no GPU, or if the loss does not take arrays of a GPU. XGBoost
    then copies gradients and Hessians to its device.
    """
    if not loss.takes_device_arrays:
        return loss
    kind, _, ordinal = device_of_training(parameters.get("device")).partition(":")
    if kind != "cuda":
        return loss
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return loss
    if not cupy.cuda.is_available():
        return loss
    return CudaLoss(loss, cupy, int(ordinal))


def device_of_training(device: str | None) -> str:
    """The device that XGBoost uses for its parameter `device`: "cpu", or for instance "cuda:0".

    Without a GPU it uses the CPU, whatever the parameter.
    """
    if device in (None, "cpu"):
        return "cpu"
    xgb = import_backend("xgboost")
    # The training itself warns if there is no GPU.
    with xgb.config_context(verbosity=0):
        return device_of(xgb.Booster({"device": device, "num_feature": 1}))
