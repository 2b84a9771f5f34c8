"""The package as a whole: its import, its layers, its names."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import boostrank as br

PACKAGE = Path(br.__file__).parent
FLOORS = [
    {"segments", "frames", "files"},
    {"queries"},
    {"dcg", "weights", "significance", "margins"},
    {"targets"},
    {"surrogates", "datasets"},
    {"preferences"},
    {"metrics"},
    {"objective", "theory", "model_selection"},
    {"backends"},
    {"rankers", "comparison"},
    {"displays", "dask"},
    {"cli"},
]


def test_import_is_light():
    heavy = ["lightgbm", "xgboost", "matplotlib", "dask", "typer", "onnxmltools", "polars"]
    code = f"import sys, boostrank; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_backend_is_an_error_that_says_what_to_install(monkeypatch):
    X, y, qid = br.make_ranking(n_queries=5, random_state=0)
    for ranker, name in ((br.LightGBMRanker(), "lightgbm"), (br.XGBoostRanker(), "xgboost")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"pip install {name}"):
            ranker.fit(X, y, qid)


def test_imports_run_downward():
    floor = {room: height for height, rooms in enumerate(FLOORS) for room in rooms}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if room in ("__init__", "__main__"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("boostrank"):
                names = [node.module.split(".")[1]] if "." in node.module else [alias.name for alias in node.names]
                for other in names:
                    assert other == room or floor[other] < floor[room], f"{path.name} imports {other}"


def test_public_names_exist_and_are_documented():
    for name in br.__all__:
        assert getattr(br, name).__doc__, name


@pytest.mark.parametrize("readme", ["README.md", "benchmarks/README.md"])
def test_links_of_readmes_lead_to_files(readme):
    path = Path(__file__).parents[1] / readme
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert any(link.endswith(".png") for link in links)
