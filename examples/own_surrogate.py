"""A surrogate of your own: define a convex potential, check it, and train with it on both backends.

python examples/own_surrogate.py [--output FOLDER]

It is trained twice: as it is, and in the form whose value does not change when all scores of a
query are shifted.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import boostrank as br
from boostrank.displays import style
from boostrank.surrogates import Profiled, Separable

try:
    import matplotlib.pyplot as plt
except ImportError as error:
    raise SystemExit(f"This example needs matplotlib ({error}): pip install matplotlib") from None


@dataclass(frozen=True)
class Hyperbola(Separable):
    """The potential w(s) = sqrt(1 + s^2).

    It is strictly convex: the surrogate is consistent with NDCG.

    Its slopes lie in (-1, 1), which suits normalized gains below 1.
    """

    target_bounds = (-1.0, 1.0)

    def potential(self, scores):
        """w(s)."""
        return np.hypot(1.0, scores)

    def slope_curvature(self, scores):
        """w'(s) and w''(s)."""
        length = np.hypot(1.0, scores)
        return scores / length, length**-3


def plot(path):
    """Draw the potential, and its slope, beside those of least squares."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 3), layout="constrained")
    scores = np.linspace(-4, 4, 200)
    curves = {
        "Hyperbola": (Hyperbola().potential(scores), Hyperbola().slope_curvature(scores)[0]),
        "least squares": (scores**2 / 2, scores),
    }
    for (name, (potential, slope)), look in zip(
        curves.items(), style.styles(2, len(scores)), strict=True
    ):
        left.plot(scores, potential, color=look.color, linestyle=look.linestyle, label=name)
        right.plot(scores, slope, color=look.color, linestyle=look.linestyle)
    figure.suptitle(
        "a loss that grows linearly for large scores, beside least squares", fontsize="medium"
    )
    left.set(xlabel="score s", ylabel="potential w(s)", ylim=(0, 5))
    right.set(xlabel="score s", ylabel="slope w'(s)", ylim=(-2, 2))
    for ax in (left, right):
        style.light_grid(ax)
    left.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--output", type=Path, metavar="FOLDER", help="write the picture own_surrogate.png there"
    )
    arguments = parser.parse_args()
    X, y, qid = br.make_ranking(n_queries=300, random_state=0)
    train, test = br.split_queries(qid, 0.4, random_state=0)
    losses = {
        "as it is": Hyperbola(),
        "invariant to shifts": Profiled(Hyperbola()),
        "LambdaMART": "lambdarank",
    }
    found = {}
    for name, loss in losses.items():
        if name != "LambdaMART":
            # Tests derivatives, Hessian and traits numerically; an error says what is wrong.
            br.surrogates.check(loss)
            assert br.theory.check_consistency(loss, n_distributions=200).consistent
            print(
                f"The surrogate {name} passes all numerical tests, and no labels were found that "
                "it ranks wrongly."
            )
        for library, kind in {"LightGBM": br.LightGBMRanker, "XGBoost": br.XGBoostRanker}.items():
            objective = "rank:ndcg" if (name, library) == ("LambdaMART", "XGBoost") else loss
            ranker = kind(objective, k=10, n_jobs=1, random_state=0).fit(
                X[train], y[train], qid[train]
            )
            values = br.ndcg_score(
                y[test], ranker.predict(X[test]), qid[test], k=10, per_query=True
            )
            found.setdefault(name, {})[library] = values
    print(f"NDCG@10 on {len(values)} test queries:\n")
    print(f"{'':20} LightGBM  XGBoost")
    for name, row in found.items():
        print(f"{name:20} {row['LightGBM'].mean():8.4f} {row['XGBoost'].mean():8.4f}")
    own, shifted, lambdamart = (np.mean(list(row.values()), axis=0) for row in found.values())
    differences = []
    for other, text in ((own, "the loss as it is"), (lambdamart, "LambdaMART")):
        difference, p_value = br.permutation_test(shifted, other)[:2]
        differences.append(f"{difference:+.4f} compared with {text} (p = {p_value:.3f})")
    print(
        "\nLearned: a class of two formulas is a loss for both libraries. In the mean of both, the "
        "form that is "
        f"invariant to shifts has NDCG@10 {differences[0]}, and {differences[1]}."
    )
    if arguments.output:
        plot(arguments.output / "own_surrogate.png")


if __name__ == "__main__":
    main()
