"""Reported faults of files; ids begin with the number in the report."""

import os
import stat
import sys
import threading

import numpy as np
import pytest

import boostrank as br
from boostrank.preferences import read_preferences, write_preferences
from hostile.entry_points import RANKERS, tiny
from hostile.outcomes import check_fault, check_message

X, Y, QID = br.make_ranking(n_queries=6, n_documents=5, random_state=0)
SUFFIX = {"LightGBMRanker": ".txt", "XGBoostRanker": ".json"}


def edges(graph):
    return sorted(zip(graph.winner.tolist(), graph.loser.tolist(), graph.weights.tolist(), strict=True))


DOCUMENTS = {
    "silent-13-leading-spaces": ["a", " a", "  a", "a "],
    "silent-13-text-of-numbers": ["7", "07", "7.0", "+7"],
    "silent-13-empty-and-missing": ["", "nan", "None", "NA"],
    "silent-13-quotes-and-commas": ['"', ",", '","', "a\nb"],
    "silent-13-float-documents": [1.0, 2.5, 3.0, 1e300],
    "silent-13-large-integers": [2**63 - 1, 2**63 - 2, -1, 0],
    "silent-13-bool-text": ["True", "False", "true", "1"],
    "silent-13-mixed": [1, "1", 1.5, "a"],
}
QUERIES = {
    "text": ["q1", "q1", "q2", "q2"],
    "text-of-numbers": ["7", "7", "07", "07"],
    "integers": [1, 1, 2, 2],
    "floats": [0.5, 0.5, 1.0, 1.0],
    "spaces": ["a", "a", " a", " a"],
}


@pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS)
@pytest.mark.parametrize("qid", QUERIES.values(), ids=QUERIES)
def test_preferences_are_read_back_or_refused(tmp_path, documents, qid):
    ids = np.array(documents, dtype=object) if len({type(d) for d in documents}) > 1 else np.array(documents)
    graph = br.PreferenceGraph(qid, [0, 3], [1, 2], [1.0, 0.1])
    path = tmp_path / "pairs.csv"
    try:
        write_preferences(graph, path, ids)
    except ValueError as error:
        check_message(error, "documents")
        assert not path.exists()
        return
    assert edges(read_preferences(path, qid, ids)) == edges(graph)


def test_silent_14_ids_that_spell_the_same_number(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("1 qid:7 1:1\n0 qid:07 1:2\n1 qid:+7 1:3\n0 qid:7 1:4\n")
    _, _, qid = br.read_letor(path)
    assert len(set(qid.tolist())) == 3
    assert qid[0] == qid[3]


IDS = {
    "text-of-numbers": ["7", "07", "+7", "7"],
    "text-of-integers": ["7", "8", "7", "9"],
    "negative": ["-7", "7", "-0", "0"],
    "accent": ["\u00e9", "e\u0301", "\u00e9", "e"],
    "escape-sequence": ["\\xe9", "\u00e9", "\\xe9", "x"],
    "integers": [2**63 - 1, -(2**63), 0, 7],
    "unsigned": np.array([2**63, 2**64 - 1, 0, 7], np.uint64),
}


@pytest.mark.parametrize("ids", IDS.values(), ids=[f"silent-14-{name}" for name in IDS])
def test_letor_ids_are_read_back_as_the_same_queries(tmp_path, ids):
    path = tmp_path / "x.txt"
    try:
        br.write_letor(path, np.ones((4, 1)), np.ones(4), ids)
    except ValueError as error:
        check_message(error, "qid")
        return
    read = br.read_letor(path).qid.tolist()
    given = list(ids)
    assert [read.index(value) for value in read] == [given.index(value) for value in given]
    assert [str(value) for value in read] == [str(value) for value in given]


@pytest.fixture(scope="module")
def models():
    return {name: tiny(ranker_class).fit(X, Y, QID) for name, ranker_class in RANKERS.items()}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
@pytest.mark.parametrize("ranker", RANKERS)
def test_damage_03_a_model_is_written_through_a_fifo(models, ranker, tmp_path):
    fifo, plain = tmp_path / f"fifo{SUFFIX[ranker]}", tmp_path / f"plain{SUFFIX[ranker]}"
    os.mkfifo(fifo)
    models[ranker].save_model(plain)
    # Opened for reading and writing, a FIFO does not wait for the other side.
    end = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    received = bytearray()

    def read():
        while len(received) < plain.stat().st_size and not stop.wait(0.01):
            try:
                received.extend(os.read(end, 65536))
            except BlockingIOError:
                continue

    stop = threading.Event()
    reader = threading.Thread(target=read)
    reader.start()
    try:
        models[ranker].save_model(fifo)
        reader.join(2)
    finally:
        stop.set()
        reader.join()
        os.close(end)
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)
    assert bytes(received) == plain.read_bytes()


def writers(ranker):
    graph = br.PreferenceGraph(QID, [0], [1])
    return {
        "save_model": ranker.save_model,
        "write_letor": lambda path: br.write_letor(path, X, Y, QID),
        "write_preferences": lambda path: write_preferences(graph, path),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
@pytest.mark.parametrize("writer", ["save_model", "write_letor", "write_preferences"])
def test_damage_03_a_special_file_stays_one(models, writer, tmp_path):
    # A FIFO in a folder of the test stands for a device: code that replaces it does no harm to the machine.
    for ranker in models.values():
        folder = tmp_path / type(ranker).__name__
        folder.mkdir()
        fifo = folder / "fifo"
        os.mkfifo(fifo)
        end = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
        try:
            thread = threading.Thread(target=writers(ranker)[writer], args=(fifo,), daemon=True)
            thread.start()
            while thread.is_alive():
                try:
                    os.read(end, 65536)
                except BlockingIOError:
                    thread.join(0.01)
        finally:
            os.close(end)
        assert stat.S_ISFIFO(os.stat(fifo).st_mode)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes")
@pytest.mark.parametrize("writer", ["save_model", "write_letor", "write_preferences"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444 | 0o200])
def test_damage_03_a_second_save_keeps_the_mode(models, writer, mode, tmp_path):
    path = tmp_path / "file"
    write = writers(models["LightGBMRanker"])[writer]
    write(path)
    path.chmod(mode)
    before = path.stat()
    write(path)
    after = path.stat()
    assert (stat.S_IMODE(after.st_mode), after.st_uid, after.st_gid) == (mode, before.st_uid, before.st_gid)


def test_silent_01_a_file_without_zeros_scores_as_one_with_them(tmp_path):
    dense, lines = np.where(X > 0.5, X, 0.0), []
    for row, label, query in zip(dense, Y, QID, strict=True):
        listed = " ".join(f"{i + 1}:{float(value)!r}" for i, value in enumerate(row) if value)
        lines.append(f"{label:g} qid:{query} {listed}".rstrip())
    (tmp_path / "sparse.txt").write_text("\n".join(lines))
    br.write_letor(tmp_path / "dense.txt", dense, Y, QID)
    parts = [br.read_letor(tmp_path / name, n_features=X.shape[1]) for name in ("dense.txt", "sparse.txt")]
    for ranker_class in RANKERS.values():
        scores = [tiny(ranker_class, n_estimators=5).fit(*fit).predict(part.X) for fit in parts for part in parts]
        for other in scores[1:]:
            np.testing.assert_allclose(other, scores[0], rtol=1e-6, atol=1e-7)


def test_silent_08_masked_values_are_not_written(tmp_path):
    masked = np.ma.masked_array(X, X > 1)
    check_fault(lambda: br.write_letor(tmp_path / "x.txt", masked, Y, QID), "mask")
    assert not list(tmp_path.iterdir())
