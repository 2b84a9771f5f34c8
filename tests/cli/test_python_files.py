"""Surrogates of a user's own file: loaded by class or instance, and errors that say what is wrong with the file."""

import re

import pytest

from boostrank.cli.check import _is_surrogate
from boostrank.cli.options import load_object

OWN = '''
"""A module as users write it: a dataclass, annotations as strings, an import of the file beside it."""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from boostrank.surrogates import Cosine, Profiled, Separable, Surrogate
from file_beside import LENGTH


@dataclass(frozen=True)
class Hyperbola(Separable):
    length: float = LENGTH
    target_bounds = (-1.0, 1.0)

    def potential(self, scores):
        return np.hypot(self.length, scores)

    def slope_curvature(self, scores):
        norm = np.hypot(self.length, scores)
        return scores / norm, self.length**2 * norm**-3


class Unfinished(Surrogate):
    pass


wide = Hyperbola(2.0)
centered = Profiled(wide)
number = 3

if __name__ == "__main__":
    raise RuntimeError("a script")
'''


def load_surrogate(path, name):
    return load_object(f"{path}:{name}", "a boostrank.surrogates.Surrogate", _is_surrogate)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.py").write_text(OWN)
    (folder / "file_beside.py").write_text("LENGTH = 1.0")
    return folder / "own.py"


def test_check_of_a_file(run, path):
    out = run("check", f"{path}:Hyperbola", "--distributions", 40)
    assert out.startswith("Hyperbola(length=1.0) with targets 'dcg'\nno counterexample")
    assert repr(load_surrogate(path, "wide")) == "Hyperbola(length=2.0)"
    assert "not consistent" in run("check", f"{path}:Cosine/none", "--distributions", 40, code=1)


BROKEN = """
import numpy as np
from boostrank.surrogates import Separable


class Loss(Separable):
    def potential(self, scores):
        return POTENTIAL

    def slope_curvature(self, scores):
        return -np.ones_like(scores), np.zeros_like(scores)
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-scores", "could be minimized: the loss may be unbounded below"),
        ("{} + 1", "broken.py, line 8: TypeError: unsupported operand"),
        ("exec('raise NotImplementedError')", "broken.py, line 8: NotImplementedError: NotImplementedError"),
    ],
)
def test_a_failed_check_does_not_look_like_a_counterexample(tmp_path, run, text, message):
    (tmp_path / "broken.py").write_text(BROKEN.replace("POTENTIAL", text))
    error = run("check", f"{tmp_path}/broken.py:Loss", "--distributions", 10, code=2)
    assert message in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Absent", "own.py has no 'Absent'; it has .*Hyperbola, Unfinished, wide, centered that may be"),
        ("number", "number must be a boostrank.surrogates.Surrogate; got int"),
        ("Profiled", "Profiled() needs arguments (.*): name an instance of the class"),
    ],
)
def test_what_is_no_surrogate_is_named(path, name, message):
    pattern = re.escape(message).replace(r"\.\*", ".*")
    with pytest.raises(ValueError, match=pattern):
        load_surrogate(path, name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ny = x / 0\n", r"bad\.py, line 2: ZeroDivisionError: division by zero"),
        ("x = (\n", r"bad\.py: SyntaxError: .*line 1"),
        ("x = 1\n", "has no 'Mine'; it has nothing that may be"),
    ],
)
def test_errors_in_a_file_name_its_line(tmp_path, text, message):
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_surrogate(tmp_path / "bad.py", "Mine")
