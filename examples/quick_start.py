"""Train a ranker on LETOR data, and score it on queries that it has not seen.

Without a file, the data are synthetic.

python examples/quick_start.py [LETOR_FILE] [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import boostrank as br

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("file", nargs="?", help="data in LETOR format; by default synthetic data")
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture quick_start.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

data = (
    br.read_letor(arguments.file)
    if arguments.file
    else br.make_ranking(n_queries=300, random_state=0)
)
X, y, qid = data
train, test = br.split_queries(qid, 0.3, random_state=0)

ranker = br.LightGBMRanker(random_state=0).fit(X[train], y[train], qid[train])
n_train = len(np.unique(qid[train]))
print(
    f"The ranker was trained on {n_train} queries. Each of its {ranker.best_iteration_} rounds "
    "drew half of them, and "
    "the others decided how many rounds there are."
)

# The scores of this one are those of lightgbm.LGBMRanker(), whose loss is LambdaMART.
lambdamart = br.LightGBMRanker("lambdarank", random_state=0).fit(X[train], y[train], qid[train])

ndcg = br.ndcg_score(y[test], ranker.predict(X[test]), qid[test], k=10)
lambdamart_ndcg = br.ndcg_score(y[test], lambdamart.predict(X[test]), qid[test], k=10)
# Equal scores are a random ranking: by default ties count by the mean of NDCG over all their
# permutations.
random_ndcg = br.ndcg_score(y[test], np.zeros(len(test)), qid[test], k=10)
ideal_ndcg = br.ndcg_score(y[test], y[test], qid[test], k=10)
n_test = len(np.unique(qid[test]))
print(
    f"On {n_test} test queries its NDCG@10 is {ndcg:.4f}; that of LightGBM's LambdaMART is "
    f"{lambdamart_ndcg:.4f}, and that of a random ranking {random_ndcg:.4f}."
)
share = (ndcg - random_ndcg) / (ideal_ndcg - random_ndcg)
print(
    f"Learned: on new queries the ranker goes {share:.0%} of the way from a random ranking to the "
    "best possible one."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    rankers = {
        "LightGBMRanker(): a consistent loss": ranker,
        "LGBMRanker(): LambdaMART": lambdamart,
    }
    display = br.displays.NDCGCurveDisplay.from_estimator(rankers, X[test], y[test], qid[test])
    display.figure_.savefig(arguments.output / "quick_start.png", dpi=160)
