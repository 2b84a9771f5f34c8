"""Cost of an objective per boosting round and document in LightGBM, the round trip to Python included.

python benchmarks/objective_cost.py [--queries 10000] [--documents 120] [--rounds 40] [--output FOLDER]

Trees of two leaves on one feature cost almost nothing. The time of a round beyond that of plain regression is therefore
the objective: computing gradients, and for our losses also passing scores and gradients between LightGBM and Python.
All boosters live in one process and take turns round by round. The table has medians over rounds, minus the median of
plain regression.
"""

import lightgbm as lgb
import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import seconds_in_turns
from workloads import ragged_sizes

import boostrank as br
from boostrank.surrogates import SURROGATES

PARAMETERS = {"num_leaves": 2, "max_bin": 15, "metric": "None", "verbosity": -1, "force_col_wise": True}
NATIVE = ("lambdarank", "rank_xendcg")


def make_update(objective, X, y, sizes):
    """A function that boosts a new booster by one round."""
    dataset = lgb.Dataset(X, y, group=sizes, params={"verbosity": -1, "max_bin": 15}).construct()
    if objective not in SURROGATES:
        return lgb.Booster({**PARAMETERS, "objective": objective}, dataset).update
    booster, function = lgb.Booster(PARAMETERS, dataset), br.lightgbm_objective(objective)
    return lambda: booster.update(fobj=function)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--documents", type=int, default=120, help="mean number of documents a query")
    parser.add_argument("--rounds", type=int, default=40)
    arguments = parser.parse_args()
    random = np.random.default_rng(0)
    sizes = ragged_sizes(arguments.queries, arguments.documents, random)
    X = random.normal(size=(sizes.sum(), 1))
    y = random.choice(5, len(X), p=[0.6, 0.2, 0.12, 0.05, 0.03])
    updates = {name: make_update(name, X, y, sizes) for name in ("regression", *NATIVE, *SURROGATES)}
    # The first round, which binds an objective to the data, is the untimed one.
    ns = seconds_in_turns(updates, arguments.rounds, warm_up=True) / len(X) * 1e9
    plain = ns.pop("regression").median()
    ns -= plain
    table = pd.DataFrame(
        {"ns_per_document": ns.median(), "quartile_1": ns.quantile(0.25), "quartile_3": ns.quantile(0.75)}
    )
    for peer in reversed(NATIVE):
        table[f"times_{peer}"] = table["ns_per_document"] / ns[peer].median()
    publish(
        table.rename_axis("objective").reset_index(),
        "objective_cost",
        arguments.output,
        title=f"Nanoseconds per document and round: {len(X):,} documents in {len(sizes):,} queries",
        seeds="0",
        notes=[f"plain regression, {plain:.1f} ns, is subtracted"],
    )


if __name__ == "__main__":
    main()
