"""Show nothing where the best document is probably not the right one: precision and coverage.

python examples/abstention.py [--output FOLDER]

A ranker always has a best document. Its score does not say how sure it is, and its probability to
be the first does. Lists whose best document has a lower probability than a limit are answered by
nothing; the others are covered. Precision is the share of covered lists in which the document that
is shown has the largest label of the list. The same curve is drawn for limits of the score itself.
The last list is printed with the fair odds of its documents, as for a race.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import boostrank as br
from boostrank.displays import style

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

LIMIT = 0.2

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the picture there")
folder = parser.parse_args().output
plt.switch_backend("Agg")

X, y, qid = br.make_ranking(n_queries=600, n_documents=(3, 30), random_state=0)
train, test = br.split_queries(qid, 0.5, random_state=0)
plain = br.LightGBMRanker(random_state=0, n_jobs=1)
ranker = br.CalibratedRanker(plain, cv=3).fit(X[train], y[train], qid[train])
print(f"Scores are divided by the temperature {ranker.temperature_:.2f}.")

# The best document of each test list: its probability, its score, and whether it is right.
documents = pd.DataFrame({"qid": qid[test], "label": y[test]})
documents["score"] = ranker.predict(X[test])
documents["probability"] = ranker.predict_proba(X[test], qid=qid[test])
documents["right"] = documents["label"] == documents.groupby("qid")["label"].transform("max")
best = documents.loc[documents.groupby("qid")["probability"].idxmax()]
loss = br.calibration.log_loss(y[test], documents["probability"], qid[test])
print(f"Log loss of the first place on {len(best)} test lists: {loss:.3f}.")


def precision_by_coverage(values):
    """Precision of the lists with the largest values, for each share of the lists."""
    right = best["right"].to_numpy()[np.argsort(-values.to_numpy(), kind="stable")]
    n_covered = np.arange(1, len(right) + 1)
    return n_covered / len(right), np.cumsum(right) / n_covered


covered = best["probability"] >= LIMIT
coverage = covered.mean()
overall = best["right"].mean()
precision = best.loc[covered, "right"].mean() if covered.any() else 1.0
print(f"All lists are answered: {overall:.1%} of the documents that are shown are right.")
print(f"Limit {LIMIT}: {coverage:.1%} of the lists are answered, {precision:.1%} of them right.")

# Areas under the curves say which order of the lists is better.
areas = {}
figure, axes = plt.subplots(figsize=(style.WIDTH, style.HEIGHT), layout="constrained")
for (column, label), look in zip(
    {"probability": "limit of the probability", "score": "limit of the score"}.items(),
    style.styles(2, 100),
    strict=True,
):
    shares, values = precision_by_coverage(best[column])
    areas[column] = values.mean()
    axes.plot(shares, values, label=label, **look._asdict())
axes.plot(coverage, precision, "o", color=style.DARK, label=f"probability of {LIMIT} or more")
axes.set(xlabel="coverage: share of lists that are answered", ylabel="precision")
axes.legend(frameon=False)
style.light_grid(axes)
if folder:
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / "abstention.png", dpi=160)

# The last list as a race. At fair odds, a bet of 1 that returns the odds wins nothing on average.
race = documents[documents["qid"] == best["qid"].iloc[-1]]
race = race.nlargest(4, "probability")
rows = race.index.to_numpy()
last = documents["qid"] == best["qid"].iloc[-1]
ranks = ranker.predict_ranks(X[test][last], qid=0, k=3, random_state=0)
place = dict(zip(documents.index[last], ranks.among_best[:, -1], strict=True))
print("The four likeliest documents of the last list:")
print(f"{'probability':>11} {'fair odds':>9} {'among the best 3':>16}")
for row in rows:
    p = race.loc[row, "probability"]
    print(f"{p:11.3f} {1 / p:9.1f} {place[row]:16.3f}")

difference = areas["probability"] - areas["score"]
print(
    f"Learned: over all limits, lists ordered by the probability of their best document have a "
    f"precision of {areas['probability']:.3f}, and ordered by its score {areas['score']:.3f}: "
    f"a difference of {difference:+.3f}."
)
