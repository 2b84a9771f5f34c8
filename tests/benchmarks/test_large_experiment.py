"""The large experiment: its files, equal searches, trainings with limits, and tests by training."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import boostrank as br
from boostrank.significance import corrected_resampled_t_test

with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    parts = ("sets", "methods", "training", "experiment", "report")
    sets, methods, training, experiment, report = (
        importlib.import_module(f"large_{part}") for part in parts
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic")
    sets.make_synthetic(folder, scale=0.005)
    return folder


@pytest.mark.slow
def test_synthetic_files_have_the_formats_of_the_real_ones(files, tmp_path):
    for name, about in sets.KNOWN.items():
        path = files / name
        if about.has_large_values:
            path = experiment.without_large_values(name, path, tmp_path / "runs")
        split = sets.read_split(name, path, 0, with_test=True)
        assert np.isnan(split.train.X).any() == about.has_large_values
        for data in split:
            assert data.X.shape == (len(data.y), about.n_features)
            assert data.X.dtype == np.float32
        ids = [set(data.qid) for data in split]
        assert len(set.union(*ids)) == sum(map(len, ids))
    yahoo = sets.read_split("Yahoo-set1", files / "Yahoo-set1", 0, with_test=False)
    assert yahoo.test is None
    assert not yahoo.train.X[:, 519:].any()
    line = (files / "Yahoo-set1" / "set1.train.txt").read_text().splitlines()[0].split()
    assert 100 < len(line) < 400, "zeros are left out"
    folds = [(files / "MSLR-WEB30K" / f"Fold{i}").iterdir() for i in (1, 5)]
    assert len({sum(path.stat().st_size for path in fold) for fold in folds}) == 1
    sets.make_synthetic(tmp_path, scale=0.005, names=["Istella-S"])
    name = Path("Istella-S", "sample", "train.txt")
    assert (tmp_path / name).read_bytes() == (files / name).read_bytes()


def test_rows_of_a_query_must_follow_each_other():
    data = br.Dataset(np.zeros((3, 1)), np.zeros(3), np.array([1, 2, 1]))
    with pytest.raises(ValueError, match="must follow each other"):
        sets.in_sequence(data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 qid:1 1:1.79769313486e+308 2:1\n", "1 qid:1 1:nan 2:1\n"),
        ("1 qid:1 1:-1E45 2:4e39\r\n", "1 qid:1 1:nan 2:nan\r\n"),
        ("1 qid:1 1:1e38 2:1e-308 3:139\n", "1 qid:1 1:1e38 2:1e-308 3:139\n"),
    ],
)
def test_values_beyond_float32_become_missing(text, expected):
    assert experiment.TOO_LARGE.sub(b"nan", text.encode()) == expected.encode()


def test_every_ranker_has_equally_many_settings_and_the_same_draws_of_those_that_all_have():
    assert len({len(methods.space(name)) for name in methods.METHODS}) == 1
    for number in range(5):
        draws = [methods.draw(name, [3], number) for name in methods.METHODS]
        shared = [{key: draw[key] for key in methods.SHARED} for draw in draws]
        assert shared.count(shared[0]) == len(shared)
    assert methods.draw("LightGBM", [3], 0) != methods.draw("LightGBM", [2], 0)


def test_searches_of_sets_splits_and_repeats_differ_and_seeds_are_those_of_all_rankers():
    job = experiment.Job("A", 0, 0, False, "LightGBM", experiment.TUNED, 0)
    changes = {"data": "B", "split": 1, "repeat": 1, "trial": 1}
    others = [experiment.replace(job, **{name: value}) for name, value in changes.items()]
    assert len({other.seed for other in (job, *others)}) == 5
    assert len({str(other.search) for other in (job, *others)}) == 4
    assert experiment.replace(job, method="XGBoost", lists=True).seed == job.seed


@pytest.fixture(scope="module")
def split():
    data = br.make_ranking(n_queries=40, random_state=1)
    fold = br.query_folds(br.Dataset(*data), 3, random_state=0)[0]
    return sets.Split(fold.train, fold.test, fold.test)


@pytest.mark.parametrize("name", list(methods.METHODS))
def test_settings_are_those_of_the_library_and_time_ends_a_training(split, name):
    method = methods.METHODS[name]
    further, values = method.further
    settings = {**methods.draw(name, [0], 0), "leaves": 15, "min_child": 0}
    running = {"seed": 1, "threads": 1}
    for number, loss in enumerate(method.losses):
        chosen = {**settings, "loss": loss, further: values[number % len(values)]}
        parameters = methods.parameters_of(name, chosen)
        stopping = methods.Stopping(3, 3, 100)
        trained = methods.train(name, parameters, split, stopping, **running)
        assert 1 <= trained.rounds <= 3
        assert not trained.was_stopped
        assert np.ptp(trained.predict(split.test.X)) > 0
    stopping = methods.Stopping(1000, 1000, 0)
    trained = methods.train(name, methods.parameters_of(name, settings), split, stopping, **running)
    assert (trained.rounds, trained.was_stopped) == (1, True)


def work_of(folder, **changes):
    job = experiment.Job("Yahoo-set2", 0, 0, False, "LightGBM", experiment.EARLY_STOPPING)
    plan = experiment.Plan(rounds=2, seconds=60, **changes)
    return experiment.run(job, {"Yahoo-set2": str(folder / "Yahoo-set2")}, plan, folder, 1)


@pytest.mark.slow
def test_a_training_has_a_process_of_its_own_with_a_limit_of_memory(files):
    result = work_of(files)
    data = br.read_letor(files / "Yahoo-set2" / "set2.test.txt", n_features=699)
    assert len(result["test"]) == len(np.unique(data.qid))
    assert 0.05 < result["peak_gb"] < 2
    assert work_of(files, memory_gb=0.15)["failed"].startswith("needs more than 0.15 GB")


def test_a_library_that_aborts_without_a_word_is_a_failure_with_a_reason():
    done = subprocess.run(
        [sys.executable, "-c", "import os; os.abort()"], capture_output=True, text=True, check=False
    )
    text = experiment.reason(done, experiment.Plan())
    assert text == "ended by SIGABRT, perhaps because it needs more than 20 GB"


def result_of(job, value):
    """A training whose queries have NDCG around `value`."""
    random = np.random.default_rng([job.split, job.repeat, len(job.method)])
    tested = np.round(value + 0.01 * random.standard_normal(20), 6).tolist()
    about = {"rounds": 5, "train_s": 1.0, "peak_gb": 0.5, "was_stopped": False, "documents": 90}
    about |= {"features": 4, "queries": 60, "validation": value}
    return about if job.trial is not None else {**about, "test": tested, "test@1": 0, "test@5": 0}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run all trainings of two sets without training; ours are better by 0.1."""
    about = sets.LargeSet(4, 90, [("", "", "")] * 2, repeats=2)
    known = {"folds": about, "one": about._replace(files=[("", "", "")])}
    done = []

    def run(plan, fails=()):
        def train(job, *_):
            done.append(job)
            if job.file in fails:
                return {"failed": "no"}
            value = 0.5 + 0.1 * methods.METHODS[job.method].is_ours
            return result_of(job, value if job.trial is None else value + job.trial / 100)

        monkeypatch.setattr(experiment, "run", train)
        experiment.prepare(tmp_path, plan, dict.fromkeys(known, "folder"), known, 1)
        experiment.run_all(list(experiment.jobs_of(known, plan)), {}, plan, tmp_path, 1)
        return done

    return run


