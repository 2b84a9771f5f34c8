"""NDCG of every method on every data set, with equal budgets: the runs that quality_report.py makes tables of.

python benchmarks/quality.py DATA ... --runs FOLDER [--draws 8] [--seeds 1] [--jobs 2] [--methods A,B]

DATA is a folder of LETOR folds (MQ2008, MSLR-WEB10K), LightGBM's example folder, one LETOR file (cut into five folds),
or the word "synthetic". For each method, fold and seed there are equally many draws of the hyperparameters, all trained
on the training queries of the fold. The draw with the best NDCG@10 on the validation queries predicts the test queries,
once. Each such job is a file in FOLDER, so that an interrupted run continues where it stopped.
"""

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from quality_methods import METHODS, draw, train
from reporting import versions
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from workloads import read_folds

import boostrank as br

CUTOFFS = (1, 5, 10, None)


def run(data, method_name, fold_number, seed, n_draws):
    """One job: train every draw of one method on one fold, and measure the best draw on the test queries."""
    method, fold = METHODS[method_name], read_folds(data)[fold_number]
    best_value, best_number, best_predict = None, None, None
    draws, start = [], time.perf_counter()
    for number in range(n_draws):
        settings = draw(method, seed, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, rounds, predict = train(method, settings, fold, seed)
        draws.append({"settings": settings, "validation": value, "rounds": rounds})
        if best_value is None or value > best_value:
            best_value, best_number, best_predict = value, number, predict
    y, scores, qid = fold.test.y, best_predict(fold.test.X), fold.test.qid
    # NaN where a query has no relevant document: the report counts these queries in several ways.
    test = {str(k): br.ndcg_score(y, scores, qid, k=k, empty="skip", per_query=True).tolist() for k in CUTOFFS}
    return {
        "data": Path(data).name,
        "method": method_name,
        "fold": fold.name,
        "seed": seed,
        "chosen": best_number,
        "draws": draws,
        "test": test,
        "seconds": time.perf_counter() - start,
        "versions": versions(),
    }


def write_run(path, result):
    """Write a result as JSON, in one step: an interrupted run leaves no incomplete file."""
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result))
    os.replace(draft, path)


def missing_jobs(data_sets, methods, seeds, folder, n_draws):
    """Path and parameters of each job that is not done yet; all methods of a fold follow each other."""
    for seed in range(seeds):
        for data in data_sets:
            for fold in range(len(read_folds(data))):
                for method in methods:
                    name = f"{Path(data).name}-{fold}-{seed}-{n_draws}-{method}".replace(" ", "_").replace(":", "_")
                    path = folder / f"{name}.json"
                    if not path.exists():
                        yield path, (data, method, fold, seed, n_draws)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--runs", type=Path, required=True, help="folder for the result of each job")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each")
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    unknown = set(methods) - set(METHODS)
    if unknown:
        parser.error(f"unknown methods {sorted(unknown)}; known are {', '.join(METHODS)}")
    arguments.runs.mkdir(parents=True, exist_ok=True)
    jobs = list(missing_jobs(arguments.data, methods, arguments.seeds, arguments.runs, arguments.draws))
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = Progress(*columns, TextColumn("left"), TimeRemainingColumn())
    with progress, ProcessPoolExecutor(arguments.jobs) as pool:
        task = progress.add_task("", total=len(jobs))
        running = {pool.submit(run, *parameters): (path, parameters) for path, parameters in jobs}
        for done in as_completed(running):
            path, (data, method, *_) = running[done]
            try:
                write_run(path, done.result())
            except Exception as error:
                progress.console.print(f"{path.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            progress.update(task, advance=1, description=f"{Path(data).name} {method}")


if __name__ == "__main__":
    main()
