"""Files of saved results: several runs that write one file, a file that is deleted, and a full disk."""

import signal

import numpy as np
import pytest

from boostrank.comparison.saved_results import SavedResults, TrainingResult, make_identity

pytestmark = pytest.mark.slow


def test_several_runs_may_begin_the_same_file(tmp_path):
    file = tmp_path / "r.jsonl"
    runs = [SavedResults(file), SavedResults(file)]
    keys = [make_identity("a", f"Fold{i}", "h", {}) for i in range(2)]
    for run, key in zip(runs, keys, strict=True):
        run.add(key, TrainingResult(np.arange(4.0), 5.0, 0.1))
    saved = SavedResults(file)
    assert (saved.damaged_lines, saved.n_trainings) == ([], 2)
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[0], *lines[2:]]))
    assert SavedResults(file).damaged_lines == []
    # A file that is deleted while a comparison runs is begun anew.
    file.unlink()
    for key in keys:
        saved.add(key, TrainingResult(np.arange(4.0), 5.0, 0.1))
    assert SavedResults(file).n_trainings == 2


def test_a_disk_that_becomes_full_is_an_error_of_the_first_incomplete_line(tmp_path):
    resource = pytest.importorskip("resource")
    file = tmp_path / "r.jsonl"
    saved, result = SavedResults(file), TrainingResult(np.arange(100.0), 5.0, 0.1)
    saved.add(make_identity("a", "Fold0", "h", {}), result)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    default = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2500, hard))
    try:
        with pytest.raises(OSError, match="bytes of a result were written, as if the disk is full"):
            saved.add(make_identity("a", "Fold1", "h", {}), result)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, default)
    saved.add(make_identity("a", "Fold2", "h", {}), result)
    saved = SavedResults(file)
    # The line that follows the incomplete one begins in a line of its own.
    assert (saved.damaged_lines, saved.n_trainings) == ([3], 2)
