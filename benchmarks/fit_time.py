"""Time of a whole fit with our losses against the ranking objectives of each library, with trees of equal size.

All features are candidates in each node, so that the trees of all objectives need the same work.

python benchmarks/fit_time.py [--documents 200000] [--libraries lightgbm xgboost] [--rounds 30] [--turns 3]

In each turn every objective is fitted once, in one process. A ratio is taken within a turn, and the table has the
median over turns.
"""

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from timing import median_ratios, seconds_in_turns
from workloads import LAMBDAMART, N_DOCUMENTS, N_FEATURES, equal_trees, make_ranker

import boostrank as br

OTHER_NATIVE = {"lightgbm": "rank_xendcg", "xgboost": "rank:pairwise"}
SURROGATES = ("consistent-lambdarank", "softmax", "centered-squared", "logistic", "centered-logistic", "cosine")


def main():
    parser = make_parser(__doc__)
    parser.add_argument("--documents", type=int, default=200_000)
    parser.add_argument("--libraries", nargs="+", choices=list(LAMBDAMART), default=list(LAMBDAMART))
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--leaves", type=int, default=31)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    n_queries = max(1, arguments.documents // N_DOCUMENTS)
    X, y, qid = br.make_ranking(n_queries, n_documents=(40, 200), n_features=N_FEATURES, random_state=0)
    X = X.astype(np.float32)

    def make_call(library, objective):
        settings = {"n_estimators": arguments.rounds, "learning_rate": 0.1, "random_state": 0, **equal_trees(library)}
        return lambda: make_ranker(library, objective, arguments.leaves, **settings).fit(X, y, qid)

    parts = []
    for library in arguments.libraries:
        objectives = [LAMBDAMART[library], OTHER_NATIVE[library], *SURROGATES]
        seconds = seconds_in_turns({name: make_call(library, name) for name in objectives}, arguments.turns)
        part = pd.DataFrame({"median_s": seconds.median()})
        part["times_lambdamart"] = median_ratios(seconds, LAMBDAMART[library])
        part["times_other_native"] = median_ratios(seconds, OTHER_NATIVE[library])
        part = part.rename_axis("objective").reset_index()
        part.insert(0, "library", library)
        parts.append(part)
    publish(
        pd.concat(parts),
        "fit_time",
        arguments.output,
        title=f"Seconds of a fit: {len(y):,} documents x {N_FEATURES} features, {arguments.rounds} rounds",
        seeds="0",
        notes=["the other native objective is rank_xendcg of LightGBM and rank:pairwise of XGBoost"],
    )


if __name__ == "__main__":
    main()
