"""NDCG@10 of our rankers and those of LightGBM, XGBoost and CatBoost.

These are the runs that quality_report.py reads.

python benchmarks/quality.py DATA ... --runs FOLDER [--protocols untuned,early-stopping,tuned]
                             [--jobs 2] [--seeds 1]

DATA is a folder of LETOR folds (MQ2008, MSLR-WEB10K), LightGBM's example folder or one LETOR file
(each cut into five folds), or the word "synthetic". Every ranker predicts the test queries of each
fold, once. The protocols are:

untuned         every ranker with its default parameters, trained on all queries that are not for
                testing
early-stopping  up to 1000 rounds, learning rate 0.1 (CatBoost and ours have their own), 150 rounds
                without a better NDCG@10 on the validation queries, which are the same for all;
                rankers that find the number of rounds by themselves are trained on all queries that
                are not for testing
tuned           equally many draws of the hyperparameters for each ranker, with early stopping as
                above but up to 300 rounds and 100 without improvement; the draw with the best
                NDCG@10 on the validation queries is chosen

Each job is a file in FOLDER, so that an interrupted run continues where it stopped. After a change
of a method, delete its files. It has the processor seconds of the fit, of one thread: for "tuned",
those of all draws.
"""

import argparse
import os
import re
import warnings
from functools import partial
from pathlib import Path

from jobs import run_jobs
from quality_methods import PROTOCOLS, fit, predict, processor_seconds
from reporting import PACKAGES, versions
from workloads import data_name, read_folds

import boostrank as br


def run(protocol, data, method_name, number, seed, n_draws):
    """One job: train one method on one fold, and measure it on the test queries."""
    method, fold = PROTOCOLS[protocol][method_name], read_folds(data)[number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = partial(fit, method, protocol, fold, seed, n_draws)
        (ranker, record), seconds = processor_seconds(method.library, train)
        scores = predict(ranker, fold.test.X, fold.test.qid)
    # NaN where a query has no relevant document: the report leaves these queries out.
    values = br.ndcg_score(fold.test.y, scores, fold.test.qid, k=10, empty="skip", per_query=True)
    names = {
        "protocol": protocol,
        "data": data_name(data),
        "method": method.name,
        "library": method.library,
    }
    record.update(
        is_ours=method.is_ours, fold=number, seed=seed, versions=versions((*PACKAGES, "catboost"))
    )
    return {**names, **record, "fit_s": seconds, "ndcg@10": values.tolist()}


def choose_methods(protocol, names):
    """The methods of a protocol that are asked for, or all."""
    return [name for name in PROTOCOLS[protocol] if names is None or name in names]


def jobs_of(arguments):
    """File and arguments of each job; all methods of a fold follow each other."""
    jobs = {}
    for protocol in arguments.protocols:
        title = f"tuned{arguments.draws}" if protocol == "tuned" else protocol
        for seed in range(arguments.seeds):
            for data in arguments.data:
                for fold in range(len(read_folds(data)))[: arguments.folds]:
                    for method in choose_methods(protocol, arguments.methods):
                        name = re.sub(
                            r"[^\w.-]+", "_", f"{title}-{data_name(data)}-{fold}-{seed}-{method}"
                        )
                        job = (protocol, data, method, fold, seed, arguments.draws)
                        jobs[arguments.runs / f"{name}.json"] = job
    return jobs


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="+")
    parser.add_argument(
        "--runs", type=Path, required=True, help="folder for the result of each job"
    )
    parser.add_argument("--protocols", type=lambda text: text.split(","), default=list(PROTOCOLS))
    parser.add_argument(
        "--methods", type=lambda text: text.split(";"), help="names separated by semicolons"
    )
    parser.add_argument(
        "--draws", type=int, default=8, help="number of draws of hyperparameters of a tuned method"
    )
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--folds", type=int, help="only the first folds of each data set, for a trial"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="jobs at the same time, of one thread each"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.protocols) - set(PROTOCOLS):
        parser.error(f"unknown protocols {sorted(unknown)}; known are {', '.join(PROTOCOLS)}")
    known = {name for protocol in arguments.protocols for name in PROTOCOLS[protocol]}
    if unknown := set(arguments.methods or ()) - known:
        parser.error(f"unknown methods {sorted(unknown)}; known are {'; '.join(sorted(known))}")
    run_jobs(run, jobs_of(arguments), arguments.jobs)


if __name__ == "__main__":
    main()
