"""Timing of calls that take turns, and of code in processes of its own."""

import gc
import os
import subprocess
import sys
import time

import numpy as np
import pandas as pd


def seconds_in_turns(calls, turns, *, warm_up=False, only_once=(), clock=time.perf_counter):
    """Seconds of each call in each turn, so that a slow moment of the machine hits all calls.

    Python's search for unused objects, which takes longer after calls that made many, runs before
    each call, untimed.

    Parameters
    ----------
    calls : mapping of name to function without parameters
    turns : int
        Every second turn goes through the calls in reverse.
    warm_up : bool
        Whether every call runs once before, untimed.
    only_once : collection of names
        Slow calls, which run in the first turn only and are not warmed up.
    clock : callable
        Returns seconds; ``time.process_time`` counts those of the processors.

    Returns
    -------
    DataFrame
        A row per turn, a column per call; NaN where a call did not run.
    """
    names = list(calls)
    if warm_up:
        for name in names:
            if name not in only_once:
                calls[name]()
    rows = []
    for turn in range(turns):
        row = dict.fromkeys(names, np.nan)
        for name in names if turn % 2 == 0 else reversed(names):
            if turn > 0 and name in only_once:
                continue
            gc.collect()
            start = clock()
            calls[name]()
            row[name] = clock() - start
        rows.append(row)
    return pd.DataFrame(rows, columns=pd.Index(names, tupleize_cols=False))


def median_ratios(seconds, unit):
    """Median over turns of the seconds of each call divided by those of `unit` in that turn."""
    return seconds.div(seconds[unit], axis=0).median()


def run_in_fresh_process(code, *arguments, environment=None):
    """Numbers on the last line that Python code prints in a process of its own.

    The process has this folder on its path.

    `environment` are further variables of its environment.
    """
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"the process failed:\n{done.stderr}")
    return [float(number) for number in done.stdout.splitlines()[-1].split()]
