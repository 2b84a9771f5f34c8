"""Discounts and cutoffs with which NDCG distinguishes rankers.

These are figures 1 to 4 of Wang et al. (COLT 2013), and another.

Two trained rankers and a random one rank lists of increasing length, whose documents come from one
population. Bands contain 90% of the lists, a thin line shows one list whose length increases, dots
are the pseudo-expectation computed from the ranker's score curve, and a dotted line is the limit by
the theorems.

python examples/discount_theory.py [--full] [--output FOLDER]

By default lists are short and few, which takes seconds; --full draws those of the figures, which
takes minutes.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from rich.progress import Progress

import boostrank as br
from boostrank import theory
from boostrank.displays.style import (
    DARK,
    GREY,
    HEIGHT,
    WIDTH,
    axes,
    legend_below,
    light_grid,
    styles,
)

try:
    import matplotlib
    import matplotlib.pyplot as plt
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

BETTER, GOOD, RANDOM = "three features", "two features", "random"
# Documents whose quality is above these have the labels 1 and 2: about 15% and 5% of all documents.
THRESHOLDS = (2.0, 4.0)
# Standard deviation of the part of the quality that does not depend on the features. Because of it
# no document's label is certain, as Theorem 10 assumes. If the labels of the highest scores were
# certain, NDCG would converge for every discount.
NOISE = 2.0
FIGURES = {
    "figure_1_standard": (
        "log2",
        None,
        "Figure 1 of Wang et al.: NDCG with the discount 1 / log2(1 + rank)",
    ),
    "figure_2_power": (
        ("power", 0.5),
        None,
        "Figure 2 of Wang et al.: NDCG with the discount rank^-1/2",
    ),
    "figure_3_too_fast": (
        ("exponential", 2),
        None,
        "Figure 3 of Wang et al.: NDCG with the discount 2^-rank",
    ),
    "figure_4_cutoff": (
        "log2",
        0.2,
        "Figure 4 of Wang et al.: NDCG of the first fifth of the list with the discount 1 / "
        "log2(1 + rank)",
    ),
}
# What the lines and areas of each ranker are, as artists of a legend.
MARKS = [
    (partial(Line2D, [], []), {"label": "one list", "linewidth": 0.8}),
    (Patch, {"label": "90% of the lists", "alpha": 0.2}),
    (partial(Line2D, [], []), {"label": "by the theory", "linestyle": "", "marker": "."}),
    (partial(Line2D, [], []), {"label": "limit of long lists", "linestyle": ":", "linewidth": 2}),
]
# Discounts and cutoffs of the figure of correct lists, by the names that tables show.
MEASURES = [
    ("log2", "n"),
    ("log2", "0.2 n"),
    ("rank^-0.5", "n"),
    ("zipf", "n"),
    ("log2", "n^0.5"),
    ("log2", "10"),
    ("2^-rank", "n"),
]


def documents(n, random):
    """Features and noisy labels of independent documents."""
    X = random.uniform(-np.sqrt(3), np.sqrt(3), size=(n, 3))
    quality = X[:, 0] + 0.5 * X[:, 0] * X[:, 1] + 0.7 * X[:, 2] + NOISE * random.standard_normal(n)
    return X, np.searchsorted(THRESHOLDS, quality).astype(np.float64)


def train(random, n_queries):
    """Two rankers: one uses all three features, the other only two."""
    X, y = documents(40 * n_queries, random)
    qid = np.repeat(np.arange(n_queries), 40)
    rankers = {}
    for name, used in ((BETTER, 3), (GOOD, 2)):
        settings = {
            "n_estimators": 60,
            "learning_rate": 0.1,
            "num_leaves": 7,
            "random_state": 0,
            "n_jobs": 1,
        }
        ranker = br.LightGBMRanker("softmax", **settings)
        rankers[name] = (ranker.fit(X[:, :used], y, qid), used)
    return rankers


def scored_list(rankers, n, random):
    """Labels of a list of documents, and their scores by each ranker."""
    X, y = documents(n, random)
    scores = {name: ranker.predict(X[:, :used]) for name, (ranker, used) in rankers.items()}
    scores[RANDOM] = random.random(n)
    return y, scores


def growing(y, scores, lengths):
    """NDCG of the first documents of a list, by length, shape (n_figures, n_rankers, n_lengths)."""
    values = np.empty((len(FIGURES), len(scores), len(lengths)))
    for i, (discount, k, _) in enumerate(FIGURES.values()):
        settings = {"k": k, "discount": discount}
        for j, score in enumerate(scores.values()):
            values[i, j] = [
                br.ndcg_score(y[:n], score[:n], np.zeros(n), **settings) for n in lengths
            ]
    return values


def plot_growing(ax, values, curves, lengths, discount, k):
    """Draw NDCG by length of the list, and the values of the theory.

    The shape of NDCG is (n_lists, n_rankers, n_lengths).
    """
    for j, (name, curve) in enumerate(curves.items()):
        style = styles(len(curves))[j]
        color = style.color
        low, high = np.quantile(values[:, j], [0.05, 0.95], axis=0)
        ax.fill_between(lengths, low, high, color=color, alpha=0.2, linewidth=0)
        ax.plot(lengths, values[0, j], color=color, linewidth=0.8)
        ax.plot(
            lengths,
            values[:, j].mean(axis=0),
            color=color,
            linestyle=style.linestyle,
            label=f"{name}, mean",
        )
        expected = theory.pseudo_expectation(curve, lengths, discount=discount, k=k)
        ax.plot(lengths, expected, ".", color=color, markersize=5)
        limit = theory.ndcg_limit(curve, discount=discount, k=k)
        ax.axhline(limit.value, color=color, linestyle=":", linewidth=2)
    ax.set_xscale("log")
    ax.set_xlabel("documents in the list, n")
    light_grid(ax)


def plot_figure(name, values, curves, lengths):
    """Draw one of the paper's figures, and beside it the right end, enlarged."""
    discount, k, title = FIGURES[name]
    figure, panels = plt.subplots(1, 2, figsize=(WIDTH, HEIGHT + 0.6), layout="constrained")
    for ax in panels:
        plot_growing(ax, values, curves, lengths, discount, k)
    left, right = panels
    left.set(ylim=(max(0.0, values.min() - 0.05), 1.02), ylabel="NDCG")
    last = lengths >= lengths[-1] / 10
    right.set_xlim(lengths[last][0], lengths[-1])
    right.set_ylim(values[..., last].min() - 0.01, values[..., last].max() + 0.01)
    # Between the powers of ten of the whole picture there are none here: name the ends and the
    # middle.
    ends = [lengths[last][0], np.sqrt(float(lengths[last][0]) * lengths[-1]), lengths[-1]]
    right.set_xticks(ends, [f"{float(f'{n:.2g}'):,.0f}" for n in ends])
    right.minorticks_off()
    right.set_title("the longest lists, enlarged", fontsize="small")
    handles = [
        *left.get_legend_handles_labels()[0],
        *(artist(**look, color=DARK) for artist, look in MARKS),
    ]
    figure.suptitle(title, fontsize="medium")
    figure.legend(
        handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize="small"
    )
    return figure


