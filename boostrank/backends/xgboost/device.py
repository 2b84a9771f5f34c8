"""Gradients on the GPU that XGBoost trains on, computed by CuPy.

XGBoost 3.2 passes the scores to a custom objective as an array of NumPy, whatever the device, and has no other public
access to them than a new prediction. It takes gradients and Hessians as arrays of any library that has
``__cuda_array_interface__``. So in each round the scores are copied from the GPU and back to it, 4 bytes a document
each way, and gradients and Hessians stay on the GPU.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from boostrank.backends.base import BoostingObjective, import_backend
from boostrank.backends.xgboost.prediction import device_of
from boostrank.core.threads import use_threads
from boostrank.objectives.device_objective import copy_to_device
from boostrank.objectives.objective import Objective


class CudaObjective:
    """An objective that takes scores in the memory of the host, and computes gradient and Hessian on a GPU.

    Parameters
    ----------
    objective : Objective
        Of a surrogate that `takes_device_arrays`.
    cupy : module
    ordinal : int
        Number of the GPU.
    """

    def __init__(self, objective: Objective, cupy: Any, ordinal: int) -> None:
        self.queries = objective.queries
        self._cupy, self._device = cupy, cupy.cuda.Device(ordinal)
        with self._device:
            self._objective = copy_to_device(objective, cupy.asarray)

    def gradient_hessian(self, scores: NDArray[Any]) -> tuple[Any, Any]:
        """Gradient and Hessian as arrays of CuPy, float32, each of shape (n_documents,).

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
                return self._objective.gradient_hessian(self._cupy.asarray(scores))
            except TypeError as error:
                raise TypeError(
                    f"{self._objective.surrogate!r} cannot compute with arrays of a GPU ({error}): set "
                    "takes_device_arrays = False in its class, or make its arrays like its arguments"
                ) from error


def on_device(objective: BoostingObjective, parameters: Mapping[str, Any]) -> BoostingObjective:
    """Return the objective on the GPU on which XGBoost trains with these parameters.

    It is returned unchanged, so that it is computed by the CPU, if XGBoost trains on the CPU, if CuPy is not installed
    or finds no GPU, or if the loss does not take arrays of a GPU. XGBoost then copies gradients and Hessians to its
    device.
    """
    if not (isinstance(objective, Objective) and objective.surrogate.takes_device_arrays):
        return objective
    kind, _, ordinal = device_of_training(parameters.get("device")).partition(":")
    if kind != "cuda":
        return objective
    try:
        cupy: Any = importlib.import_module("cupy")
    except ImportError:
        return objective
    return CudaObjective(objective, cupy, int(ordinal)) if cupy.cuda.is_available() else objective


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
