"""Public names that are imported when they are first used, and what their first use imports."""

import importlib
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import boostrank
from boostrank.metrics.names import MEASURES

ROOT = Path(boostrank.__file__).parent
LAZY = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.rglob("__init__.pyi"))


@pytest.mark.parametrize("path", LAZY)
def test_names_of_stubs_exist(path):
    package = importlib.import_module(".".join(["boostrank", *Path(path).parts]))
    assert package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="typo"):
        package.typo  # noqa: B018


def test_star_import_and_pickles_of_lazy_names():
    names = {}
    exec("from boostrank.metrics import *", names)
    assert set(importlib.import_module("boostrank.metrics").__all__) <= set(names)
    assert pickle.loads(pickle.dumps(names["ndcg_score"])) is names["ndcg_score"]


def test_measures_are_listed_under_their_own_names():
    assert {name: measure.name for name, measure in MEASURES.items()} == {
        name: name for name in MEASURES
    }
    assert len(MEASURES) == len(list(MEASURES))
    assert "typo" not in MEASURES
    with pytest.raises(KeyError):
        MEASURES["typo"]


# In the sequence of the first uses in one process: the largest number of modules of boostrank that
# are imported then, and modules that the name and those before it do not need. A module is about
# half a millisecond.
LIBRARIES = ["sklearn", "scipy.special", "scipy.sparse"]
FIRST_USES = {
    "import boostrank": (0, ["queries", "inputs"]),
    "boostrank.ndcg_score([1, 0], [0.5, 0.2], [1, 1])": (
        34,
        [
            *LIBRARIES,
            "objectives",
            "surrogates",
            "metrics.registry",
            "runs.reconciliation",
            "clicks.simulation",
        ],
    ),
    "boostrank.evaluate([1, 0], [0.5, 0.2], [1, 1], ['ndcg@10', 'map'])": (
        40,
        [*LIBRARIES, "objectives", "runs", "clicks", "preferences", "significance"],
    ),
    "boostrank.LightGBMRanker()": (
        90,
        [
            *("backends.xgboost", "rankers.bagging"),
            *("clicks.simulation", "clicks.propensities", "datasets.letor_reader", "runs.novelty"),
            *("model_selection.cross_validation", "preferences.tables", "significance", "theory"),
        ],
    ),
    "boostrank.XGBoostRanker()": (
        98,
        ["rankers.bagging", "clicks.simulation", "datasets.letor_reader"],
    ),
    "boostrank.compare": (108, ["cli", "displays", "theory", "runs.novelty", "clicks.simulation"]),
    "boostrank.displays.NDCGCurveDisplay": (112, ["cli", "dask"]),
    "from boostrank import *; surrogates.Power, model_selection.QueryKFold": (160, ["cli", "dask"]),
}
#: Libraries that none of these uses needs.
HEAVY = {
    "lightgbm",
    "xgboost",
    "catboost",
    "cupy",
    "ranx",
    "pytrec_eval",
    "matplotlib",
    "dask",
    "typer",
    "onnxmltools",
}
HEAVY |= {"polars", "pyspark", "ray"}


@pytest.mark.slow
def test_first_uses_import_only_what_they_need():
    code = (
        "import json, sys\n"
        "for statement in json.loads(sys.argv[1]):\n"
        "    exec(statement)\n"
        "    print(json.dumps(list(sys.modules)))\n"
    )
    command = [sys.executable, "-c", code, json.dumps(list(FIRST_USES))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for (statement, (most, unneeded)), line in zip(
        FIRST_USES.items(), done.stdout.splitlines(), strict=True
    ):
        imported = set(json.loads(line))
        ours = {
            name.removeprefix("boostrank.") for name in imported if name.startswith("boostrank.")
        }
        assert not (ours | imported) & set(unneeded), statement
        assert len(ours) <= most, (statement, len(ours))
        assert not imported & (HEAVY if ours else {*HEAVY, "numpy", "sklearn"}), statement


# Modules that each command and those before it, in one process, do not need. pandas alone
# takes a third of a second, scipy.stats and scikit-learn more than one.
RANKERS = [*LIBRARIES, "joblib", "boostrank.rankers.base", "boostrank.backends.records"]
EVALUATE = [*RANKERS, "boostrank.surrogates", "boostrank.theory", "boostrank.cli.compare"]
COMMANDS = {
    "--version": [*RANKERS, "pandas"],
    "--help": [*RANKERS, "pandas", "boostrank.cli.models", "boostrank.metrics.base"],
    "evaluate --help": [*EVALUATE, "boostrank.runs.evaluation"],
    "evaluate DATA SCORES": [*EVALUATE, "boostrank.runs.evaluation"],
    "evaluate --qrels Q --run R": EVALUATE,
    "check --help": [*RANKERS, "boostrank.theory", "boostrank.cli.compare"],
    "fit --help": [
        "boostrank.theory",
        "boostrank.cli.compare",
        "boostrank.serving",
        "boostrank.clicks.log",
    ],
    "predict --help": ["boostrank.theory", "boostrank.cli.compare", "boostrank.serving"],
}


@pytest.mark.slow
def test_commands_import_only_what_they_need(tmp_path):
    (tmp_path / "Q").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "R").write_text("1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n")
    (tmp_path / "DATA").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    (tmp_path / "SCORES").write_text("2.5\n1.5\n")
    code = (
        "import json, sys\n"
        "from boostrank.cli import main\n"
        "for command in json.loads(sys.argv[1]):\n"
        "    sys.argv[1:] = command.split()\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as ended:\n"
        "        assert not ended.code, command\n"
        "    print('MODULES' + json.dumps(list(sys.modules)))\n"
    )
    arguments = [sys.executable, "-c", code, json.dumps(list(COMMANDS))]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, cwd=tmp_path)
    found = [
        line.removeprefix("MODULES")
        for line in done.stdout.splitlines()
        if line.startswith("MODULES")
    ]
    for (command, unneeded), modules in zip(COMMANDS.items(), found, strict=True):
        assert not set(json.loads(modules)) & ({*unneeded} | HEAVY - {"typer"}), command
