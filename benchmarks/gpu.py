"""Rounds of XGBoost on a GPU with our losses against rank:ndcg there.

The models of both ways of computing a loss are compared too.

python benchmarks/gpu.py [--documents 1000000 10000000 50000000] [--features 136] [--rounds 20]
                         [--device cuda]

It needs one NVIDIA GPU and CuPy: pip install 'cupy-cuda12x[ctk]'. It runs too with ``--device cpu
--documents 20000``.

Rounds: a callback takes the time between rounds. The table has the median over turns and rounds,
the first two left out. The objective is computed by XGBoost (rank:ndcg), by CuPy on the GPU, or by
the CPU, as without CuPy. Gradients are then copied to the GPU in every round. The trees are those
of our defaults, which draw queries and features, or those of rank:ndcg, which do not.

Models: NDCG@10 after all rounds with the least number of documents, of trees grown on the CPU, and
of trees grown on the GPU with the loss computed by the CPU and by CuPy. `largest_difference` is the
largest one of two scores of a document between the last two.
"""

import sys
import time
from contextlib import contextmanager

import numpy as np
import pandas as pd
import xgboost as xgb
from reporting import make_parser, publish
from workloads import EQUAL_TREES, N_DOCUMENTS, N_FEATURES, ragged_sizes

import boostrank as br
from boostrank.surrogates import get_surrogate

NATIVE = "rank:ndcg"
SURROGATES = ("softmax", "consistent-lambdarank", "power", "logistic")
#: Parameters of the trees, by their name in the table.
TREES = {
    "default": {},
    NATIVE: {
        "learning_rate": 0.3,
        "reg_lambda": 1.0,
        "colsample_bytree": 1.0,
        "max_depth": 6,
        **EQUAL_TREES,
    },
}
N_WARM_UP = 2


class RoundTimes(xgb.callback.TrainingCallback):
    """The time at the end of each round, as XGBoost's method `after_iteration` records it."""

    def __init__(self):
        self.times = []

    def after_iteration(self, model, epoch, evals_log):  # noqa: D102
        self.times.append(time.perf_counter())
        return False


@contextmanager
def without_cupy():
    """Let imports of CuPy fail, as if it was not installed."""
    before = sys.modules.get("cupy")
    sys.modules["cupy"] = None
    try:
        yield
    finally:
        if before is None:
            del sys.modules["cupy"]
        else:
            sys.modules["cupy"] = before