def plot_correct(table):
    """Draw the share of lists on which NDCG is larger for the better ranker.

    There is a row for each discount and cutoff.
    """
    by_measure = table.pivot_table(index=["discount", "k"], columns="n", values="correct")
    shares = by_measure.loc[MEASURES].sort_values(table["n"].max())
    ax, rows = axes(None), np.arange(len(shares))
    ax.hlines(rows, shares.min(axis=1), shares.max(axis=1), color=GREY, linewidth=1)
    for n, style in zip(shares, styles(len(shares.columns)), strict=True):
        ax.plot(
            shares[n], rows, style.marker, color=style.color, markersize=8, label=f"{n:,} documents"
        )
    ax.axvline(0.5, color=DARK, linestyle="--", linewidth=1)
    ax.set_yticks(rows, [f"{discount}, k = {k}" for discount, k in shares.index])
    ax.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1, decimals=0))
    ax.set_xlabel(f"lists with larger NDCG of '{BETTER}' than of '{GOOD}'")
    light_grid(ax, "x")
    legend_below(ax)
    return ax.figure


def describe(name, values, curves, longest):
    """Print the verdict of the theory on a discount, and NDCG of long lists beside its limit."""
    discount, k, title = FIGURES[name]
    verdict = theory.feasibility(discount, k=k).verdict
    print(
        f"\n{title}: by the theory it is {verdict}. NDCG of lists of {longest:,} documents, and "
        "its limit:\n"
    )
    print(f"  {'ranker':14} {'mean':>6} {'spread':>7} {'limit':>7} {'spread':>7}")
    for j, (ranker, curve) in enumerate(curves.items()):
        limit, last = theory.ndcg_limit(curve, discount=discount, k=k), values[:, j, -1]
        print(
            f"  {ranker:14} {last.mean():6.3f} {last.std(ddof=1):7.3f} {limit.value:7.3f} "
            f"{limit.standard_deviation:7.3f}"
        )


