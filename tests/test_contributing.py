"""The recipes of CONTRIBUTING.md, done as they are printed in a copy of the repository."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[1]
CONTRIBUTING = (REPOSITORY / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = ("boostrank", "tests", "pyproject.toml")
#: The heading of each recipe, and an example of a docstring that its commands run.
RECIPES = {
    "Add a loss": "boostrank/surrogates/hyperbola.py::boostrank.surrogates.hyperbola.Hyperbola",
    "Add a measure": "boostrank/metrics/hit_rank.py::"
    "boostrank.metrics.hit_rank.AverageReciprocalHitRank",
}


class Step(NamedTuple):
    """A block of code of a recipe, its language, and the paragraph before it."""

    instruction: str
    language: str
    code: str


def read_recipe(heading, text=CONTRIBUTING):
    """The steps of the section of CONTRIBUTING.md with a heading."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"([^`\n][^\n]*(?:\n[^\n]+)*)\n+```(\w+)\n(.*?)```", section, re.DOTALL)
    assert len(blocks) == section.count("```") // 2
    return [Step(*block) for block in blocks]


def insert(path, table, lines):
    """Add lines to the end of the dict that a module assigns to the name `table`."""
    source = path.read_text(encoding="utf-8")
    ends = [
        node.end_lineno
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and isinstance(node.value, ast.Dict)
        and ast.unparse(node).startswith((f"{table} =", f"{table}:"))
    ]
    assert len(ends) == 1, f"{path.name} has no table {table}"
    unchanged = source.splitlines(keepends=True)
    unchanged.insert(ends[0] - 1, lines)
    path.write_text("".join(unchanged), encoding="utf-8")


def follow(step, folder):
    """Do a step of a recipe in a copy of the repository; returns the file that it changed."""
    if step.language != "python":
        return None
    if new := re.search(r"Write `(\S+)`", step.instruction):
        path = folder / new[1]
        assert not path.exists()
        path.write_text(step.code, encoding="utf-8")
        return path
    table = re.search(r"into the table `(\w+)` of \[.*?\]\((.*?)\)", step.instruction)
    assert table, f"not understood: {step.instruction}"
    path = (folder / ".github" / table[2]).resolve()
    insert(path, table[1], step.code)
    return path


def run(command, folder):
    """Run commands of a shell in a copy of the repository, whose package they import."""
    environment = {name: value for name, value in os.environ.items() if "PYTEST" not in name}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment["PYTHONPATH"] = str(folder)
    # The summary has the tests that passed.
    environment["PYTEST_ADDOPTS"] = "-rp"
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def copy_of_repository(tmp_path):
    for name in COPIED:
        source = REPOSITORY / name
        if source.is_dir():
            # With what Python has compiled: to compile it again takes longer than many tests.
            shutil.copytree(source, tmp_path / name)
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("heading", RECIPES)
def test_a_recipe_does_what_it_says(heading, copy_of_repository):
    steps = read_recipe(heading)
    changed = [path for step in steps if (path := follow(step, copy_of_repository))]
    assert len(changed) > 1
    files = " ".join(map(str, changed))
    commands = [step.code for step in steps if step.language == "bash"]
    assert commands
    output = ""
    for command in [f"ruff check {files}", f"ruff format --check {files}", *commands]:
        result = run(command, copy_of_repository)
        output += result.stdout
        assert result.returncode == 0, result.stdout + result.stderr
    assert f"PASSED {RECIPES[heading]}" in output