def make_data(n_documents, n_features):
    """Features of 8 bits, labels 0 to 4 and query ids.

    50 million documents with 136 features take 7 GB.
    """
    random = np.random.default_rng(0)
    sizes = ragged_sizes(max(1, n_documents // N_DOCUMENTS), N_DOCUMENTS, random)
    X = random.integers(0, 256, (sizes.sum(), n_features), dtype=np.uint8)
    noise = random.standard_normal(len(X), dtype=np.float32)
    y = np.clip(np.round(X[:, 0] / np.float32(64.0) + noise - 2.0), 0, 4).astype(np.uint8)
    return X, y, np.repeat(np.arange(len(sizes)), sizes)


def fit(data, objective, trees, computed_by, device, n_rounds):
    """Train a ranker; returns it and the seconds of each round after the first ones."""
    X, y, qid = data
    times = RoundTimes()
    ranker = br.XGBoostRanker(objective, n_estimators=n_rounds, device=device, random_state=0)
    if objective != NATIVE:
        ranker.set_params(**TREES[trees])
    if computed_by == "CPU":
        with without_cupy():
            ranker.fit(X, y, qid, callbacks=[times])
    else:
        ranker.fit(X, y, qid, callbacks=[times])
    return ranker, np.diff(times.times)[N_WARM_UP - 1 :]


def ways(objective, device):
    """Who can compute an objective."""
    if device == "cpu" or not get_surrogate(objective).takes_device_arrays:
        return ["CPU"]
    return ["CPU", "CuPy"]


def round_table(data, objectives, arguments):
    """Milliseconds of a round of each objective, and its ratio to that of rank:ndcg."""
    device = arguments.device
    calls = [(NATIVE, NATIVE, "XGBoost")]
    calls += [
        (objective, trees, way)
        for objective in objectives
        for trees in TREES
        for way in ways(objective, device)
    ]
    seconds = {call: [] for call in calls}
    for turn in range(arguments.turns):
        for call in calls if turn % 2 == 0 else reversed(calls):
            seconds[call].extend(fit(data, *call, device, arguments.rounds)[1])
    table = pd.DataFrame(
        [(len(data[1]), *call, 1e3 * np.median(seconds[call])) for call in calls],
        columns=["documents", "objective", "trees", "computed_by", "round_ms"],
    )
    return table.assign(times_rank_ndcg=table["round_ms"] / table["round_ms"].iloc[0])


def model_table(data, objectives, arguments):
    """NDCG@10 of models of the CPU and of the GPU."""
    rows = []
    for objective in objectives:
        rankers = {"cpu": fit(data, objective, "default", "CPU", "cpu", arguments.rounds)[0]}
        for way in ways(objective, arguments.device):
            rankers[way] = fit(data, objective, "default", way, arguments.device, arguments.rounds)[
                0
            ]
        scores = {name: ranker.predict(data[0]) for name, ranker in rankers.items()}
        ndcg = {
            f"ndcg_{name}": br.ndcg_score(data[1], s, data[2], k=10) for name, s in scores.items()
        }
        difference = np.abs(scores["CuPy"] - scores["CPU"]).max() if "CuPy" in scores else np.nan
        rows.append({"objective": objective, **ndcg, "largest_difference": difference})
    names = {
        "ndcg_cpu": "ndcg_trees_on_cpu",
        "ndcg_CPU": "ndcg_loss_on_cpu",
        "ndcg_CuPy": "ndcg_loss_on_gpu",
    }
    return pd.DataFrame(rows).rename(columns=names)


def main():
    parser = make_parser(__doc__)
    parser.add_argument(
        "--documents", type=int, nargs="+", default=[1_000_000, 10_000_000, 50_000_000]
    )
    parser.add_argument("--features", type=int, default=N_FEATURES)
    parser.add_argument("--objectives", nargs="+", default=SURROGATES)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="cuda", help="device of XGBoost, default cuda")
    arguments = parser.parse_args()
    device, packages = "CPU", ("boostrank", "xgboost", "numpy")
    if arguments.device != "cpu":
        try:
            import cupy
        except ImportError as error:
            parser.error(f"CuPy cannot be imported ({error}): pip install 'cupy-cuda12x[ctk]'")
        if not cupy.cuda.is_available():
            parser.error("CuPy finds no GPU: use --device cpu to see that the script runs")
        name = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)["name"].decode()
        device = f"{name}, CuPy {cupy.__version__}"
    tables, smallest = [], min(arguments.documents)
    notes = [
        f"device: {device}; {arguments.features} features, {arguments.rounds} rounds, "
        f"{arguments.turns} turns"
    ]
    settings = {"seeds": "0", "notes": notes, "packages": packages}
    for n_documents in sorted(arguments.documents):
        data = make_data(n_documents, arguments.features)
        tables.append(round_table(data, arguments.objectives, arguments))
        # Published after each number of documents, because a larger one may not fit into the
        # memory.
        publish(
            pd.concat(tables),
            "gpu_rounds",
            arguments.output,
            title=f"Milliseconds of a round of XGBoost, device {device}",
            **settings,
        )
        if n_documents == smallest:
            publish(
                model_table(data, arguments.objectives, arguments),
                "gpu_models",
                arguments.output,
                title=f"NDCG@10 on {smallest:,} training documents after {arguments.rounds} "
                f"rounds, device {device}",
                formats={"largest_difference": ".2g"},
                **settings,
            )


if __name__ == "__main__":
    main()
