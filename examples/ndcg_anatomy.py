"""NDCG in pictures: discounts, gains, ranks, cutoffs, ties, and NDCG during training.

python examples/ndcg_anatomy.py [--output FOLDER]
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import boostrank as br
from boostrank import DCG, displays
from boostrank.displays import style

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the pictures ndcg_anatomy*.png there"
)
arguments = parser.parse_args()
of_one_query, panels = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
of_rankers, ranker_panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")

# DCG is a sum of gain times discount: the discount depends on the rank, the gain on the relevance.
left, right = panels[0]
ranks, relevance = np.arange(1, 11), np.arange(5)
left.plot(
    ranks,
    DCG(discount="log2").discounts(10),
    "o-",
    color=style.BLUE,
    label="log2: 1 / log2(1 + rank)",
)
left.plot(
    ranks, DCG(discount="zipf").discounts(10), "s--", color=style.ORANGE, label="zipf: 1 / rank"
)
left.set(xlabel="rank", ylabel="discount", xticks=ranks, ylim=(0.0, 1.05))
right.plot(
    relevance,
    DCG(gain="exp2").gains(relevance),
    "o-",
    color=style.BLUE,
    label="exp2: 2^relevance - 1",
)
right.plot(
    relevance,
    DCG(gain="linear").gains(relevance),
    "s--",
    color=style.ORANGE,
    label="linear: relevance",
)
right.set(xlabel="relevance", ylabel="gain", xticks=relevance)
for ax in (left, right):
    style.light_grid(ax)
    ax.legend(frameon=False)

# One query of eight documents: what each rank adds to its DCG, and its NDCG by cutoff.
documents = list("ABCDEFGH")
labels = [3, 2, 3, 0, 1, 2, 0, 1]
scores = [0.60, 0.20, 0.80, 0.40, 0.10, 0.30, 0.05, 0.70]
qid = np.zeros(8, dtype=int)
ranking = np.argsort(scores)[::-1][:5]
found = pd.DataFrame(
    {
        "rank": ranks[:5],
        "document": np.take(documents, ranking),
        "relevance": np.take(labels, ranking),
    }
)
found["gain"], found["discount"] = DCG().gains(found["relevance"]), DCG().discounts(5)
found["contribution"] = found["gain"] * found["discount"]
found["ideal_contribution"] = DCG().gains(np.sort(labels)[::-1][:5]) * found["discount"]
left = panels[1, 0]
left.bar(
    found["rank"] - 0.2,
    found["contribution"],
    width=0.38,
    color=style.BLUE,
    label="ranked by score",
)
look = {"facecolor": "none", "edgecolor": style.ORANGE, "hatch": "//"}
left.bar(
    found["rank"] + 0.2, found["ideal_contribution"], width=0.38, label="ideal ranking", **look
)
left.set_xticks(
    found["rank"],
    [f"{rank}\n{name}" for rank, name in zip(found["rank"], found["document"], strict=True)],
)
left.set(xlabel="rank, and document that the scores put at this rank", ylabel="gain × discount")
left.legend(frameon=False)
style.light_grid(left)
dcg, ideal = found[["contribution", "ideal_contribution"]].sum()
table = found.drop(columns="ideal_contribution")
print(
    "One query of eight documents. Each of the first five ranks adds its gain times its discount "
    "to DCG@5:\n"
)
print(
    table.astype({"relevance": int, "gain": int}).to_string(
        index=False, float_format="{:.4f}".format
    )
)
print(
    f"\nTheir sum is DCG@5 = {dcg:.4f}. The ideal ranking has {ideal:.4f}, so that NDCG@5 is "
    f"{dcg / ideal:.4f}."
)
values = [br.ndcg_score(labels, scores, qid, k=k) for k in range(1, 9)]
print(f"By cutoff, from 1 to 8, its NDCG is {', '.join(f'{value:.2f}' for value in values)}.")
lost = (table["gain"].to_numpy() < DCG().gains(np.sort(labels)[::-1][:5])).argmax() + 1
moves = (
    "rises with every cutoff"
    if np.all(np.diff(values) > 0)
    else "does not simply rise with the cutoff"
)
print(
    f"Here NDCG {moves}: rank {lost} has a smaller gain than in the ideal ranking, and later ranks "
    "make up for it."
)

# Three of five documents have the same score: NDCG depends on the rule that ranks them.
labels, scores, qid = [3, 2, 1, 0, 0], [0.9, 0.8, 0.8, 0.8, 0.1], np.zeros(5)
rules = ("worst", "best", "average", "stable")
worst, best, average, by_row = (
    br.ndcg_score(labels, scores, qid, k=5, ties=ties) for ties in rules
)
print(
    f"Where three of five documents have the same score, NDCG@5 is between {worst:.4f} and "
    f"{best:.4f}, and {average:.4f} on average. Ranked by row, as many tools do, it is "
    f"{by_row:.4f}."
)

# Three losses on many queries, and NDCG after each round. The first loss does not use the queries.
X, y, qid = br.make_ranking(n_queries=250, random_state=0)
rest, test = br.split_queries(qid, 0.3, random_state=0)
kept, held = br.split_queries(qid[rest], 0.2, random_state=0)
train, validation, test = (
    br.Dataset(X, y, qid).take(rows) for rows in (rest[kept], rest[held], test)
)
settings = {"k": 5, "random_state": 0, "n_jobs": 1}
rankers = {
    "squared error of gains": br.LightGBMRanker("squared", normalize="none", **settings),
    "pairs (lambdarank)": br.LightGBMRanker("lambdarank", **settings),
    "softmax": br.LightGBMRanker("softmax", **settings),
}
for ranker in rankers.values():
    ranker.fit(*train, eval_set={"validation": validation})
training = displays.TrainingCurveDisplay.from_estimator(rankers, ax=ranker_panels[0])
# Equal scores are a random ranking: ties count by the mean of NDCG over all permutations.
random_ndcg = br.ndcg_score(validation.y, np.zeros(len(validation.y)), validation.qid, k=5)
training.ax_.set_title(
    f"mean over {len(np.unique(validation.qid))} validation queries", fontsize="medium"
)
training.ax_.axhline(random_ndcg, color="0.4", linewidth=1)
training.ax_.annotate("random ranking", (1.0, random_ndcg), va="bottom", color="0.3")

# The same rankers on queries that none of them has seen, by cutoff; and ties where scores are
# rounded.
curve = displays.NDCGCurveDisplay.from_estimator(
    rankers, *test, ks=range(1, 11), ax=ranker_panels[1]
)
curve.ax_.set_title(f"mean over {curve.n_queries} test queries", fontsize="medium")
print(f"Three losses on {curve.n_queries} test queries, with the default settings of each loss:")
at_5 = curve.table[curve.table["k"] == 5].set_index("ranker")["mean"]
for name, mean in at_5.items():
    print(f"  {name:23} {training.best[name]:3} rounds, NDCG@5 {mean:.4f}")
print(
    f"  {'random ranking':23} {'':10} NDCG@5 "
    f"{br.ndcg_score(test.y, np.zeros(len(test.y)), test.qid, k=5):.4f}"
)
scores = rankers["softmax"].predict(test.X)
rounded = (test.y, scores.round(1), test.qid)
worst, best, average, _ = (
    br.ndcg_score(*rounded, k=5, ties=ties, per_query=True) for ties in rules
)
right, order = panels[1, 1], np.argsort(average)
rows = np.arange(len(order))
right.hlines(
    rows, worst[order], best[order], color=style.SKY, label="worst to best ranking of ties"
)
right.plot(average[order], rows, ".", color=style.BLACK, label="average over all permutations")
right.set(
    xlabel="NDCG@5 of scores that are rounded to one decimal",
    ylabel="test query, sorted by the average",
)
right.legend(frameon=False)
style.light_grid(right, "x")
spread = best.mean() - worst.mean()
print(
    "If scores of softmax are rounded to one decimal, the tie rule moves mean NDCG@5 by "
    f"{spread:.4f}."
)
between = np.ptp(at_5)
relation = "more" if spread > between else "less"
print(
    f"Learned: how ties are counted can change NDCG@5 by {spread:.4f} here, {relation} than the "
    f"choice among these three losses ({between:.4f}). State cutoff, gain, discount and tie rule "
    "beside every NDCG."
)

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    of_one_query.savefig(arguments.output / "ndcg_anatomy.png", dpi=120)
    of_rankers.savefig(arguments.output / "ndcg_anatomy_rankers.png", dpi=120)
