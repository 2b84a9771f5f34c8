"""Time of measures over many ragged queries, of reading a run, and of evaluation in a round.

python benchmarks/metric_speed.py [--queries 10000] [--documents 120] [--turns 5] [--rows 240000]
                                  [--lines 1000000] [--output FOLDER]

First table: all calls get the same labels and scores, some of which are tied, and take turns in one
process. A first turn, which compiles and fills caches, is not timed; the loop over scikit-learn
runs once. Conversion to what a library takes is a row of its own. A ratio is the median over turns
of a call to `br.ndcg_score` in that turn. LightGBM evaluates a booster without trees at its initial
scores. boostrank and LightGBM use OMP_NUM_THREADS threads, ranx sorts with two, and all others use
one. `br.evaluate` computes NDCG, precision, MAP, MRR and ERR; the rows of several measures of other
libraries have the first four, since these libraries do not compute ERR themselves.

Second table: a TREC file of a run with 1,000 documents a query is read into the table or dictionary
of each library. pandas reads it as CSV with one blank between the fields: with the types that it
chooses, where ids of queries become integers, and with ids as texts. It does not check the lines.

Third table: NDCG@10 of runs with 10, 100 and 1,000 documents a query, in processor seconds: of our
tables and pytrec_eval's dictionaries that were read before, and of both files with their reading.
Of each query a twentieth of the retrieved documents, at least one, and as many others are judged.
Ids of documents are those of one query only, short or UUIDs, or drawn from 20,000.

Fourth table: boosting rounds on training data with our NDCG@10 as the metric of validation queries,
a quarter as many. The share is the time inside the metric over the time of the whole round. The
first two rounds, which bind metric and objective to their data, do not count.
"""

import tempfile
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from uuid import NAMESPACE_OID, uuid5

import ir_measures
import lightgbm as lgb
import numba
import numpy as np
import pandas as pd
import pytrec_eval
import ranx
import xgboost as xgb
from libraries import OTHERS, by_query
from ranx.utils import descending_sort_parallel
from reporting import PACKAGES, make_parser, publish
from sklearn.metrics import ndcg_score as sklearn_ndcg_score
from timing import median_ratios, seconds_in_turns
from workloads import N_DOCUMENTS, leaf_parameters, ragged_sizes

import boostrank as br
from boostrank import Queries

OURS = "boostrank ndcg_score"
SLOW = "scikit-learn, loop over queries"
CUTOFFS = ("10", "all")
SEVERAL = ("ndcg", "precision", "map", "mrr", "err")
#: The first four of them in pytrec_eval, with and without a cutoff, and in ranx.
TREC_SEVERAL = (
    ("ndcg_cut.{}", "ndcg"),
    ("P.{}", "P"),
    ("map_cut.{}", "map"),
    ("recip_rank", "recip_rank"),
)
RANX_SEVERAL = ("ndcg", "precision", "map", "mrr")
N_RUN_DOCUMENTS = 1000
#: Of the third table: documents a query, and how many ids of documents there are.
RUN_SIZES, ID_KINDS = (10, 100, 1000), ("of one query", "UUIDs of one query", "20,000")