def test_an_interrupted_experiment_goes_on_and_another_plan_is_refused(run, tmp_path):
    plan = experiment.Plan(trials=2)
    jobs = run(plan).copy()
    # Two kinds of features; trials and the last training of five rankers, their early stopping, and
    # left-out queries of ours; two repeats of two splits and of one.
    assert len(jobs) == len({job.file for job in jobs}) == 2 * (5 * 3 + 5 + 2) * 2 * 3
    (tmp_path / jobs[7].file).unlink()
    assert run(plan)[len(jobs) :] == [jobs[7]]
    with pytest.raises(SystemExit, match=r"another experiment: plan differ"):
        run(experiment.Plan(trials=3))


def test_the_best_trial_is_that_of_the_validation_queries(run, tmp_path):
    plan = experiment.Plan(trials=3)
    tuned = next(job for job in run(plan) if job.protocol == experiment.TUNED)
    job = experiment.replace(tuned, trial=None)
    assert experiment.best_trial(job, plan, tmp_path) == 2
    for trial in (1, 2):
        path = tmp_path / experiment.replace(job, trial=trial).file
        path.write_text(json.dumps({"failed": "no"}))
    assert experiment.best_trial(job, plan, tmp_path) == 0


def test_the_report_has_all_hypotheses_and_names_failures_and_trials(run, tmp_path):
    failed = experiment.Job("one", 0, 1, True, "CatBoost", experiment.TUNED).file
    run(experiment.Plan(trials=1), fails=[failed])
    path = report.write_report(tmp_path, tmp_path)
    text = path.read_text()
    assert (
        "trial of the script**: `trials` is 1 in place of 16; not sets of the plan: folds, one;"
        in text
    )
    assert "of 68 trainings" not in text
    assert text.count("| better |") == len(report.HYPOTHESES)
    assert text.count("| better | one |") == 2, "CatBoost with features of lists misses a set"
    assert "| one | CatBoost | True | tuned | no | 1 |" in text
    assert (tmp_path / "large_experiment.png").stat().st_size > 10_000


