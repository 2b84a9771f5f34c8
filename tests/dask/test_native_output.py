"""One line that compiled code prints is left out, and nothing else."""

import os
import threading

import pytest

from boostrank.dask.lightgbm import LISTENING, PortEndpoint
from boostrank.dask.native_output import without_line


def print_natively(text):
    os.write(1, text.encode())


def test_only_this_line_is_left_out(capfd):
    print_natively("before\n")
    with without_line(LISTENING):
        print_natively("[LightGBM] [Info] Listening...\n[LightGBM] [Info] Listening... to more\n")
        print_natively("[LightGBM] [Info] Listening...\r\n")
        # As two threads print it at the same time.
        print_natively("[LightGBM] [Info] [LightGBM] [Info] Listening...\nListening...\n")
        print_natively("without an end")
    print_natively("\n[LightGBM] [Info] Listening...\n")
    text = capfd.readouterr().out
    assert text == ("before\n[LightGBM] [Info] Listening... to more\nwithout an end\n[LightGBM] [Info] Listening...\n")


def test_stdout_is_as_before_after_an_error(capfd):
    with pytest.raises(ZeroDivisionError), without_line(LISTENING):
        raise ZeroDivisionError
    print_natively(LISTENING.decode())
    assert capfd.readouterr().out == LISTENING.decode()


def test_contexts_of_threads_overlap(capfd):
    entered, left = threading.Event(), threading.Event()

    def work():
        with without_line(LISTENING):
            entered.set()
            assert left.wait(10)
            print_natively("second\n[LightGBM] [Info] Listening...\n")

    thread = threading.Thread(target=work)
    with without_line(LISTENING):
        thread.start()
        assert entered.wait(10)
        print_natively("first\n[LightGBM] [Info] Listening...\n")
    left.set()
    thread.join()
    print_natively("third\n[LightGBM] [Info] Listening...\n")
    assert capfd.readouterr().out == "first\nsecond\nthird\n[LightGBM] [Info] Listening...\n"


def test_more_than_a_pipe_holds_is_copied(capfd):
    with without_line(LISTENING):
        for _ in range(50):
            print_natively("x" * 9_999 + "\n")
    assert len(capfd.readouterr().out) == 500_000


def test_a_process_without_stdout_is_left_as_it_is(monkeypatch):
    def refuse(descriptor):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr(os, "dup", refuse)
    with without_line(LISTENING), without_line(LISTENING):
        pass


def test_lightgbm_connects_without_its_message(capfd, monkeypatch):
    """Two workers as threads: LightGBM has one network for each thread."""
    endpoints = [PortEndpoint("127.0.0.1", {}) for _ in range(2)]
    addresses = [endpoint.address for endpoint in endpoints]

    def connect(endpoint):
        with endpoint.connect(addresses):
            pass

    threads = [threading.Thread(target=connect, args=[endpoint]) for endpoint in endpoints]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "Listening" not in capfd.readouterr().out
