"""NDCG taken apart in pictures: discount, gain, one query's ranks and cutoffs, ties, and NDCG while training.

python examples/ndcg_anatomy.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import boostrank as br
from boostrank import displays, metrics

matplotlib.use("Agg")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)


def save(display, name):
    display.figure_.savefig(folder / f"{name}.png", dpi=150)
    displays.import_pyplot().close(display.figure_)
    return display


# What NDCG is made of: a discount by rank and a gain by label.
save(displays.DiscountDisplay.from_discounts(["log2", "zipf"], n_ranks=10), "discount")
save(displays.GainDisplay.from_gains(["exp2", "linear"], labels=range(5)), "gain")

# One query of eight documents: what each rank adds, and the same query by cutoff.
documents = list("ABCDEFGH")
labels = [3, 2, 3, 0, 1, 2, 0, 1]
scores = [0.60, 0.20, 0.80, 0.40, 0.10, 0.30, 0.05, 0.70]
display = save(displays.DCGBreakdownDisplay.from_predictions(labels, scores, k=5, documents=documents), "breakdown")
print(display.table.drop(columns="document").assign(document=display.documents).round(4).to_string(index=False))
print(f"DCG@5 {display.dcg:.4f}, ideal {display.ideal_dcg:.4f}, NDCG@5 {display.ndcg:.4f}")
cutoffs = range(1, 9)
curve = save(displays.NDCGCurveDisplay.from_predictions(labels, scores, ks=cutoffs), "cutoffs")
print("NDCG@k for k = 1 to 8:", *(f"{value:.4f}" for value in curve.mean[0]))

# Three of five documents have the same score: NDCG depends on who decides their order.
labels, scores = [3, 2, 1, 0, 0], [0.9, 0.8, 0.8, 0.8, 0.1]
spread = save(displays.TieSpreadDisplay.from_predictions(labels, scores, k=5), "ties_of_one_query")
by_row = br.ndcg_score(labels, scores, k=5, ties="stable")
worst, average, best = spread.worst[0], spread.average[0], spread.best[0]
print(f"ties: worst {worst:.4f}, average {average:.4f}, by row {by_row:.4f}, best {best:.4f}")

# Three losses on many queries, the first of them blind to the queries, scored after each round.
X, y, qid = br.make_ranking(n_queries=300, random_state=0)
train, validation = ((X[rows], y[rows], qid[rows]) for rows in br.split_queries(qid, 0.2, random_state=0))
settings = {"n_estimators": 150, "early_stopping_rounds": 50, "k": 5, "num_leaves": 7, "random_state": 0, "n_jobs": 1}
rankers = {
    "squared error of gains": br.LightGBMRanker("squared", normalize="none", **settings),
    "pairs (lambdarank)": br.LightGBMRanker("lambdarank", **settings),
    "softmax": br.LightGBMRanker("softmax", **settings),
}
for ranker in rankers.values():
    ranker.fit(*train, eval_set=[train, validation])
names = {"valid_0": "training", "valid_1": "validation"}
training = displays.TrainingCurveDisplay.from_estimator(rankers, datasets=names)
# Scores that are all alike are ordered by chance, and ties count by their expectation.
chance = br.ndcg_score(validation[1], np.zeros(len(validation[1])), validation[2], k=5)
training.ax_.axhline(chance, color="0.4", linewidth=1)
training.ax_.annotate("order by chance (validation)", (1.0, chance), va="bottom", color="0.3")
save(training, "training")
print(f"NDCG@5 of an order by chance, validation: {chance:.4f}")
for (name, part), values in training.curves.items():
    rounds = training.best[name]
    print(f"{name}, {part}: NDCG@5 {values[0]:.4f} after 1 round, {values[rounds - 1]:.4f} after {rounds}")

# The same rankers by cutoff, and how much of a rounded score is left to chance.
save(displays.NDCGCurveDisplay.from_estimator(rankers, *validation, ks=range(1, 16)), "rankers")
rounded = rankers["softmax"].predict(validation[0]).round()
save(displays.TieSpreadDisplay.from_predictions(validation[1], rounded, validation[2], k=5), "ties")
spread = metrics.tie_range(validation[1], rounded, validation[2], k=5)
print(f"rounded scores, mean NDCG@5: worst {spread.worst:.4f}, average {spread.average:.4f}, best {spread.best:.4f}")
print(f"pictures: {folder}")