def test_missing_trainings_and_other_files_are_named(run, tmp_path):
    jobs = run(experiment.Plan(trials=1))
    (tmp_path / jobs[0].file).unlink()
    about, trainings = report.read_trainings(tmp_path)
    assert "folds has 135 of 136 trainings" in report.warnings_of(about, trainings)[0]
    about["files"]["Istella-S"] = about["files"]["one"]
    trainings.loc[trainings["data"] == "one", "data"] = "Istella-S"
    text = report.warnings_of(about, trainings)[0]
    assert "Istella-S has 90 documents to train on in place of about 2,045,000" in text


def test_the_estimate_of_folds_is_the_corrected_test_over_folds():
    random = np.random.default_rng(0)
    differences = [random.normal(0.02, 0.05, (2, 30)) for _ in range(5)]
    found = report.estimate(differences, 1 / 3)
    means = [of_split.mean() for of_split in differences]
    test = corrected_resampled_t_test(means, np.zeros(5), test_to_train=1 / 3)
    assert found.p_value == pytest.approx(test.p_value)
    assert found.difference == pytest.approx(test.difference)


def test_the_estimate_of_one_split_counts_queries_and_trainings():
    rows = np.array([[0.1, 0.3, 0.2], [0.3, 0.1, 0.5]])
    found = report.estimate([rows], 0.5)
    queries, trainings = np.var([0.2, 0.2, 0.35], ddof=1) / 3, np.var([0.2, 0.3], ddof=1) / 2
    assert found.difference == pytest.approx(0.25)
    assert found.variance == pytest.approx(queries + trainings)
    freedom = (queries + trainings) ** 2 / (queries**2 / 2 + trainings**2 / 1)
    assert found.freedom == pytest.approx(freedom)
    assert np.isnan(report.estimate([rows[:1]], 0.5).p_value)
    both = report.mean_over_sets([found, report.Estimate(0.05, 0.001, 4)])
    assert both.difference == pytest.approx(0.15)
    assert both.variance == pytest.approx((found.variance + 0.001) / 4)


def test_the_test_of_one_split_holds_its_level_where_trainings_differ():
    random, rejected = np.random.default_rng(0), []
    for _ in range(1000):
        rows = 0.02 * random.standard_normal((5, 1)) + 0.1 * random.standard_normal((5, 100))
        over_queries = report.Estimate(rows.mean(), rows.mean(axis=0).var(ddof=1) / 100, 99)
        rejected.append((report.estimate([rows], 0.5).p_value, over_queries.p_value))
    ours, over_queries = (np.array(rejected) < 0.05).mean(axis=0)
    assert 0.02 < ours < 0.07
    assert over_queries > 0.3


def test_small_and_worse_differences_are_called_so():
    rows = pd.DataFrame({"difference": [0.1, -0.1, 0.001, 0.1], "p": [0.001, 0.001, 0.001, 0.2]})
    results = ["better", "WORSE", "smaller than relevant", "not shown"]
    assert report.with_holm(rows, "p")["result"].tolist() == results
