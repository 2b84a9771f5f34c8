"""Values of two rankers on the same queries."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def pair():
    """A function that draws skewed values of two rankers on n queries, the first one better by `shift`."""

    def draw(n, shift=0.3, seed=0):
        random = np.random.default_rng(seed)
        return random.exponential(size=n) + shift, random.exponential(size=n)

    return draw
