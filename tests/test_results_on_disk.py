"""Files of saved results: several runs that write one file, a file that is deleted, and a full disk."""

import subprocess
import sys

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
    file = tmp_path / "r.jsonl"
    code = (
        "import resource, signal, sys, numpy as np\n"
        "from boostrank.comparison.saved_results import SavedResults, TrainingResult, make_identity\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "saved, result = SavedResults(sys.argv[1]), TrainingResult(np.arange(100.0), 5.0, 0.1)\n"
        "saved.add(make_identity('a', 'Fold0', 'h', {}), result)\n"
        "_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2500, hard))\n"
        "try:\n"
        "    saved.add(make_identity('a', 'Fold1', 'h', {}), result)\n"
        "except OSError as error:\n"
        "    print(error)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))\n"
        "saved.add(make_identity('a', 'Fold2', 'h', {}), result)\n"
    )
    output = subprocess.run([sys.executable, "-c", code, file], capture_output=True, text=True, check=True).stdout
    assert "bytes of a result were written, as if the disk is full" in output
    saved = SavedResults(file)
    # The line that follows the incomplete one begins in a line of its own.
    assert (saved.damaged_lines, saved.n_trainings) == ([3], 2)
