"""The pages of the guide: their code prints what stands below it, and the site is whole in a browser."""

import contextlib
import importlib.util
import io
import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

REPOSITORY = Path(__file__).parents[1]
GUIDE = REPOSITORY / "examples" / "guide"
# Code, and what it prints.
BLOCKS = re.compile(r"```python\n(.*?)```\n(?:```text\n(.*?)```\n)?", re.DOTALL)
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")
PAGES = [path for path in sorted(GUIDE.glob("*.md")) if "```python" in path.read_text(encoding="utf-8")]


def numbers(text):
    return np.array([float(number) for number in NUMBER.findall(text)])


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES])
def test_code_prints_what_stands_below_it(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code, expected in BLOCKS.findall(page.read_text(encoding="utf-8")):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(code, names)
        printed = output.getvalue()
        # Other versions of the libraries may train slightly different trees.
        assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split(), code
        np.testing.assert_allclose(numbers(printed), numbers(expected), rtol=0.1, atol=0.02, err_msg=code)
