"""NDCG consistency of losses: examples of the paper, counterexamples, and regret bounds.

Counterexamples are searched for.

python examples/consistency.py [--full] [--output FOLDER]

Figures 3 and 4 of Ravikumar, Tewari and Yang, "On NDCG consistency of listwise ranking methods"
(AISTATS 2011), are redrawn from Proposition 7. Counterexamples are searched for every surrogate
with every kind of targets. Regrets are compared with the bounds of Theorems 10 and 11. By default
three surrogates and few distributions are examined, which takes seconds; --full examines all
surrogates and many distributions, which takes minutes.
"""

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from boostrank import Queries, make_targets, theory
from boostrank.displays import style
from boostrank.ndcg.targets import NORMALIZATIONS
from boostrank.surrogates import SURROGATES

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None

CONSOLE = Console(stderr=True)
BOUNDED = ("squared", "logistic", "softmax", "poisson", "pnorm", "cosine")
N_DOCUMENTS = 5


def save(figure, folder, name):
    """Write a picture if there is a folder."""
    if folder:
        figure.savefig(folder / f"consistency_{name}.png", dpi=160)
    plt.close(figure)


def expected(transform, distribution):
    """Targets of each vector of labels, and their mean."""
    vectors = [transform(labels) for labels in distribution.labels]
    return np.array(vectors), distribution.probabilities @ np.array(vectors)


def normalized_gains(labels):
    return make_targets(labels, Queries.from_sizes([len(labels)]))


def unit_gains(labels):
    return make_targets(labels, Queries.from_sizes([len(labels)]), normalize="l2")


def softmax_of_labels(labels):
    return make_targets(labels, Queries.from_sizes([len(labels)]), normalize="softmax")


def section_3_2_1():
    distribution = theory.SECTION_3_2_1
    gains, bayes = (
        theory.minimizer("squared", distribution, normalize="none"),
        distribution.bayes_scores(),
    )
    print(
        "Section 3.2.1 of the paper: two documents have the labels (5, 4) with probability 0.3, "
        "(1, 3) with 0.7."
    )
    for name, scores in (("gain", gains), ("gain divided by the ideal DCG", bayes)):
        print(
            f"  By expected {name}, document {scores.argmax() + 1} is first ({scores[0]:.4f} and "
            f"{scores[1]:.4f}); the expected NDCG of this ranking is "
            f"{distribution.expected_ndcg(scores):.4f}."
        )


def draw_means(ax, distribution, own, label, zoom):
    """Targets of both losses as points, and their weighted means, by which the losses sort."""
    for transform, color, marker, name in (
        (normalized_gains, style.GREEN, "o", "G / Z, as NDCG"),
        (own, style.BLUE, "s", label),
    ):
        points, mean = expected(transform, distribution)
        ax.plot(*points.T, color=color, marker=marker, markersize=6, linewidth=1, label=name)
        ax.plot(
            *mean,
            color=color,
            marker=marker,
            markersize=11,
            markeredgecolor="black",
            linestyle="none",
        )
        if zoom:
            first = mean[0] > mean[1]
            place = {"ha": "left", "va": "bottom"} if first else {"ha": "right", "va": "top"}
            text = f"document {1 if first else 2} first\n({mean[0]:.4f}, {mean[1]:.4f})"
            offset = (10, 8) if first else (-16, -4)
            ax.annotate(text, mean, xytext=offset, textcoords="offset points", color=color, **place)
    ax.axline((0, 0), slope=1, color="black", linewidth=1)
    ax.set_aspect("equal")
    ax.set_xlabel("document 1")
    ax.set_ylabel("document 2")


def figure_of_proposition_7(distribution, own, label, title, folder, name):
    figure, (whole, near) = plt.subplots(1, 2, figsize=(9, 5), layout="compressed")
    draw_means(whole, distribution, own, label, zoom=False)
    draw_means(near, distribution, own, label, zoom=True)
    means = np.array(
        [expected(transform, distribution)[1] for transform in (normalized_gains, own)]
    )
    center, reach = means.mean(axis=0), 2.2 * np.ptp(means, axis=0).max()
    near.set_xlim(center[0] - reach, center[0] + reach)
    near.set_ylim(center[1] - reach, center[1] + reach)
    whole.set_xlim(0, 1.05)
    whole.set_ylim(0, 1.05)
    whole.set_title("two label vectors, and their means (large)", fontsize="medium")
    near.set_title("the means, on different sides of the diagonal", fontsize="medium")
    whole.legend(frameon=False, loc="lower right")
    figure.suptitle(title)
    save(figure, folder, name)


