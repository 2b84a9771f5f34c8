"""Time of NDCG over many ragged queries in each library, and what evaluation costs in a boosting round.

First part: the same labels and scores (some of them tied) for all. Calls take turns in one process, so that a slow
moment of the machine hits all of them; a first turn, which compiles and fills caches, is not counted, and
scikit-learn's loop takes part in one turn only. Conversion to what a library takes is a line of its own. Ratios are
medians over turns of a call to `br.ndcg_score` in that turn. LightGBM evaluates a booster without trees at its initial
scores.

Second part: boosting rounds on training data, with our NDCG@10 as the metric of validation queries, a quarter as many.
The share is the time inside the metric over the time of the whole round; the first two rounds, which bind the metric
and the objective to their data, are not counted.

    python benchmarks/metric_speed.py [--queries 10000] [--documents 120] [--turns 5] [--rows 240000]
"""

import argparse
import collections
import time
import warnings

import lightgbm as lgb
import numba
import numpy as np
import pytrec_eval
import ranx
import xgboost as xgb
from environment import describe
from libraries import by_query, versions
from ranx.utils import descending_sort_parallel
from sklearn.metrics import ndcg_score as sklearn_ndcg_score

import boostrank as br

OURS = "boostrank ndcg_score"
SLOW = "scikit-learn, loop over queries"


