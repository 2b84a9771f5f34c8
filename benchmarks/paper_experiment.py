"""The experiment of Section 6 of Ravikumar, Tewari and Yang (AISTATS 2011): original losses against their repairs.

python benchmarks/paper_experiment.py FOLDS ... [--scorers linear,trees] [--output FOLDER]

Cross entropy, cosine and least squares as they were published, and repaired with the DCG norms Z_1, Z_10 and Z; and the
paper's new loss, the normalized p-norm with q = log(m) + 2. Better, same and worse count the cells, data set x loss x
NDCG@{1, 5, 10}, in which the repair with Z_10 differs from the original by a paired randomization test at 5%, as in
Table 1 of the paper.

Linear scorers, as in the paper, are trained by L-BFGS from zero on standardized features, without anything to tune. The
paper uses plain gradient descent, which reaches the same minimum more slowly where the loss is convex. Trees are those
of LightGBM with 15 leaves and learning rate 0.1, stopped early by NDCG@10 on the validation queries.
"""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from reporting import make_parser, picture_path, publish
from rich.progress import track
from scipy.optimize import minimize

import boostrank as br
from boostrank import DCG, Queries, make_targets
from boostrank.datasets import Fold
from boostrank.displays import style
from boostrank.model_selection import with_validation

#: Surrogate and target of each original loss, and the surrogate of its repair.
PAIRS = {
    "cross entropy": ("softmax", "softmax", "softmax"),
    "cosine": ("cosine", "l2", "cosine"),
    "least squares": ("squared", "none", "squared"),
}
NORMS = {"Z_1": 1, "Z_10": 10, "Z": None}
CUTOFFS, TABLE_CUTOFFS = range(1, 11), (1, 5, 10)
#: Options of L-BFGS.
OPTIONS = {"maxiter": 1000, "gtol": 1e-7, "ftol": 1e-12, "maxcor": 20}


def losses():
    """Name of each loss with its surrogate, normalization of the targets, and cutoff of the targets."""
    for name, (surrogate, target, repaired) in PAIRS.items():
        yield f"{name}, original", (surrogate, target, None)
        yield from ((f"{name}, {norm}", (repaired, "dcg", k)) for norm, k in NORMS.items())
    yield "normalized p-norm, Z_10", ("normalized-pnorm", "dcg", 10)


def fit_linear(surrogate, normalize, k, fold):
    """Scores of the test documents, with the weights of features that minimize the loss on the training queries."""
    queries = Queries.from_qid(fold.train.qid)
    center, scale = fold.train.X.mean(axis=0), fold.train.X.std(axis=0)
    X = queries.group((fold.train.X - center) / np.where(scale > 0, scale, 1.0))
    targets = make_targets(queries.group(fold.train.y), queries, DCG(k), normalize)
    loss = br.surrogates.get_surrogate(surrogate)
    # Weights of zero then give every document the best constant score.
    offset = loss.best_constant(targets, queries, None)

    def value_and_gradient(weights):
        scores = X @ weights[1:] + weights[0] + offset
        gradient, _ = loss.gradient_hessian(scores, targets, queries)
        by_weight = np.concatenate([[gradient.sum()], gradient @ X])
        return loss.loss(scores, targets, queries).sum() / queries.n_queries, by_weight / queries.n_queries

    weights = minimize(value_and_gradient, np.zeros(X.shape[1] + 1), jac=True, method="L-BFGS-B", options=OPTIONS).x
    return (fold.test.X - center) / np.where(scale > 0, scale, 1.0) @ weights[1:]


def fit_trees(surrogate, normalize, k, fold):
    """Scores of the test documents by boosted trees."""
    settings = {"n_estimators": 500, "early_stopping_rounds": 50, "learning_rate": 0.1, "num_leaves": 15}
    ranker = br.LightGBMRanker(surrogate, normalize=normalize, k=k, random_state=0, **settings)
    return ranker.fit(*fold.train, eval_set=[tuple(fold.validation)]).predict(fold.test.X)


SCORERS = {"linear": fit_linear, "trees": fit_trees}


def run(folders, scorers):
    """NDCG@k by scorer, data set, loss and k, an array over the test queries of all folds."""
    jobs = []
    for folder in folders:
        folds = [with_validation(dense(fold), random_state=0) for fold in br.read_letor_folds(folder)]
        jobs += [(scorer, folder.name, name, how, folds) for scorer in scorers for name, how in losses()]
    values = {}
    for scorer, data, name, how, folds in track(jobs, description="training"):
        scores = [SCORERS[scorer](*how, fold) for fold in folds]
        for k in CUTOFFS:
            parts = (
                br.ndcg_score(f.test.y, s, f.test.qid, k=k, per_query=True) for f, s in zip(folds, scores, strict=True)
            )
            values[scorer, data, name, k] = np.concatenate(list(parts))
    return values