def proposition_7(folder):
    cases = (
        (
            "cosine",
            "l2",
            theory.PROPOSITION_7_COSINE,
            unit_gains,
            "G / ||G||₂, as RankCosine",
            "figure_3",
        ),
        (
            "softmax",
            "softmax",
            theory.PROPOSITION_7_CROSS_ENTROPY,
            softmax_of_labels,
            "softmax of labels, as ListNet",
            "figure_4",
        ),
    )
    for surrogate, normalize, distribution, own, label, name in cases:
        scores = theory.minimizer(surrogate, distribution, normalize, method="numeric")
        regret = distribution.ndcg_regret(scores)
        repaired = theory.minimizer(surrogate, distribution, method="numeric")
        print(
            f"Proposition 7, {label}: the scores with the least expected loss, found numerically, "
            f"rank document {scores.argmax() + 1} first, and lose {regret:.4f} of expected NDCG.\n "
            " On gains divided by ideal DCGs, the same surrogate ranks document "
            f"{repaired.argmax() + 1} first, and loses {distribution.ndcg_regret(repaired):.4f}."
        )
        p = distribution.probabilities[0]
        title = (
            f"Figure {name[-1]} of Ravikumar et al.: labels (1, 5) with probability {p:g}, "
            f"(2, 1) with {1 - p:g}"
        )
        figure_of_proposition_7(distribution, own, label, title, folder, name)


def search(folder, surrogates, n_distributions):
    """Print and draw the largest regret found for every loss."""
    pairs = [(surrogate, normalize) for surrogate in surrogates for normalize in NORMALIZATIONS]
    found = {}
    for surrogate, normalize in track(
        pairs,
        "searching for counterexamples",
        console=CONSOLE,
        transient=True,
        disable=not CONSOLE.is_terminal,
    ):
        report = theory.check_consistency(surrogate, normalize, n_distributions=n_distributions)
        found[surrogate, normalize] = report
        if report.consistent != report.declared:
            print(f"A surrogate is not what it declares:\n{report}")
    regrets = np.array(
        [[found[surrogate, name].regret for name in NORMALIZATIONS] for surrogate in surrogates]
    )
    print(
        "\nThe largest loss of NDCG (regret) that the search finds, by targets (columns); - if "
        "there is none:\n"
    )
    print(" " * 24, *(f"{name:>8}" for name in NORMALIZATIONS))
    for surrogate, row in zip(surrogates, regrets, strict=True):
        cells = (f"{regret:8.4f}" if regret else "       -" for regret in row)
        print(f"{surrogate:<24}", *cells)
    if np.allclose(regrets, regrets[0]):
        print(
            "\nThe rows are equal, because the search tries the same label distributions for each "
            "of these losses, and each ranks documents by their expected targets."
        )
    print(f"\nThe one that it finds for ListNet:\n\n{found['softmax', 'softmax']}\n")
    figure, ax = plt.subplots(
        figsize=(style.WIDTH, 1.2 + 0.36 * len(surrogates)), layout="constrained"
    )
    shown = np.ma.masked_equal(regrets, 0.0)
    image = ax.pcolormesh(shown, cmap="OrRd", vmin=0.0, vmax=0.6, edgecolors="white", linewidth=2)
    for (i, j), regret in np.ndenumerate(regrets):
        text = f"{regret:.3f}" if regret else "none found"
        ax.text(
            j + 0.5,
            i + 0.5,
            text,
            ha="center",
            va="center",
            color="white" if regret > 0.4 else "black",
        )
    titles = {
        "dcg": "G / Z\n(dcg)",
        "none": "G\n(none)",
        "l2": "G / ||G||₂\n(l2)",
        "sum": "G / ΣG\n(sum)",
        "softmax": "softmax\nof labels",
    }
    ax.set_xticks(np.arange(len(NORMALIZATIONS)) + 0.5, [titles[name] for name in NORMALIZATIONS])
    ax.set_yticks(np.arange(len(surrogates)) + 0.5, surrogates)
    ax.tick_params(length=0)
    ax.invert_yaxis()
    ax.spines[:].set_visible(False)
    ax.set_title(
        "largest NDCG regret found for the minimizer of a loss, by targets", fontsize="medium"
    )
    figure.colorbar(image, ax=ax, label="regret")
    save(figure, folder, "registry")
    return dict(zip(NORMALIZATIONS, regrets.max(axis=0), strict=True))