def conclude(table):
    """Print how the share of right lists depends on the discount and the cutoff."""
    longest = table[table["n"] == table["n"].max()]
    right, wrong = (
        longest.loc[longest["correct"].idxmax()],
        longest.loc[longest["correct"].idxmin()],
    )
    print(
        f"Learned: in lists of {right['n']:,.0f} documents, NDCG is larger for the better ranker "
        f"in {right['correct']:.0%} of the lists with {right['discount']} and k = {right['k']}, "
        f"but in {wrong['correct']:.0%} with {wrong['discount']} and k = {wrong['k']}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="draw long lists, in minutes instead of seconds"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the pictures discount_*.png there"
    )
    arguments = parser.parse_args()
    folder = arguments.output
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    small, random = not arguments.full, np.random.default_rng(0)
    n_lists, longest, n_lengths = (6, 2_000, 7) if small else (40, 100_000, 16)
    n_drawn, drawn_at = (
        (400, [30, 100, 1_000]) if small else (400, [30, 100, 300, 1_000, 3_000, 10_000])
    )
    lengths = np.unique(np.geomspace(100, longest, n_lengths).astype(int))

    def save(figure, name):
        if folder:
            figure.savefig(folder / f"discount_{name}.png", dpi=160)
        plt.close(figure)

    with Progress(disable=small) as progress:
        rankers = train(random, 50 if small else 1_500)
        lists = [
            scored_list(rankers, longest, random)
            for _ in progress.track(range(n_lists), description="draw and score lists")
        ]
        values = np.stack(
            [
                growing(y, scores, lengths)
                for y, scores in progress.track(lists, description="NDCG of growing lists")
            ]
        )
        y = np.concatenate([labels for labels, _ in lists])
        # The lists are samples of one population, and count as one query.
        one_query = np.zeros(len(y))
        pool = {
            name: np.concatenate([scores[name] for _, scores in lists])
            for name in (BETTER, GOOD, RANDOM)
        }
        # Narrow bins, because with some discounts the limits depend on the highest scores alone.
        n_bins = min(len(y) // 200, 2_000)
        curves = {
            name: theory.estimate_curve(y, scores, one_query, n_bins=n_bins)
            for name, scores in pool.items()
        }
        progress.add_task("compare two rankers on lists", total=None)
        table = theory.distinguishability(
            theory.RankedData(y, pool[BETTER], pool[GOOD], one_query), drawn_at, n_lists=n_drawn
        )

    print(
        f"Two rankers, trained on {BETTER} and on {GOOD}, and a random one rank lists of one "
        "population of documents."
    )
    for i, name in enumerate(FIGURES):
        save(plot_figure(name, values[:, i], curves, lengths), name)
        describe(name, values[:, i], curves, longest)
    save(plot_correct(table), "correct")
    shown = table[
        [
            (discount, k) in MEASURES
            for discount, k in zip(table["discount"], table["k"], strict=True)
        ]
    ]
    wide = shown.pivot_table(index=["discount", "k"], columns="n", values="correct", sort=False)
    print(
        f"\nShare of lists with a larger NDCG of {BETTER} than of {GOOD}, by number of documents:\n"
    )
    print(wide.rename_axis(columns="documents:").to_string(float_format="{:.0%}".format))
    print()
    conclude(shown)


if __name__ == "__main__":
    main()
