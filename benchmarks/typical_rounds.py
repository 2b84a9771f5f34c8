"""Best number of boosting rounds of each loss, at learning rate 0.1 and the other defaults of LightGBMRanker.

python benchmarks/typical_rounds.py DATA ... [--rounds 300] [--threads 1] [--output FOLDER]

DATA as for quality.py. In each fold a ranker trains on the training queries, and the round with the best NDCG@10 on the
validation queries is its best round; test queries are not used. The table has the medians over folds, a column for each
data set.
"""

import warnings

import numpy as np
import pandas as pd
from reporting import make_parser, publish
from rich.progress import track
from workloads import data_name, read_folds

import boostrank as br
from boostrank.surrogates import SURROGATES

OBJECTIVES = ("lambdarank", "rank_xendcg", *SURROGATES)


def best_round(objective, fold, rounds, threads):
    """The round, from 1, with the best NDCG@10 on the validation queries."""
    settings = {"k": 10, "n_estimators": rounds, "learning_rate": 0.1, "random_state": 0, "n_jobs": threads}
    ranker = br.LightGBMRanker(objective, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(*fold.train, eval_set=[tuple(fold.validation)])
    return int(np.argmax(ranker.evals_result_["valid_0"]["ndcg@10"])) + 1


def main():
    parser = make_parser(__doc__)
    parser.add_argument("data", nargs="+")
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    table = pd.DataFrame({"objective": OBJECTIVES})
    for data in arguments.data:
        name = data_name(data)
        folds = read_folds(data)
        table[name] = [
            float(np.median([best_round(objective, fold, arguments.rounds, arguments.threads) for fold in folds]))
            for objective in track(OBJECTIVES, description=name)
        ]
    publish(
        table,
        "typical_rounds",
        arguments.output,
        title=f"Median best round of {arguments.rounds} by validation NDCG@10, LightGBM, learning rate 0.1",
        seeds="0",
        formats=dict.fromkeys(table.columns[1:], ".0f"),
    )


if __name__ == "__main__":
    main()