def some_scores(minimizer, random):
    """Scores near a minimizer, and scores with a small excess loss.

    The latter rank some documents wrongly by a small gap.
    """
    finite = np.clip(minimizer, -8.0, 8.0)
    yield from (finite + size * random.normal(size=len(finite)) for size in (0.01, 0.1, 1.0))
    permutation = np.argsort(-finite)
    for size in range(2, len(finite) + 1):
        start = random.integers(0, len(finite) - size + 1)
        tied, part = finite.copy(), permutation[start : start + size]
        tied[part] = finite[part].mean() - 1e-4 * (finite[part] - finite[part].mean())
        yield tied


def excess_and_regret(surrogate, distributions, random):
    """Excess losses and regrets of many scores on each distribution."""
    rows = []
    for distribution in distributions:
        best = theory.minimizer(surrogate, distribution)
        # The cosine loss is smoothed for scores of small norm. With a large norm only their
        # direction counts.
        length = 1e4 if surrogate == "cosine" else 1.0
        for scores in some_scores(best, random):
            rows.append(
                (
                    theory.excess_loss(surrogate, distribution, length * scores),
                    distribution.ndcg_regret(scores),
                )
            )
    return np.array(rows).T


def tightness(folder, n_distributions):
    random = np.random.default_rng(0)
    distributions = [
        theory.LabelDistribution.random(N_DOCUMENTS, 1 + i % 4, max_label=1 + i % 4, random_state=i)
        for i in range(n_distributions)
    ]
    figure, axes = plt.subplots(
        2, 3, figsize=(10, 6.4), sharex=True, sharey=True, layout="constrained"
    )
    grid = np.geomspace(1e-6, 10, 50)
    print("Regret of wrong rankings divided by its bound, which is 1 where the bound is reached:\n")
    print(
        f"  {'':9} {'Theorem 10':>16} {'sharp bound':>16}   wrong\n  {'':9}"
        + f" {'largest':>8} {'median':>7}" * 2
        + " rankings"
    )
    largest = 0.0
    for ax, surrogate in zip(
        axes.flat,
        track(
            BOUNDED,
            "regret bounds",
            console=CONSOLE,
            transient=True,
            disable=not CONSOLE.is_terminal,
        ),
        strict=True,
    ):
        excess, regret = excess_and_regret(surrogate, distributions, random)
        bounds = {
            sharp: theory.regret_bound(surrogate, excess, N_DOCUMENTS, sharp=sharp)
            for sharp in (False, True)
        }
        wrong = (regret > 1e-6) & (excess > 1e-9)
        ratios = {sharp: regret[wrong] / bound[wrong] for sharp, bound in bounds.items()}
        texts = [
            f"{ratios[sharp].max():8.3f} {np.median(ratios[sharp]):7.3f}" for sharp in (False, True)
        ]
        print(f"  {surrogate:<9} {texts[0]} {texts[1]} {wrong.sum():8}")
        largest = max(largest, ratios[True].max(), ratios[False].max())
        # Few dots must be large to be seen, and many small, so that they do not hide each other.
        size = 14 if wrong.sum() < 200 else 3
        dots = {"s": size, "color": style.BLUE, "alpha": 0.6, "linewidth": 0, "rasterized": True}
        ax.scatter(excess[wrong], regret[wrong], **dots, label="wrong ranking")
        for sharp, dash in ((False, "--"), (True, "-")):
            label = "sharp" if sharp else "Theorem 10"
            bound = theory.regret_bound(surrogate, grid, N_DOCUMENTS, sharp=sharp)
            ax.plot(grid, bound, color=style.ORANGE, linestyle=dash, label=label)
        constant, norm = theory.strong_convexity(surrogate, N_DOCUMENTS)
        ax.set_title(f"{surrogate}: C = {constant:.3g}, {norm:.3g}-norm", fontsize="medium")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlim(1e-6, 10)
        ax.set_ylim(1e-4, 3)
        style.light_grid(ax, "both")
    # Outside of the panels, where it hides no dots.
    figure.legend(
        *axes[0, 0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=3
    )
    axes[1, 1].set_xlabel("excess expected loss")
    figure.supylabel("NDCG regret")
    figure.suptitle(f"regret of wrong rankings of {N_DOCUMENTS} documents, and its bounds")
    save(figure, folder, "tightness")
    return largest


def low_noise(folder, n_queries):
    """Mean regret of least squares for decreasing errors, and the bounds of Theorems 10 and 11."""
    random = np.random.default_rng(0)
    drawn = [
        theory.LabelDistribution.random(3, 2, max_label=3, random_state=i)
        for i in range(4 * n_queries)
    ]
    margins = np.array([theory.ndcg_margin(query) for query in drawn])
    # Low noise: the queries with the largest margins.
    chosen = np.argsort(-np.where(np.isfinite(margins), margins, 0.0))[:n_queries]
    queries, margins = [drawn[i] for i in chosen], margins[chosen]
    errors = random.normal(size=(n_queries, 3))
    rows = []
    for size in np.geomspace(3e-3, 1, 14):
        scores = [
            query.bayes_scores() + size * error
            for query, error in zip(queries, errors, strict=True)
        ]
        pairs = list(zip(queries, scores, strict=True))
        mean_excess = np.mean([theory.excess_loss("squared", *pair) for pair in pairs])
        rows.append((mean_excess, np.mean([query.ndcg_regret(each) for query, each in pairs])))
    excess, regret = np.array(rows).T
    figure, ax = plt.subplots(figsize=(style.WIDTH, style.HEIGHT), layout="constrained")
    ax.plot(
        excess,
        np.where(regret > 1e-9, regret, np.nan),
        color=style.BLUE,
        marker="o",
        label="mean regret",
    )
    bound = theorem_10 = theory.regret_bound("squared", excess, 3, sharp=True)
    ax.plot(excess, theorem_10, color=style.ORANGE, label="Theorem 10, sharp")
    for alpha, dash in ((1, "--"), (3, "-."), (10, ":")):
        moment = theory.margin_moment(margins, alpha)
        improved = [theory.low_noise_bound(value, moment, alpha) for value in theorem_10]
        bound = np.minimum(bound, improved)
        ax.plot(
            excess,
            improved,
            color=style.GREEN,
            linestyle=dash,
            label=f"Theorem 11, alpha = {alpha}",
        )
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_ylim(1e-5, 3)
    ax.set_xlabel("mean excess loss (least squares)")
    ax.set_ylabel("mean NDCG regret")
    ax.set_title(
        f"{n_queries} queries of 3 documents with margins of at least {margins.min():.3f}",
        fontsize="medium",
    )
    ax.legend(frameon=False)
    style.light_grid(ax, "both")
    save(figure, folder, "low_noise")
    wrong = regret > 1e-9
    print(
        f"\nWith low noise, {n_queries} queries with margins from {margins.min():.4f} to "
        f"{margins.max():.4f}: every query is ranked optimally up to a mean excess loss of "
        f"{excess[~wrong].max(initial=0.0):.2g}.\nThe mean regret is at most "
        f"{(regret / bound).max():.3f} of the smallest bound."
    )
    return (regret / bound).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="examine all surrogates, in minutes instead of seconds"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the pictures consistency_*.png there"
    )
    arguments = parser.parse_args()
    folder, full = arguments.output, arguments.full
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
    section_3_2_1()
    proposition_7(folder)
    surrogates = list(SURROGATES) if full else ["squared", "softmax", "cosine"]
    worst = search(folder, surrogates, n_distributions=500 if full else 15)
    ratio = max(
        tightness(folder, n_distributions=400 if full else 8),
        low_noise(folder, n_queries=300 if full else 20),
    )
    safe = [name for name, regret in worst.items() if regret == 0]
    unsafe = {name: regret for name, regret in worst.items() if regret > 0}
    worst_name = max(unsafe, key=unsafe.get) if unsafe else None
    print(
        "Learned: no counterexample was found for losses with the targets "
        f"{' and '.join(safe) or 'of any kind'}; those with others lose up to "
        f"{max(unsafe.values(), default=0.0):.4f} of NDCG (targets {worst_name})."
    )
    if ratio <= 1:
        print(f"No regret was larger than its bound; the largest was {ratio:.3f} of it.")
    else:
        print(f"A regret was {ratio:.3f} times its bound, which contradicts the theorems.")


if __name__ == "__main__":
    main()
