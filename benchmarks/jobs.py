"""Jobs that run at the same time, each of which writes one JSON file.

An interrupted run continues where it stopped.
"""

import json
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from threadpoolctl import threadpool_limits


def run_jobs(function, jobs, n_jobs):
    """Call a function for each job whose file does not exist yet, and write its results.

    A progress bar is shown on a terminal, and a line for each job elsewhere. A job that fails is
    reported, and the others go on.

    Parameters
    ----------
    function : callable
        Function of the arguments of a job that returns a dict for JSON; the processor seconds that
        it took are added.
    jobs : dict of Path to tuple
        The file and the arguments of each job.
    n_jobs : int
        Number of jobs at the same time, of one thread each.

    Raises
    ------
    SystemExit
        At the end, if a job failed.
    """
    missing = {path: arguments for path, arguments in jobs.items() if not path.exists()}
    for folder in {path.parent for path in missing}:
        folder.mkdir(parents=True, exist_ok=True)
    columns = (
        TextColumn("{task.description:<40}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(*columns, TextColumn("left"), TimeRemainingColumn())
    progress.disable = not progress.console.is_terminal
    n_done = n_failed = 0
    # Threads of numerical libraries that wait for each other's work would slow down the jobs beside
    # them.
    with (
        progress,
        ProcessPoolExecutor(n_jobs, initializer=threadpool_limits, initargs=(1,)) as pool,
    ):
        bar = progress.add_task("", total=len(missing))
        running = {
            pool.submit(_timed, function, arguments): path for path, arguments in missing.items()
        }
        for job in as_completed(running):
            path, n_done = running[job], n_done + 1
            try:
                result = job.result()
            except Exception as error:
                n_failed += 1
                first_line = str(error).strip().partition("\n")[0]
                text = f"{path.stem}: {type(error).__name__}: {first_line}"
                progress.console.print(text, markup=False, highlight=False, soft_wrap=True)
            else:
                write_result(path, result)
                if progress.disable:
                    print(
                        f"{n_done}/{len(missing)} {path.stem} {result['seconds']:.1f} s", flush=True
                    )
            progress.update(bar, advance=1, description=path.stem)
    if n_failed:
        raise SystemExit(
            f"{n_failed} of {len(missing)} jobs failed; the same command runs them again"
        )


def _timed(function, arguments):
    start = time.process_time()
    result = function(*arguments)
    return {**result, "seconds": time.process_time() - start}


def write_result(path, result):
    """Write a result in one step: an interrupted run leaves no incomplete file."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result))
    os.replace(draft, path)


def read_results(folder):
    """The results of all jobs in a folder; SystemExit if there are none."""
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not results:
        raise SystemExit(f"no results in {folder}")
    return results
