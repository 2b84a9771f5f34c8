"""NDCG in pictures: discounts and gains, the ranks and cutoffs of one query, ties, and NDCG during training.

python examples/ndcg_anatomy.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import boostrank as br
from boostrank import displays, metrics
from boostrank.dcg import DCG

matplotlib.use("Agg")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
folder.mkdir(parents=True, exist_ok=True)
plt = displays.import_pyplot()


def save(display, name):
    display.figure_.savefig(folder / f"{name}.png", dpi=150)
    plt.close(display.figure_)
    return display


# DCG is a sum of gain times discount: the discount depends on the rank, the gain on the relevance.
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
ranks, relevance = np.arange(1, 11), np.arange(5)
left.plot(ranks, DCG(discount="log2").discounts(10), "o-", label="log2: 1 / log2(1 + rank)")
left.plot(ranks, DCG(discount="zipf").discounts(10), "s--", label="zipf: 1 / rank")
left.set(xlabel="rank", ylabel="discount", xticks=ranks, ylim=(0.0, 1.05))
right.plot(relevance, DCG(gain="exp2").gains(relevance), "o-", label="exp2: 2^relevance - 1")
right.plot(relevance, DCG(gain="linear").gains(relevance), "s--", label="linear: relevance")
right.set(xlabel="relevance", ylabel="gain", xticks=relevance)
for ax in (left, right):
    ax.legend(frameon=False)
figure.savefig(folder / "discount_and_gain.png", dpi=150)
plt.close(figure)

# One query of eight documents: what each rank adds to its DCG, and its NDCG by cutoff.
documents = list("ABCDEFGH")
labels = [3, 2, 3, 0, 1, 2, 0, 1]
scores = [0.60, 0.20, 0.80, 0.40, 0.10, 0.30, 0.05, 0.70]
qid = np.zeros(8)
breakdown = displays.DCGBreakdownDisplay.from_predictions(labels, scores, qid, k=5, documents=documents)
display = save(breakdown, "breakdown")
table = display.table.drop(columns=["qid", "document"]).assign(document=display.documents)
print(table.round(4).to_string(index=False))
print(f"DCG@5 {display.dcg:.4f}, ideal {display.ideal_dcg:.4f}, NDCG@5 {display.ndcg:.4f}")
cutoffs = range(1, 9)
curve = save(displays.NDCGCurveDisplay.from_predictions(labels, scores, qid, ks=cutoffs), "cutoffs")
print("NDCG@k for k = 1 to 8:", *(f"{value:.4f}" for value in curve.mean[0]))

# Three of five documents have the same score: NDCG depends on the rule that ranks them.
labels, scores, qid = [3, 2, 1, 0, 0], [0.9, 0.8, 0.8, 0.8, 0.1], np.zeros(5)
tied = save(displays.TieRangeDisplay.from_predictions(labels, scores, qid, k=5), "ties_of_one_query")
by_row = br.ndcg_score(labels, scores, qid, k=5, ties="stable")
worst, average, best = tied.worst[0], tied.average[0], tied.best[0]
print(f"ties: worst {worst:.4f}, average {average:.4f}, by row {by_row:.4f}, best {best:.4f}")

# Three losses on many queries, and NDCG after each round. The first loss does not use the queries.
X, y, qid = br.make_ranking(n_queries=300, random_state=0)
train, validation = ((X[rows], y[rows], qid[rows]) for rows in br.split_queries(qid, 0.2, random_state=0))
settings = {"n_estimators": 150, "early_stopping_rounds": 50, "k": 5, "num_leaves": 7, "random_state": 0, "n_jobs": 1}
rankers = {
    "squared error of gains": br.LightGBMRanker("squared", normalize="none", **settings),
    "pairs (lambdarank)": br.LightGBMRanker("lambdarank", **settings),
    "softmax": br.LightGBMRanker("softmax", **settings),
}
for ranker in rankers.values():
    ranker.fit(*train, eval_set={"training": train, "validation": validation})
training = displays.TrainingCurveDisplay.from_estimator(rankers)
# Equal scores are a random ranking: ties count by the mean of NDCG over all permutations.
random_ndcg = br.ndcg_score(validation[1], np.zeros(len(validation[1])), validation[2], k=5)
training.ax_.axhline(random_ndcg, color="0.4", linewidth=1)
training.ax_.annotate("random ranking (validation)", (1.0, random_ndcg), va="bottom", color="0.3")
save(training, "training")
print(f"NDCG@5 of a random ranking, validation: {random_ndcg:.4f}")
for (name, part), values in training.curves.items():
    rounds = training.best[name]
    print(f"{name}, {part}: NDCG@5 {values[0]:.4f} after 1 round, {values[rounds - 1]:.4f} after {rounds}")

# The same rankers by cutoff; and how much NDCG depends on the ranking of ties when scores are rounded.
save(displays.NDCGCurveDisplay.from_estimator(rankers, *validation, ks=range(1, 16)), "rankers")
rounded = rankers["softmax"].predict(validation[0]).round()
save(displays.TieRangeDisplay.from_predictions(validation[1], rounded, validation[2], k=5), "ties")
tied = metrics.tie_range(validation[1], rounded, validation[2], k=5)
print(f"rounded scores, mean NDCG@5: worst {tied.worst:.4f}, average {tied.average:.4f}, best {tied.best:.4f}")
print(f"pictures: {folder}")
