"""NDCG of every method on every data set, with equal budgets: the runs behind quality_report.py.

python benchmarks/quality.py DATA ... --results FOLDER [--draws 8] [--seeds 1] [--jobs 2] [--methods A,B]

DATA is a folder of LETOR folds (MQ2008, MSLR-WEB10K), LightGBM's example folder, one LETOR file (cut into five folds),
or the word "synthetic". For each method, fold and seed: as many draws of the hyperparameters as for any other, all
trained on the fold's training queries; the one with the best NDCG@10 on its validation queries predicts the test
queries, once. Each such job is a file in FOLDER, so that an interrupted run goes on where it stopped.
"""

import argparse
import json
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path

import contenders
from environment import describe
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import boostrank as br
from boostrank.model_selection import with_validation

CUTOFFS = (1, 5, 10, None)
SYNTHETIC_QUERIES = 600


@lru_cache(maxsize=2)
def read_folds(data):
    path = Path(data)
    if data == "synthetic":
        folds = br.query_folds(br.Dataset(*br.make_ranking(SYNTHETIC_QUERIES, random_state=0)), random_state=0)
    elif path.is_file():
        folds = br.query_folds(br.read_letor(path), random_state=0)
    elif (path / "rank.train").exists():
        train = br.read_letor(path / "rank.train")
        folds = [br.datasets.Fold("Fold1", train, None, br.read_letor(path / "rank.test", n_features=train.X.shape[1]))]
    else:
        folds = br.read_letor_folds(path)
    return [with_validation(fold, random_state=0) for fold in folds]


def run(data, method_name, fold_number, seed, n_draws):
    """One job: every draw of one method on one fold, and the test queries' NDCG of the best."""
    method, fold = contenders.METHODS[method_name], read_folds(data)[fold_number]
    best, tried, start = None, [], time.perf_counter()
    for number in range(n_draws):
        settings = contenders.draw(method, seed, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value, rounds, predict = contenders.train(method, settings, fold, seed)
        tried.append({"settings": settings, "validation": value, "rounds": rounds})
        if best is None or value > best[0]:
            best = value, number, predict
    scores = best[2](fold.test.X)
    test = {
        str(k): br.ndcg_score(fold.test.y, scores, fold.test.qid, k=k, empty="skip", per_query=True).tolist()
        for k in CUTOFFS
    }
    return {
        "data": Path(data).name,
        "method": method_name,
        "fold": fold.name,
        "seed": seed,
        "chosen": best[1],
        "draws": tried,
        # NaN where a query has no relevant document, which each convention counts in its own way.
        "test": test,
        "seconds": time.perf_counter() - start,
        "versions": describe(),
    }


def write(path, result):
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result))
    os.replace(draft, path)


def jobs(data_sets, methods, seeds, results, n_draws):
    """What is not done yet, cheap data sets first, all methods of a fold together."""
    for seed in range(seeds):
        for data in data_sets:
            for fold in range(len(read_folds(data))):
                for method in methods:
                    name = f"{Path(data).name}-{fold}-{seed}-{n_draws}-{method}".replace(" ", "_").replace(":", "_")
                    if not (results / f"{name}.json").exists():
                        yield results / f"{name}.json", (data, method, fold, seed, n_draws)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="+")
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--methods", default=",".join(contenders.METHODS))
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    unknown = set(methods) - set(contenders.METHODS)
    if unknown:
        parser.error(f"unknown methods {sorted(unknown)}; known are {', '.join(contenders.METHODS)}")
    arguments.results.mkdir(parents=True, exist_ok=True)
    todo = list(jobs(arguments.data, methods, arguments.seeds, arguments.results, arguments.draws))
    columns = (TextColumn("{task.description:<32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TextColumn("left"), TimeRemainingColumn())
    with bar, ProcessPoolExecutor(arguments.jobs) as pool:
        task = bar.add_task("", total=len(todo))
        waiting = {pool.submit(run, *job): (path, job) for path, job in todo}
        for done in as_completed(waiting):
            path, job = waiting[done]
            try:
                write(path, done.result())
            except Exception as error:
                bar.console.print(f"{path.name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            bar.update(task, advance=1, description=f"{Path(job[0]).name} {job[1]}")


if __name__ == "__main__":
    main()
