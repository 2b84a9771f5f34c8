"""Folds, and the trainings of comparisons as they end."""

import itertools
from types import SimpleNamespace

import pytest

import boostrank as br
from boostrank.comparison import rankers, trainings


@pytest.fixture(scope="package", autouse=True)
def _clock():
    """Each training takes a second, except in another process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            trainings, "time", SimpleNamespace(perf_counter=map(float, itertools.count()).__next__)
        )
        yield


@pytest.fixture(scope="package")
def folds():
    return br.query_folds(br.Dataset(*br.make_ranking(n_queries=30, random_state=0)), 3)


@pytest.fixture
def ended(monkeypatch):
    """Name of the ranker, name of the fold, result, and whether it was saved, of each training that
    has ended."""
    finished, run = [], rankers.run_trainings

    def recorded(jobs, *arguments):
        for number, result, is_saved in run(jobs, *arguments):
            name, _, fold, _ = jobs[number]
            finished.append((name, fold.name, result, is_saved))
            yield number, result, is_saved

    monkeypatch.setattr(rankers, "run_trainings", recorded)
    return finished