def make_data(n_queries, n_documents):
    """Labels, scores of a few thousand different values, query ids and sizes of ragged queries."""
    random = np.random.default_rng(0)
    sizes = ragged_sizes(n_queries, n_documents, random)
    y = random.choice(5, sizes.sum(), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    scores = np.round(y + 2 * random.normal(size=len(y)), 3)
    return y, scores, np.repeat(np.arange(n_queries), sizes), sizes


def sklearn_loop(y, scores, sizes, k):
    """A call per query; queries of one document, for which scikit-learn raises, are left out."""
    parts = zip(*(np.split(values, np.cumsum(sizes)[:-1]) for values in (y, scores)), strict=True)
    return np.mean([sklearn_ndcg_score([a], [b], k=k) for a, b in parts if len(a) > 1])


def lightgbm_evaluation(y, scores, sizes, k):
    """A function that evaluates NDCG at fixed scores."""
    X = (np.arange(len(y)) % 64.0)[:, None]
    data = lgb.Dataset(X, y, group=sizes, init_score=scores, params={"verbosity": -1})
    settings = {
        "objective": "regression",
        "metric": "ndcg",
        "eval_at": [k or int(sizes.max())],
        "verbosity": -1,
    }
    return lgb.Booster(settings, data).eval_train


def typed_arrays(values, sizes):
    """The form that ranx's functions take: for each query numbers and values of its documents."""
    pairs = np.column_stack([np.arange(len(values)), values]).astype(np.float64)
    return numba.typed.List(np.split(pairs, np.cumsum(sizes)[:-1]))


def calls_by_cutoff(y, scores, qid, sizes, turns):
    """Functions to time, by what they are and by cutoff.

    The cutoff is empty where they do not depend on it.
    """
    judged, run = by_query(y, qid), by_query(scores, qid)
    labels, unsorted = descending_sort_parallel(typed_arrays(y, sizes)), typed_arrays(scores, sizes)
    sorted_run, queries = descending_sort_parallel(unsorted.copy()), Queries.from_sizes(sizes)
    calls = {
        ("pytrec_eval, conversion", ""): lambda: (by_query(y, qid), by_query(scores, qid)),
        ("ranx, conversion", ""): lambda: (typed_arrays(y, sizes), typed_arrays(scores, sizes)),
        ("np.argsort of all scores", ""): lambda: np.argsort(scores),
        ("np.lexsort of scores in queries", ""): lambda: np.lexsort((-scores, qid)),
    }

    def add_calls(name, k):
        ranx_metric, trec_measure = (f"ndcg@{k}", f"ndcg_cut.{k}") if k else ("ndcg", "ndcg")
        evaluator = pytrec_eval.RelevanceEvaluator(judged, {trec_measure})
        several = pytrec_eval.RelevanceEvaluator(
            judged, {cut.format(k) if k else all_ for cut, all_ in TREC_SEVERAL}
        )
        ranx_several = [f"{each}@{k}" if k else each for each in RANX_SEVERAL]
        names = [ir_measures.nDCG, ir_measures.P, ir_measures.AP, ir_measures.RR]
        # Precision needs a cutoff there.
        measures = [
            each @ (k or int(sizes.max())) if k or each is ir_measures.P else each for each in names
        ]
        bound = br.get_measure(f"ndcg@{k}" if k else "ndcg").bind(y, queries)
        # ranx sorts in place: each call takes a copy of its own.
        copies = iter([unsorted.copy() for _ in range(2 * turns + 2)])
        calls[OURS, name] = lambda: br.ndcg_score(y, scores, qid, k=k)
        calls["boostrank, labels prepared", name] = lambda: bound.mean(scores)
        at = f"@{k}" if k else ""
        calls["boostrank, evaluate of one measure", name] = lambda: br.evaluate(
            y, scores, qid, [f"ndcg{at}"]
        )
        calls[f"boostrank, evaluate of {len(SEVERAL)} measures", name] = lambda: br.evaluate(
            y, scores, qid, [f"{measure}{at}" for measure in SEVERAL]
        )
        calls[SLOW, name] = lambda: sklearn_loop(y, scores, sizes, k)
        calls["pytrec_eval, evaluation", name] = lambda: evaluator.evaluate(run)
        calls["pytrec_eval, four measures", name] = lambda: several.evaluate(run)
        calls["ir_measures", name] = lambda: ir_measures.calc_aggregate(measures[:1], judged, run)
        calls["ir_measures, four measures", name] = lambda: ir_measures.calc_aggregate(
            measures, judged, run
        )
        calls["ranx, sorted beforehand", name] = lambda: ranx.evaluate(
            labels, sorted_run, ranx_metric
        )
        calls["ranx, with its sorting", name] = lambda: ranx.evaluate(
            labels, descending_sort_parallel(next(copies)), ranx_metric
        )
        calls["ranx, four measures, with its sorting", name] = lambda: ranx.evaluate(
            labels, descending_sort_parallel(next(copies)), ranx_several
        )
        calls["LightGBM's own evaluation", name] = lightgbm_evaluation(y, scores, sizes, k)

    add_calls("10", 10)
    add_calls("all", None)
    return calls


def speed_table(calls, turns):
    """A row per call: median, quartiles, and ratio to ours at the same cutoff."""
    slow = [key for key in calls if key[0] == SLOW]
    seconds = seconds_in_turns(calls, turns, warm_up=True, only_once=slow)
    ratios = {cutoff: median_ratios(seconds, (OURS, cutoff)) for cutoff in CUTOFFS}
    rows = []
    for name, k in calls:
        ms = 1e3 * seconds[name, k]
        row = {
            "call": name,
            "k": k,
            "median_ms": ms.median(),
            "quartile_1": ms.quantile(0.25),
            "quartile_3": ms.quantile(0.75),
        }
        for cutoff in CUTOFFS:
            row[f"times_ndcg_score_{cutoff}"] = (
                ratios[cutoff][name, k] if k in ("", cutoff) else np.nan
            )
        rows.append(row)
    return pd.DataFrame(rows)


def write_lines(path, n_lines):
    """Write a run with different scores, of which six decimals are written."""
    random = np.random.default_rng(0)
    with open(path, "w", encoding="utf-8") as file:
        for query in range(1000, 1000 + max(1, n_lines // N_RUN_DOCUMENTS)):
            documents = random.choice(10**7, N_RUN_DOCUMENTS, replace=False)
            scores = -np.sort(-random.normal(10.0, 3.0, N_RUN_DOCUMENTS))
            pairs = enumerate(zip(documents.tolist(), scores.tolist(), strict=True), 1)
            file.writelines(
                f"{query} Q0 D{number:07d} {rank} {score:.6f} tag\n"
                for rank, (number, score) in pairs
            )


def pytrec_eval_run(path):
    """A run as a dictionary."""
    with open(path, encoding="utf-8") as file:
        return pytrec_eval.parse_run(file)


def reading_table(n_lines, turns):
    """A row per reader of a TREC file: median, quartiles, and ratio to ours."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "run.trec")
        write_lines(path, n_lines)
        calls = {
            "boostrank read_run": lambda: br.read_run(path),
            "pandas, types of its choice": lambda: pd.read_csv(path, sep=" ", header=None),
            "pandas, ids as texts": lambda: pd.read_csv(
                path, sep=" ", header=None, dtype={0: str, 2: str}
            ),
            "pytrec_eval, dictionary": lambda: pytrec_eval_run(path),
            "ir_measures, list": lambda: list(ir_measures.read_trec_run(path)),
            "ranx, Run": lambda: ranx.Run.from_file(path, kind="trec"),
        }
        seconds = seconds_in_turns(calls, turns, warm_up=True)
    ratios = median_ratios(seconds, "boostrank read_run")
    quartiles = seconds.quantile([0.25, 0.5, 0.75]).T * 1e3
    quartiles.columns = ["quartile_1", "median_ms", "quartile_3"]
    table = quartiles[["median_ms", "quartile_1", "quartile_3"]].assign(times_read_run=ratios)
    return table.rename_axis("reader").reset_index()


def run_tables(n_lines, n_documents, kind):
    """Judgments and a run with so many documents a query as DataFrames.

    `kind` is one of ID_KINDS.
    """
    random, n_queries = np.random.default_rng(0), max(1, n_lines // n_documents)
    if kind == "20,000":
        numbers = np.concatenate(
            [random.choice(20_000, n_documents, replace=False) for _ in range(n_queries)]
        )
    else:
        numbers = random.permutation(10 * n_queries * n_documents)[: n_queries * n_documents]
    run = pd.DataFrame({"query_id": np.repeat(np.arange(n_queries), n_documents).astype(str)})
    is_uuid = kind == "UUIDs of one query"
    run["doc_id"] = [
        str(uuid5(NAMESPACE_OID, str(number))) if is_uuid else f"clueweb-en{number:010d}"
        for number in numbers.tolist()
    ]
    run["score"] = np.tile(np.linspace(9, 1, n_documents), n_queries)
    judged = random.random((n_queries, n_documents)).argsort(axis=1) < max(1, n_documents // 20)
    found = run.loc[judged.ravel(), ["query_id", "doc_id"]]
    qrels = pd.concat([found, found.assign(doc_id="x" + found["doc_id"])]).sort_index(kind="stable")
    return qrels.assign(relevance=random.integers(0, 3, len(qrels))), run


def as_dicts(table, value):
    """The nested dictionaries that pytrec_eval takes."""
    result = {}
    for query, document, number in zip(
        table["query_id"], table["doc_id"], table[value].tolist(), strict=True
    ):
        result.setdefault(query, {})[document] = number
    return result


def pytrec_eval_files(qrels, run):
    """NDCG@10 of each query from two files."""
    with open(qrels, encoding="utf-8") as file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.10"})
    return evaluator.evaluate(pytrec_eval_run(run))


def joining_table(n_lines, turns):
    """A row for each size of queries and kind of ids: milliseconds of both libraries, and ratios.

    Ratios are those to pytrec_eval's.
    """
    rows = []
    for n_documents, kind in product(RUN_SIZES, ID_KINDS):
        qrels, run = run_tables(n_lines, n_documents, kind)
        evaluator = pytrec_eval.RelevanceEvaluator(as_dicts(qrels, "relevance"), {"ndcg_cut.10"})
        dicts = as_dicts(run, "score")
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder, name)) for name in ("qrels", "run")]
            lines = {"sep": " ", "header": False, "index": False}
            qrels.assign(q0=0)[["query_id", "q0", "doc_id", "relevance"]].to_csv(files[0], **lines)
            columns = ["query_id", "q0", "doc_id", "rank", "score", "tag"]
            run.assign(q0="Q0", rank=1, tag="tag")[columns].to_csv(files[1], **lines)
            calls = {
                "pytrec_eval": partial(evaluator.evaluate, dicts),
                "evaluate_run": partial(br.evaluate_run, qrels, run, "nDCG@10"),
                "files_pytrec_eval": partial(pytrec_eval_files, *files),
                "files_boostrank": lambda files=files: br.evaluate_run(
                    br.read_qrels(files[0]), br.read_run(files[1]), "nDCG@10"
                ),
            }
            seconds = seconds_in_turns(calls, turns, warm_up=True, clock=time.process_time)
        row = {
            "documents a query": n_documents,
            "ids of documents": kind,
            **(1e3 * seconds.median()).add_suffix("_ms"),
        }
        row["times_pytrec_eval"] = median_ratios(seconds, "pytrec_eval")["evaluate_run"]
        row["files_times_pytrec_eval"] = median_ratios(seconds, "files_pytrec_eval")[
            "files_boostrank"
        ]
        rows.append(row)
    return pd.DataFrame(rows)


class Timed:
    """A metric that records its own seconds, with a callback that records when rounds end."""

    def __init__(self, metric):
        self.metric, self.inside, self.ends = metric, [], []

    def __call__(self, *arguments):
        """Evaluate."""
        start = time.perf_counter()
        result = self.metric(*arguments)
        self.inside.append(time.perf_counter() - start)
        return result

    def end_round(self, *_):
        """Record the end of a round."""
        self.ends.append(time.perf_counter())

    def shares(self):
        """Share of each round that was spent in the metric, without the first two rounds."""
        return np.array(self.inside[2:]) / np.diff(self.ends)[1:]


def lightgbm_rounds(training, validation, rounds):
    """Rounds of LightGBM with a timed metric."""
    (X, y, sizes), (X_valid, y_valid, sizes_valid) = training, validation
    data = lgb.Dataset(X, y, group=sizes)
    valid = lgb.Dataset(X_valid, y_valid, group=sizes_valid, reference=data)
    timed = Timed(br.lightgbm_metric("ndcg@10"))
    settings = {"objective": br.lightgbm_objective("softmax"), "metric": "None", "verbosity": -1}
    lgb.train(settings, data, rounds, valid_sets=[valid], feval=timed, callbacks=[timed.end_round])
    return timed


def xgboost_rounds(training, validation, rounds):
    """Rounds of XGBoost with a timed metric."""
    (X, y, sizes), (X_valid, y_valid, sizes_valid) = training, validation
    data = xgb.QuantileDMatrix(X, y, group=sizes)
    valid = xgb.QuantileDMatrix(X_valid, y_valid, group=sizes_valid, ref=data)
    timed = Timed(br.xgboost_metric("ndcg@10"))

    class Clock(xgb.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            timed.end_round()

    settings = {
        "base_score": 0,
        "disable_default_eval_metric": True,
        **leaf_parameters("xgboost", 31),
    }
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


def share_table(training, validation, rounds):
    """A row per library: milliseconds of the metric and of the round, and the share."""
    rows = []
    for library, boost in (("lightgbm", lightgbm_rounds), ("xgboost", xgboost_rounds)):
        timed = boost(training, validation, rounds)
        low, median, high = np.percentile(timed.shares(), [25, 50, 75])
        inside, whole = np.median(timed.inside[2:]) * 1e3, np.median(np.diff(timed.ends)[1:]) * 1e3
        rows.append((library, inside, whole, median, low, high))
    return pd.DataFrame(
        rows,
        columns=[
            "library",
            "metric_ms",
            "round_ms",
            "share",
            "share_quartile_1",
            "share_quartile_3",
        ],
    )


def make_rows(n_documents, n_features, seed):
    """Features, labels and sizes of queries of 40 to 200 documents."""
    n_queries = max(1, n_documents // N_DOCUMENTS)
    X, y, qid = br.make_ranking(
        n_queries, n_documents=(40, 200), n_features=n_features, random_state=seed
    )
    return X.astype(np.float32), y, np.bincount(qid)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument(
        "--documents", type=int, default=N_DOCUMENTS, help="mean number of documents a query"
    )
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--rows", type=int, default=240_000, help="documents to train on; 0 leaves this part out"
    )
    parser.add_argument("--features", type=int, default=136)
    parser.add_argument(
        "--lines", type=int, default=1_000_000, help="of the run to read; 0 leaves this part out"
    )
    parser.add_argument("--rounds", type=int, default=22)
    arguments = parser.parse_args()
    # numba warns of what ranx does with hashes of names.
    warnings.filterwarnings("ignore", message="unsafe cast")
    y, scores, qid, sizes = make_data(arguments.queries, arguments.documents)
    calls = calls_by_cutoff(y, scores, qid, sizes, arguments.turns)
    packages = [*PACKAGES, *dict.fromkeys((*OTHERS, "ir-measures"))]
    publish(
        speed_table(calls, arguments.turns),
        "metric_speed",
        arguments.output,
        title=f"Milliseconds of NDCG: {len(y):,} documents in {len(sizes):,} queries, "
        f"{arguments.turns} turns",
        seeds="0",
        packages=packages,
    )
    if arguments.lines:
        publish(
            reading_table(arguments.lines, arguments.turns),
            "reading_speed",
            arguments.output,
            title=f"Milliseconds to read a run of {arguments.lines:,} lines, {arguments.turns} "
            "turns",
            seeds="0",
            packages=[*packages, "pandas", "pyarrow"],
        )
        publish(
            joining_table(arguments.lines, arguments.turns),
            "joining_speed",
            arguments.output,
            title=f"Processor milliseconds of NDCG@10 of a run of {arguments.lines:,} lines, "
            f"{arguments.turns} turns",
            seeds="0",
            packages=[*packages, "pandas", "pyarrow"],
        )
    if arguments.rows:
        training = make_rows(arguments.rows, arguments.features, 0)
        validation = make_rows(arguments.rows // 4, arguments.features, 1)
        publish(
            share_table(training, validation, arguments.rounds),
            "metric_share",
            arguments.output,
            title=f"Share of NDCG@10 in a boosting round: {len(training[1]):,} documents to train "
            f"on, {len(validation[1]):,} to validate on, {arguments.features} features, 31 leaves, "
            "softmax",
            seeds="0 and 1",
        )


if __name__ == "__main__":
    main()