def dense(fold):
    """The fold with features as arrays."""
    parts = (part._replace(X=part.X.toarray()) if part and hasattr(part.X, "toarray") else part for part in fold[1:])
    return Fold(fold.name, *parts)


def means(values):
    """Mean NDCG@1, 5 and 10, and the test against the original loss at NDCG@10."""
    rows = []
    for scorer, data, name in dict.fromkeys(key[:3] for key in values):
        row = {"data": data, "scorer": scorer, "loss": name}
        for k in TABLE_CUTOFFS:
            row[f"ndcg@{k}"] = values[scorer, data, name, k].mean()
        original = f"{name.split(',')[0]}, original"
        if name != original and (scorer, data, original, 10) in values:
            test = br.permutation_test(values[scorer, data, name, 10], values[scorer, data, original, 10])
            row["difference"], row["p"] = test.difference, test.p_value
        rows.append(row)
    return pd.DataFrame(rows)


def counts(values, norm="Z_10"):
    """Better, same and worse cells, and the mean relative change, by scorer and data set, as in Table 1."""
    rows = []
    for scorer, data in dict.fromkeys(key[:2] for key in values):
        verdicts, changes = [], []
        for loss in PAIRS:
            for k in TABLE_CUTOFFS:
                repaired, original = (values[scorer, data, f"{loss}, {kind}", k] for kind in (norm, "original"))
                test = br.permutation_test(repaired, original)
                verdicts.append(np.sign(test.difference) if test.p_value < 0.05 else 0)
                changes.append(test.difference / original.mean())
        row = {"data": data, "scorer": scorer}
        row["better"], row["same"], row["worse"] = (verdicts.count(sign) for sign in (1, 0, -1))
        row["mean_change"] = np.mean(changes)
        rows.append(row)
    return pd.DataFrame(rows)


def plot(values, scorer, data, path):
    """Figures 1 and 2: NDCG@1 to 10, a panel per loss, and one of the paper's new loss."""
    figure, axes = plt.subplots(1, len(PAIRS) + 1, figsize=(11, 3.2), sharey=True, layout="constrained")
    variants = ("original", *NORMS)
    colors = dict(zip(variants, (style.BLACK, style.SKY, style.BLUE, style.ORANGE), strict=True))
    # Lines differ without colour too.
    dashes = dict(zip(variants, ("--", "-", "-.", ":"), strict=True))
    markers = dict(zip(variants, ("", "o", "s", "^"), strict=True))
    for ax, loss in zip(axes, PAIRS, strict=False):
        for variant, color in colors.items():
            curve = [values[scorer, data, f"{loss}, {variant}", k].mean() for k in CUTOFFS]
            ax.plot(CUTOFFS, curve, color=color, linestyle=dashes[variant], marker=markers[variant], label=variant)
        ax.set_title(loss, fontsize="medium")
    last = {
        "cosine, original": (style.GREEN, "-.", "D"),
        "cross entropy, original": (style.BLACK, "--", ""),
        "normalized p-norm, Z_10": (style.PINK, "-", "o"),
    }
    for name, (color, dash, marker) in last.items():
        curve = [values[scorer, data, name, k].mean() for k in CUTOFFS]
        axes[-1].plot(CUTOFFS, curve, color=color, linestyle=dash, marker=marker, label=name)
    axes[-1].set_title("the new loss", fontsize="medium")
    for ax in axes:
        ax.set_xlabel("k")
        ax.legend(frameon=False, fontsize="x-small")
        style.light_grid(ax)
    axes[0].set_ylabel(f"NDCG@k, {data}, {scorer}")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main():
    parser = make_parser(__doc__)
    parser.add_argument("folds", nargs="+", type=Path)
    parser.add_argument("--scorers", default="linear,trees")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    values = run(arguments.folds, arguments.scorers.split(","))
    publish(
        means(values),
        "paper_experiment",
        arguments.output,
        title="NDCG of original losses and their repairs; differences to the original loss at NDCG@10",
        seeds="0",
    )
    publish(
        counts(values),
        "paper_counts",
        arguments.output,
        title="Cells in which the repair with Z_10 is better, the same or worse at 5%: three losses, NDCG@1, 5 and 10",
        seeds="0",
    )
    for scorer, data in dict.fromkeys(key[:2] for key in values):
        plot(values, scorer, data, picture_path(f"paper_{data}_{scorer}", arguments.output))


if __name__ == "__main__":
    main()
