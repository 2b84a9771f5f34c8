"""Returns by week: train on the past, test on the next quarter, and measure rank correlations.

python examples/walk_forward.py [--output FOLDER]
"""

import argparse
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from lightgbm import LGBMRegressor

import boostrank as br
from boostrank.displays import FoldsDisplay, style

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument(
    "--output", type=Path, metavar="FOLDER", help="write the picture walk_forward.png there"
)
arguments = parser.parse_args()
if arguments.output and not find_spec("matplotlib"):
    parser.error("--output needs matplotlib: pip install matplotlib")

N_WEEKS, N_STOCKS, N_FEATURES, HORIZON = 208, 50, 8, 4


def make_returns(random):
    """Features of stocks by week, and their returns over the next four weeks.

    Features change slowly, as value and size do, and what they are worth changes too. The market of
    a week, which all of its returns share, is larger than what the features explain.
    """
    features = random.normal(size=(N_WEEKS, N_STOCKS, N_FEATURES))
    worth = random.normal(size=(N_WEEKS, N_FEATURES))
    for week in range(1, N_WEEKS):
        features[week] = 0.97 * features[week - 1] + 0.24 * features[week]
        worth[week] = 0.99 * worth[week - 1] + 0.14 * worth[week]
    explained = np.tanh(features) @ worth[:, :, None]
    market = 3.0 * random.standard_t(3, size=(N_WEEKS, 1))
    weekly = explained[:, :, 0] + market + 4.0 * random.standard_t(3, size=(N_WEEKS, N_STOCKS))
    future = sum(weekly[start : N_WEEKS - HORIZON + start + 1] for start in range(HORIZON)) / 100
    weeks = pd.date_range("2021-01-01", periods=len(future), freq="W-FRI", name="week")
    index = pd.MultiIndex.from_product([weeks, range(N_STOCKS)], names=["week", "stock"])
    names = [f"feature {i}" for i in range(N_FEATURES)]
    X = pd.DataFrame(features[: len(future)].reshape(-1, N_FEATURES), index, names)
    return X, future.ravel()


X, returns = make_returns(np.random.default_rng(0))

# The walk: train on all weeks whose returns are known, test on the next 13 weeks, eight times. The
# gap leaves out the last three weeks, whose returns reach into the test.
walk = br.QueryTimeSplit(8, time="week", test_size=13, gap=HORIZON - 1)
settings = {"n_estimators": 150, "learning_rate": 0.05, "random_state": 0, "n_jobs": 1}
ranker = br.LightGBMRanker(gain="rank", query_features="rank", **settings)
ratio = br.get_measure("ic_ir", ranks=True)
measures = {"rank IC": "spearman", "IC / deviation": ratio, "spread": "spread@0.1"}
result = br.cross_validate(ranker, X, returns, qid="week", cv=walk, scoring=measures)
table = pd.DataFrame({name: result[f"test_{name}"] for name in measures})
table.index = [f"quarter {i}" for i in range(1, 9)]
print(f"{len(returns):,} returns of {N_STOCKS} stocks over {HORIZON} weeks, out of sample:\n")
print(table.round(3).to_string())
ic = table["rank IC"].mean()
spread = table["spread"].mean()
print(
    f"\nThe mean rank IC is {ic:.3f}, and the tenth of the stocks at the top of a list has "
    f"{spread:.1%} more return than the tenth at its bottom."
)

# The same folds for a regression of the returns themselves, which sees the market of each week.
regression = LGBMRegressor(
    n_estimators=150, learning_rate=0.05, num_leaves=20, random_state=0, n_jobs=1, verbosity=-1
)
of_regression = br.cross_validate(regression, X, returns, qid="week", cv=walk, scoring="spearman")[
    "test_score"
].mean()
# Random folds train on weeks before and after those of the test, and on overlapping returns.
random_folds = br.QueryKFold(8, shuffle=True, random_state=0)
in_random_folds = br.cross_validate(
    ranker, X, returns, qid="week", cv=random_folds, scoring="spearman"
)["test_score"].mean()

if arguments.output:
    arguments.output.mkdir(parents=True, exist_ok=True)
    plt = style.import_pyplot()
    figure, (above, below) = plt.subplots(2, figsize=(7, 6), layout="constrained")
    FoldsDisplay.from_cv(walk, X, returns, "week", ax=above)
    ends = [
        X.index.get_level_values("week")[test].max() for _, test in walk.split(X, groups="week")
    ]
    below.plot(ends, table["rank IC"], color=style.BLUE, marker="o", label="each quarter")
    below.axhline(ic, color=style.ORANGE, linestyle="--", label="mean")
    below.axhline(in_random_folds, color=style.GREEN, linestyle=":", label="random folds: too good")
    below.set_xlim(above.get_xlim())
    below.set_ylabel("rank IC")
    style.legend_below(below)
    style.light_grid(below)
    figure.savefig(arguments.output / "walk_forward.png", dpi=160)

print(
    f"Learned: on later weeks the rank IC is {ic:.3f}, where a regression of the returns has "
    f"{of_regression:.3f}; random folds would have promised {in_random_folds:.3f}."
)
