"""The objective of a surrogate on a GPU."""

from __future__ import annotations

from copy import copy

from boostrank.core.device_segments import DeviceSegments, Move
from boostrank.core.segments import Block
from boostrank.objectives.objective import Objective

# An array of float64 of this many rows takes 128 MB. Fewer rows would not keep a GPU busy, and more would take the
# memory that XGBoost needs.
DEVICE_BLOCK_ROWS = 2**24


def copy_to_device(objective: Objective, move: Move) -> Objective:
    """Copy an objective to a device, where it computes gradients and Hessians of scores that are there.

    Its `loss` still needs scores and an objective of the host.

    Parameters
    ----------
    objective : Objective
        Of a surrogate that `takes_device_arrays`.
    move : callable
        Copies an array of NumPy to the device.
    """
    copied = copy(objective)
    copied.form = None
    copied.targets = move(objective.targets)
    copied.weights = None if objective.weights is None else move(objective.weights)
    copied.blocks = [
        Block(queries, documents, DeviceSegments.copy_of(part, move))
        for queries, documents, part in objective.queries.blocks(DEVICE_BLOCK_ROWS)
    ]
    return copied
