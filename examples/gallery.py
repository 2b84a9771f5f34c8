"""Draw every display of boostrank, and say what it shows.

python examples/gallery.py [--output FOLDER]

With --output, each display is a picture in the folder, and gallery.png is one page with all of
them.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

import boostrank as br
from boostrank import displays

try:
    import matplotlib.pyplot as plt
    from PIL import Image
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

DPI = 160
#: The page with all pictures: number of columns, width in pixels, and gaps between pictures and
#: around all of them.
COLUMNS, WIDTH, GAP, EDGE = 2, 1600, 36, 30

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--output", type=Path, metavar="FOLDER", help="write the pictures there")
folder = parser.parse_args().output
if folder:
    folder.mkdir(parents=True, exist_ok=True)
plt.switch_backend("Agg")
# The page shows the pictures at half of their size.
plt.rcParams["font.size"] = 11.5
pictures = {}


def save(display, name):
    """Save the figure of a display if there is a folder, and return the display.

    Its pixels are kept for the page.
    """
    figure = display.figure_
    if folder:
        figure.suptitle(type(display).__name__, x=0.01, ha="left", weight="bold", size="medium")
        figure.savefig(folder / f"{name}.png", dpi=DPI)
        pictures[name] = plt.imread(folder / f"{name}.png")[..., :3]
    plt.close(figure)
    return display


# Synthetic queries, divided into queries to train on, to validate on, and to test on.
X, y, qid = br.make_ranking(n_queries=300, random_state=0)
rest, test = br.split_queries(qid, 0.4, random_state=0)
kept, held = br.split_queries(qid[rest], 0.25, random_state=0)
train, validation, test = (
    br.Dataset(X, y, qid).take(rows) for rows in (rest[kept], rest[held], test)
)

settings = {"k": 10, "random_state": 0, "n_jobs": 1}
names = {"LambdaMART": "lambdarank", "pairwise": "pairwise-exponential", "default": "softmax"}
rankers = {name: br.LightGBMRanker(objective, **settings) for name, objective in names.items()}
for ranker in rankers.values():
    ranker.fit(*train, eval_set={"training": train, "validation": validation})

# How the training went, and what it led to on queries that no ranker has seen.
training = save(displays.TrainingCurveDisplay.from_estimator(rankers), "training_curve")
for name, rounds in training.best.items():
    print(f"{name}: {rounds} rounds.")
curve = save(displays.NDCGCurveDisplay.from_estimator(rankers, *test), "ndcg_curve")
at_10 = curve.table[curve.table["k"] == 10].set_index("ranker")["mean"]
means = ", ".join(f"{name} {mean:.4f}" for name, mean in at_10.items())
print(f"NDCG@10 on {curve.n_queries} test queries: {means}.")

# Folds in time, as if queries followed each other as they first appear.
walk = br.QueryTimeSplit(4, gap=len(set(qid)) // 30)
save(displays.FoldsDisplay.from_cv(walk, X, qid=qid), "folds")

folds = br.query_folds(br.Dataset(X, y, qid), 3)
unfitted = {name: br.LightGBMRanker(objective, **settings) for name, objective in names.items()}
comparison = br.compare(unfitted, folds, measures=["ndcg@10"])
save(comparison.plot(), "comparison")
print(comparison.conclusion("ndcg@10"))

# How precise the ranking is down to the last relevant document.
documents = pd.DataFrame({"query_id": test.qid, "doc_id": np.arange(len(test.qid))})
runs = {name: documents.assign(score=ranker.predict(test.X)) for name, ranker in rankers.items()}
judgments = documents.assign(relevance=test.y)
precision = save(
    displays.PrecisionRecallDisplay.from_runs(judgments, runs), "precision_recall"
).precision
print(f"At full recall, the precision of the default is {precision['default'].iloc[-1]:.2f}.")

# Whether probabilities to be first are right on new lists.
plain = br.LightGBMRanker(**settings)
calibrated = br.CalibratedRanker(plain, cv=3).fit(*train)
calibration = displays.CalibrationDisplay.from_estimator(calibrated, *test, n_bins=6)
save(calibration, "calibration")
error = br.calibration.calibration_error(
    test.y, calibrated.predict_proba(test.X, qid=test.qid), test.qid, n_bins=6
)
print(f"The calibration error of the probabilities to be first is {error:.3f}.")

# Where a ranker is good and where it is not.
values = br.evaluate(
    test.y, rankers["default"].predict(test.X), test.qid, "ndcg@10", per_query=True
)["ndcg@10"]
worst = values.idxmin()
print(f"The test query with the lowest NDCG@10 of the default is {worst}, with {values.min():.4f}.")
save(comparison.plot_queries(), "query_differences")

# What makes the ranker good: its features, and its loss.
importance = br.feature_importance(unfitted["default"], X, y, qid, cv=4, n_repeats=3)
importance = importance.mean().sort_values(ascending=False)
most, decrease = importance.index[0], importance.iloc[0]
print(f"Feature {most} counts most: NDCG@10 decreases by {decrease:.4f} if it is permuted.")
why = br.explain(rankers["default"], test.X, test.qid, query=worst)
save(displays.ContributionDisplay(why, n_features=6).plot(), "contributions")
print(
    f"In query {worst}, feature {why.table['feature'][0]} makes the largest difference between "
    "ranks 1 and 2."
)

# Several objectives in one model: what one of them costs in the other.
margin = np.maximum(X[:, 1], 0.0)
labels = br.MultipleLabels({"grade": y, "margin": margin}, gain={"margin": "linear"})
result = br.trade_off(br.LightGBMRanker(n_estimators=60, **settings), X, labels, qid, weights=5)
trade_off = save(displays.TradeOffDisplay.from_result(result), "trade_off").table
n_front = trade_off.loc[trade_off["method"] == "one model", "front"].sum()
print(f"Of 5 choices of weights of two objectives, {n_front} are on the front.")

# What the displays say together.
gap = at_10.max() - at_10.min()
print(
    f"Learned: the losses differ by {gap:.4f} in NDCG@10 here, and feature {most} alone is worth "
    f"{decrease:.4f}."
)


def page():
    """One page: each picture stands below the lowest column.

    The widths of columns are such that all of them are equally high.
    """
    columns = [[] for _ in range(COLUMNS)]
    for picture in sorted(pictures.values(), key=len, reverse=True):
        min(columns, key=lambda column: sum(len(one) / one.shape[1] for one in column)).append(
            picture
        )
    # Height of a column: its width times the sum of these shares, and its gaps.
    shares = np.array([sum(len(one) / one.shape[1] for one in column) for column in columns])
    gaps = np.array([GAP * (len(column) - 1) for column in columns])
    height = (WIDTH - 2 * EDGE - GAP * (COLUMNS - 1) + (gaps / shares).sum()) / (1 / shares).sum()
    sheet = Image.new("RGB", (WIDTH, round(height) + 2 * EDGE), "white")
    left = EDGE
    for column, width in zip(columns, ((height - gaps) / shares).astype(int), strict=True):
        top = EDGE
        for picture in column:
            size = (width, int(width * len(picture) / picture.shape[1]))
            sheet.paste(
                Image.fromarray((255 * picture).astype(np.uint8)).resize(
                    size, Image.Resampling.LANCZOS
                ),
                (left, top),
            )
            top += size[1] + GAP
        left += width + GAP
    return sheet


if folder:
    # A palette makes the file a third as large.
    page().quantize(64, Image.Quantize.MAXCOVERAGE).save(folder / "gallery.png", optimize=True)
    print(f"{len(pictures)} displays are drawn in {folder}, and all of them in gallery.png.")
