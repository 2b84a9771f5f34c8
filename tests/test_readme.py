"""The code of README.md runs as printed, in one session."""

import re
from pathlib import Path

import pytest
import sklearn
from letor_oracle import write_letor

import boostrank as br
from boostrank.surrogates import SURROGATES

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_each_command_stands_below_the_installation_that_it_needs():
    shell = re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    assert [block.splitlines()[0] for block in shell] == ["pip install -e .", 'pip install -e ".[test]"']


@pytest.mark.filterwarnings("error")
def test_code_runs_as_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_letor(tmp_path / "train.txt", *br.make_ranking(n_queries=100, random_state=0))
    names = {}
    with sklearn.config_context():
        exec("".join(BLOCKS), names)
    printed = capsys.readouterr().out
    # The first block prints what is below it.
    assert printed.startswith("".join(re.findall(r"^# (.*\n)", BLOCKS[0], re.MULTILINE)[-2:]))
    assert "'ndcg@10'" in printed
    assert Path("model.txt").read_text(encoding="utf-8").startswith("tree\n")
    assert not sklearn.get_config()["enable_metadata_routing"]


def test_losses_that_are_named_exist():
    section = README.split("## Where to start")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z-]+)`", section)) - {"lambdarank", "rank"}
    assert named - {"edge-logistic"} <= {*SURROGATES, "ensemble"}


def test_arguments_of_the_migration_table_are_accepted():
    data = br.make_ranking(n_queries=20, noise=0.0, random_state=0)
    for argument in ("gain=[0, 1, 3, 7]", 'gain="linear"', 'objective="lambdarank"', "validation_fraction=0.2"):
        assert argument in README
        assert eval(f"br.LightGBMRanker(n_estimators=2, {argument})").fit(*data).booster_.num_trees() == 2
