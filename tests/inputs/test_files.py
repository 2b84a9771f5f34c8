"""Files are replaced as a whole, keep their mode, and special files are written to and not
replaced."""

import errno
import os
import threading

import pandas as pd
import pytest

import boostrank as br
from boostrank.inputs.files import write_atomically

special = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")


def write(text):
    def write_text(name):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)

    return write_text


@pytest.mark.parametrize("path", [bytearray(b"model"), b"model", 0, None])
def test_what_is_no_path_is_an_error(path):
    """Python would read standard input for the number 0."""
    ranker = br.LightGBMRanker(n_estimators=2, n_jobs=1).fit(*br.make_ranking(n_queries=9))
    if isinstance(path, (bytes, bytearray)):
        with pytest.raises(ValueError, match="the model in memory cannot be loaded"):
            ranker.load_model(path)
    else:
        with pytest.raises(TypeError, match=r"the path of a file must be"):
            ranker.load_model(path)
    for use in (
        ranker.save_model,
        br.read_letor,
        br.read_letor_folds,
        br.read_qrels,
        br.read_run,
    ):
        with pytest.raises(
            TypeError, match=r"the path of a file must be a str or os.PathLike; got"
        ):
            use(path)


@pytest.mark.parametrize("read", [br.read_letor, br.read_qrels, br.read_run])
def test_a_parquet_file_is_named_as_such(read, tmp_path):
    path = tmp_path / "table.txt"
    pd.DataFrame({"query_id": ["q"]}).to_parquet(path)
    with pytest.raises(
        ValueError, match=r"table.txt' is a Parquet file, and not text: read it by pandas"
    ):
        read(path)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"absent/model\.txt"):
        write_atomically(tmp_path / "absent" / "model.txt", write("new"))
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write_atomically(tmp_path, write("text"))


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_replaced_file_keeps_its_mode_and_private_content_is_never_public(tmp_path, mode):
    path, seen = tmp_path / "model.txt", []
    path.write_text("old")
    path.chmod(mode)

    def look(name):
        write("new")(name)
        seen.append(os.stat(name).st_mode & 0o7777)

    write_atomically(path, look)
    assert seen == [0o600]
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o7777 == mode
    assert os.listdir(tmp_path) == ["model.txt"]


def test_a_new_file_has_the_usual_mode(tmp_path):
    umask = os.umask(0o027)
    try:
        write_atomically(tmp_path / "new", write("text"))
    finally:
        os.umask(umask)
    assert (tmp_path / "new").stat().st_mode & 0o7777 == 0o640


def test_symbolic_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    target = tmp_path / "folder" / "model.txt"
    target.write_text("old")
    target.chmod(0o600)
    (tmp_path / "link").symlink_to("folder/model.txt")
    (tmp_path / "dangling").symlink_to("folder/other.txt")
    write_atomically(tmp_path / "link", write("new"))
    write_atomically(tmp_path / "dangling", write("other"))
    assert (tmp_path / "link").is_symlink()
    assert (target.read_text(), target.stat().st_mode & 0o7777) == ("new", 0o600)
    assert (tmp_path / "folder" / "other.txt").read_text() == "other"
    assert sorted(os.listdir(tmp_path / "folder")) == ["model.txt", "other.txt"]


@pytest.mark.parametrize("exists", [True, False])
def test_a_failed_write_leaves_what_was_there(tmp_path, exists):
    path = tmp_path / "model.txt"
    if exists:
        path.write_text("old")

    def fail(name):
        write("half")(name)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space left") as full:
        write_atomically(path, fail)
    assert full.value.filename == str(path)
    assert os.listdir(tmp_path) == ["model.txt"] * exists
    assert not exists or path.read_text() == "old"


def test_all_suffixes_stay_at_the_end_of_the_temporary_name(tmp_path):
    names = []
    long = "x" * 240 + ".tar.gz"
    for name in ("pairs.csv.tar.gz", long):
        write_atomically(
            tmp_path / name, lambda temporary: (names.append(temporary), write("text")(temporary))
        )
        assert names[-1].endswith(".tar.gz")
    assert sorted(os.listdir(tmp_path)) == sorted(["pairs.csv.tar.gz", long])


@special
def test_a_pipe_gets_the_content(tmp_path):
    path, received = tmp_path / "pipe.csv", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: received.append(path.read_text()))
    reader.start()
    write_atomically(path, write("text" * 100_000))
    reader.join(10)
    assert received == ["text" * 100_000]
    assert path.is_fifo()