def make_data(n_queries, n_documents):
    """Labels, scores of a few thousand values, ids and sizes of ragged queries."""
    random = np.random.default_rng(0)
    low = max(1, n_documents // 6)
    sizes = random.integers(low, 2 * n_documents - low + 1, n_queries)
    y = random.choice(5, sizes.sum(), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    scores = np.round(y + 2 * random.normal(size=len(y)), 3)
    return y, scores, np.repeat(np.arange(n_queries), sizes), sizes


def sklearn_loop(y, scores, sizes, k):
    """A call per query; those of one document, where it raises, are left out."""
    parts = zip(*(np.split(values, np.cumsum(sizes)[:-1]) for values in (y, scores)), strict=True)
    return np.mean([sklearn_ndcg_score([a], [b], k=k) for a, b in parts if len(a) > 1])


def lightgbm_evaluation(y, scores, sizes, k):
    """A function that evaluates NDCG at fixed scores."""
    X = (np.arange(len(y)) % 64.0)[:, None]
    data = lgb.Dataset(X, y, group=sizes, init_score=scores, params={"verbosity": -1})
    settings = {"objective": "regression", "metric": "ndcg", "eval_at": [k or int(sizes.max())], "verbosity": -1}
    return lgb.Booster(settings, data).eval_train


def typed_arrays(values, sizes):
    """What ranx's functions run on: for each query its documents' numbers and values."""
    pairs = np.column_stack([np.arange(len(values)), values]).astype(np.float64)
    return numba.typed.List(np.split(pairs, np.cumsum(sizes)[:-1]))


def calls_by_cutoff(y, scores, qid, sizes, turns):
    """Functions to time by what they are and by cutoff; those that do not depend on it go by an empty text."""
    judged, run = by_query(y, qid), by_query(scores, qid)
    labels, unsorted = descending_sort_parallel(typed_arrays(y, sizes)), typed_arrays(scores, sizes)
    sorted_run, queries = descending_sort_parallel(unsorted.copy()), br.Queries.from_sizes(sizes)
    calls = {
        ("pytrec_eval, conversion", ""): lambda: (by_query(y, qid), by_query(scores, qid)),
        ("ranx, conversion", ""): lambda: (typed_arrays(y, sizes), typed_arrays(scores, sizes)),
        ("np.argsort of all scores", ""): lambda: np.argsort(scores),
        ("np.lexsort of scores in queries", ""): lambda: np.lexsort((-scores, qid)),
    }
    for name, k in (("10", 10), ("all", None)):
        metric, measure = (f"ndcg@{k}", f"ndcg_cut.{k}") if k else ("ndcg", "ndcg")
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {measure})
        prepared = br.get_measure("ndcg", k=k).bind(y, queries)
        # Sorting happens in place, on a copy for each turn.
        copies = iter([unsorted.copy() for _ in range(turns + 1)])
        calls |= {
            (OURS, name): lambda k=k: br.ndcg_score(y, scores, qid, k=k),
            ("boostrank NDCG.mean, labels prepared", name): lambda prepared=prepared: prepared.mean(scores),
            (SLOW, name): lambda k=k: sklearn_loop(y, scores, sizes, k),
            ("pytrec_eval, evaluation", name): lambda evaluator=evaluator: evaluator.evaluate(run),
            ("ranx, sorted beforehand", name): lambda metric=metric: ranx.evaluate(labels, sorted_run, metric),
            ("ranx, with its sorting", name): lambda metric=metric, copies=copies: ranx.evaluate(
                labels, descending_sort_parallel(next(copies)), metric
            ),
            ("LightGBM's own evaluation", name): lightgbm_evaluation(y, scores, sizes, k),
        }
    return calls


def seconds_of_turns(calls, turns):
    """Seconds of each call in each turn, by turn."""
    seconds = collections.defaultdict(dict)
    for turn in range(turns + 1):
        for key, call in calls.items():
            if key[0] == SLOW and turn != 1:
                continue
            start = time.perf_counter()
            call()
            if turn > 0:
                seconds[key][turn] = time.perf_counter() - start
    return seconds


def print_speed(seconds):
    """A line per call: median, quartiles, ratio to ours at the same cutoff."""
    print("| call | k | ms | quartiles | times `br.ndcg_score`, k = 10 | k = all |")
    print("|---|---|---:|---:|---:|---:|")
    for (name, k), by_turn in seconds.items():
        low, median, high = np.percentile(list(by_turn.values()), [25, 50, 75]) * 1e3
        ratios = []
        for cutoff in ("10", "all"):
            ours = seconds[OURS, cutoff]
            ratio = np.median([value / ours[turn] for turn, value in by_turn.items()])
            ratios.append(f"{ratio:.2f}" if k in ("", cutoff) else "")
        print(f"| {name} | {k} | {median:.1f} | {low:.1f} to {high:.1f} | {' | '.join(ratios)} |")


class Timed:
    """A metric that adds up its own seconds, and a callback that notes when rounds end."""

    def __init__(self, metric):
        self.metric, self.inside, self.ends = metric, [], []

    def __call__(self, *arguments):
        """Evaluate."""
        start = time.perf_counter()
        result = self.metric(*arguments)
        self.inside.append(time.perf_counter() - start)
        return result

    def end_round(self, *_):
        """Note the end of a round."""
        self.ends.append(time.perf_counter())

    def shares(self):
        """Share of each round but the first two that was spent in the metric."""
        return np.array(self.inside[2:]) / np.diff(self.ends)[1:]


def lightgbm_rounds(training, validation, rounds):
    """Timed rounds of LightGBM."""
    (X, y, sizes), (X_valid, y_valid, sizes_valid) = training, validation
    data = lgb.Dataset(X, y, group=sizes)
    valid = lgb.Dataset(X_valid, y_valid, group=sizes_valid, reference=data)
    timed = Timed(br.lightgbm_metric("ndcg@10"))
    settings = {"objective": br.lightgbm_objective("softmax"), "metric": "None", "verbosity": -1}
    lgb.train(settings, data, rounds, valid_sets=[valid], feval=timed, callbacks=[timed.end_round])
    return timed


def xgboost_rounds(training, validation, rounds):
    """Timed rounds of XGBoost."""
    (X, y, sizes), (X_valid, y_valid, sizes_valid) = training, validation
    data = xgb.QuantileDMatrix(X, y, group=sizes)
    valid = xgb.QuantileDMatrix(X_valid, y_valid, group=sizes_valid, ref=data)
    timed = Timed(br.xgboost_metric("ndcg@10"))

    class Clock(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            timed.end_round()

    settings = {"base_score": 0, "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    settings["disable_default_eval_metric"] = True
    objective = br.xgboost_objective("softmax")
    xgb.train(
        settings,
        data,
        rounds,
        obj=objective,
        custom_metric=timed,
        evals=[(valid, "valid")],
        callbacks=[Clock()],
        verbose_eval=False,
    )
    return timed


def print_shares(rows, features, rounds):
    """A line per library: seconds of the metric and of the round, and the share."""

    def part(n_documents, seed):
        X, y, qid = br.make_ranking(
            max(1, n_documents // 120), n_documents=(40, 200), n_features=features, random_state=seed
        )
        return X.astype(np.float32), y, np.bincount(qid)

    training, validation = part(rows, 0), part(rows // 4, 1)
    print(
        f"\n{len(training[1]):,} x {features} to train on, {len(validation[1]):,} to validate on, 31 leaves, softmax\n"
    )
    print("| library | NDCG@10, ms | round, ms | share of a round | quartiles |\n|---|---:|---:|---:|---:|")
    for name, boost in (("LightGBM", lightgbm_rounds), ("XGBoost", xgboost_rounds)):
        timed = boost(training, validation, rounds)
        low, median, high = np.percentile(timed.shares(), [25, 50, 75]) * 100
        inside, whole = np.median(timed.inside[2:]) * 1e3, np.median(np.diff(timed.ends)[1:]) * 1e3
        print(f"| {name} | {inside:.1f} | {whole:.1f} | {median:.1f}% | {low:.1f}% to {high:.1f}% |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=120, help="mean number of documents a query")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--rows", type=int, default=240_000, help="documents to train on; 0 leaves this part out")
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument("--rounds", type=int, default=22)
    arguments = parser.parse_args()
    # numba's, of what ranx does with hashes of names.
    warnings.filterwarnings("ignore", message="unsafe cast")
    print(f"{describe()}; {', '.join(f'{library} {version}' for library, version in versions().items())}")
    data = make_data(arguments.queries, arguments.documents)
    print(f"{len(data[0]):,} documents in {arguments.queries:,} queries, {arguments.turns} turns\n")
    print_speed(seconds_of_turns(calls_by_cutoff(*data, arguments.turns), arguments.turns))
    if arguments.rows:
        print_shares(arguments.rows, arguments.features, arguments.rounds)


if __name__ == "__main__":
    main()
