"""Cost of an objective per round and document in LightGBM, with the round trip to Python.

python benchmarks/objective_cost.py [--queries 10000] [--documents 120] [--rounds 40] [--threads N]
                                    [--truncation 30] [--objectives softmax ...] [--output FOLDER]

Trees of two leaves on one feature cost almost nothing. The time of a round beyond that of plain
regression is therefore the objective: computing gradients, and for our losses also passing scores
and gradients between LightGBM and Python. Boosting starts from random scores, so that documents
have different ones, as with the trees of a usual training. All boosters live in one process and
take turns round by round. The table has medians over rounds, minus the median of plain regression.
`--truncation` is that of lambdarank and of consistent-lambdarank; a large one counts all pairs, as
the other losses of pairs do.
"""

from dataclasses import replace

import lightgbm as lgb
import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import seconds_in_turns
from workloads import ragged_sizes

import boostrank as br
from boostrank import use_threads
from boostrank.kernels import library
from boostrank.surrogates import SURROGATES, ConsistentLambdaRank

PARAMETERS = {
    "num_leaves": 2,
    "max_bin": 15,
    "metric": "None",
    "verbosity": -1,
    "force_col_wise": True,
}
NATIVE = ("lambdarank", "rank_xendcg")


def make_update(objective, X, y, start, sizes, threads, truncation):
    """A function that boosts a new booster by one round."""
    parameters = PARAMETERS | {"num_threads": threads}
    settings = {"verbosity": -1, "max_bin": 15}
    dataset = lgb.Dataset(X, y, group=sizes, init_score=start, params=settings).construct()
    if objective not in SURROGATES:
        parameters |= {"objective": objective, "lambdarank_truncation_level": truncation}
        return lgb.Booster(parameters, dataset).update
    surrogate = SURROGATES[objective]
    if isinstance(surrogate, ConsistentLambdaRank):
        surrogate = replace(surrogate, truncation=truncation)
    booster, function = lgb.Booster(parameters, dataset), br.lightgbm_objective(surrogate)

    def update():
        with use_threads(threads):
            booster.update(fobj=function)

    return update


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument(
        "--documents", type=int, default=120, help="mean number of documents a query"
    )
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--threads", type=int, default=0, help="0 for one per processor")
    parser.add_argument("--truncation", type=int, default=30)
    parser.add_argument(
        "--objectives", nargs="+", choices=list(SURROGATES), default=list(SURROGATES)
    )
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    sizes = ragged_sizes(arguments.queries, arguments.documents, random)
    X = random.normal(size=(sizes.sum(), 1))
    y = random.choice(5, len(X), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    names, start = ("regression", *NATIVE, *arguments.objectives), random.normal(size=len(X))
    settings = arguments.threads, arguments.truncation
    updates = {name: make_update(name, X, y, start, sizes, *settings) for name in names}
    # The first round, which binds an objective to the data, is the untimed one.
    ns = seconds_in_turns(updates, arguments.rounds, warm_up=True) / len(X) * 1e9
    plain = ns.pop("regression").median()
    ns -= plain
    table = pd.DataFrame(
        {
            "ns_per_document": ns.median(),
            "quartile_1": ns.quantile(0.25),
            "quartile_3": ns.quantile(0.75),
        }
    )
    for peer in reversed(NATIVE):
        table[f"times_{peer}"] = table["ns_per_document"] / ns[peer].median()
    publish(
        table.rename_axis("objective").reset_index(),
        "objective_cost",
        arguments.output,
        title=f"Nanoseconds per document and round: {len(X):,} documents in {len(sizes):,} queries",
        seeds="0",
        notes=[
            f"plain regression, {plain:.1f} ns, is subtracted",
            f"compiled library: {library.status()}",
        ],
    )


if __name__ == "__main__":
    main()
