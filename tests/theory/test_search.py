"""The search for counterexamples: it agrees with the proofs, and what it reports is true."""

import numpy as np
import oracles
import pytest
from broken_surrogates import Descent, SignError, variant
from scipy import optimize

from boostrank import theory
from boostrank.ndcg.dcg import DCG
from boostrank.ndcg.targets import NORMALIZATIONS, make_targets
from boostrank.queries.queries import Queries
from boostrank.surrogates import SURROGATES, Logistic, Surrogate, get_surrogate, is_consistent

FEW = {"n_distributions": 40}
pytestmark = pytest.mark.usefixtures("short_search")


def expected(transform, distribution):
    return distribution.probabilities @ np.array(
        [transform(labels) for labels in distribution.labels]
    )


OWN_TARGETS = {
    "none": lambda y: 2.0**y - 1,
    "l2": lambda y: (2.0**y - 1) / np.linalg.norm(2.0**y - 1),
    "softmax": lambda y: np.exp(y) / np.exp(y).sum(),
}


@pytest.mark.parametrize(
    ("surrogate", "normalize", "distribution", "numbers", "optimal"),
    [
        ("squared", "none", theory.SECTION_3_2_1, [10.0, 9.4], [0.3216, 0.7533]),
        ("cosine", "l2", theory.PROPOSITION_7_COSINE, [0.6004, 0.5759], [0.5243, 0.5432]),
        (
            "softmax",
            "softmax",
            theory.PROPOSITION_7_CROSS_ENTROPY,
            [0.4815, 0.5185],
            [0.5481, 0.5220],
        ),
    ],
)
def test_the_counterexamples_of_proposition_7(surrogate, normalize, distribution, numbers, optimal):
    mean = expected(OWN_TARGETS[normalize], distribution)
    np.testing.assert_allclose(mean, numbers, atol=5e-5)
    np.testing.assert_allclose(expected(oracles.normalized_gains, distribution), optimal, atol=5e-5)
    np.testing.assert_allclose(distribution.bayes_scores(), optimal, atol=5e-5)
    scores = theory.minimizer(surrogate, distribution, normalize, method="numeric")
    assert (
        np.sign(scores[0] - scores[1])
        == np.sign(mean[0] - mean[1])
        == -np.sign(optimal[0] - optimal[1])
    )
    assert distribution.ndcg_regret(scores) == pytest.approx(
        (1 - 1 / np.log2(3)) * abs(np.diff(optimal)[0]), abs=5e-5
    )
    repaired = theory.minimizer(surrogate, distribution, method="numeric")
    assert distribution.ndcg_regret(repaired) == 0.0


@pytest.mark.parametrize("surrogate", [name for name in SURROGATES if is_consistent(name)])
def test_with_the_repaired_targets_the_search_finds_what_is_declared(surrogate):
    report = theory.check_consistency(surrogate, **FEW)
    assert report.consistent == report.declared == is_consistent(surrogate), report
    assert report.n_distributions > 30
    assert (report.regret == 0.0) == report.consistent


OTHER = [("squared", normalize) for normalize in NORMALIZATIONS if normalize != "dcg"]
OTHER += [
    ("logistic", "none"),
    ("softmax", "softmax"),
    ("cosine", "l2"),
    ("pairwise-logistic", "sum"),
]


@pytest.mark.parametrize(("surrogate", "normalize"), OTHER)
@pytest.mark.slow
def test_every_other_pair_has_a_counterexample(surrogate, normalize):
    # Few distributions have targets in [0, 1] for the logistic loss.
    report = theory.check_consistency(
        surrogate, normalize, n_distributions=160 if surrogate == "logistic" else 60
    )
    assert not report.consistent
    assert report.declared is False
    assert report.regret > 0.005


#: At probability 1/2 the expected normalized gains of two documents are equal.
NEAR_TIES = [
    theory.LabelDistribution(labels, [0.5 + sign * gap, 0.5 - sign * gap])
    for gap in (1e-2, 1e-4, 1e-6, 1e-8, 1e-10)
    for labels, sign in (([[2, 1, 0], [1, 2, 0]], 1), ([[1, 0, 1], [0, 1, 1]], -1))
]
#: One document is relevant with a small probability only.
RARE = [
    theory.LabelDistribution([[5, 0, 1, 0], [0, 1, 0, 0]], [p, 1 - p]) for p in (0.01, 0.001, 1e-4)
]


@pytest.mark.parametrize(
    ("surrogate", "distributions"),
    [(name, NEAR_TIES) for name in ("squared", "centered-logistic", "pnorm", "cosine")]
    + [(name, RARE) for name in ("cosine", "normalized-pnorm", "centered-logistic", "softmax")],
)
def test_rounding_near_ties_and_limits_makes_no_counterexamples(
    surrogate, distributions, monkeypatch
):
    monkeypatch.setattr("boostrank.theory.search.PAPER_DISTRIBUTIONS", distributions)
    report = theory.check_consistency(surrogate, n_distributions=1)
    assert report.consistent, report


class SaidToBeConvex(Surrogate):
    """Least squares of the cubes of the scores. Because of its wrong trait the theory.search stays
    at zero."""

    consistent = True
    convex = True

    def loss(self, scores, targets, queries):
        return queries.sum((scores**3 - targets) ** 2 / 2)

    def gradient_hessian(self, scores, targets, queries):
        return 3 * scores**2 * (scores**3 - targets), np.ones_like(scores)


def test_what_only_seems_a_minimum_is_no_counterexample():
    report = theory.check_consistency(SaidToBeConvex(), n_distributions=25)
    assert report.counterexample is report.consistent is None
    assert report.n_unsolved > 15
    assert f"{report.n_unsolved} of these left out, because no minimum was found" in repr(report)


@pytest.mark.parametrize(
    ("surrogate", "normalize", "k"),
    [("squared", "none", None), ("softmax", "softmax", 2), ("pairwise-squared", "l2", 1)],
)
def test_a_reported_counterexample_is_one(surrogate, normalize, k):
    report = theory.check_consistency(
        surrogate, normalize, DCG(k=k), random_state=3, n_distributions=60
    )
    labels, probabilities = report.counterexample.labels, report.counterexample.probabilities
    bayes = probabilities @ np.array([oracles.normalized_gains(row, cutoff=k) for row in labels])
    queries, m = Queries.from_sizes([labels.shape[1]] * len(labels)), labels.shape[1]
    targets = make_targets(labels.ravel(), queries, DCG(k=k), normalize)

    def loss(scores):
        return probabilities @ get_surrogate(surrogate).loss(
            np.tile(scores, len(labels)), targets, queries
        )

    scores = optimize.minimize(loss, np.zeros(m), tol=1e-13).x
    np.testing.assert_allclose(
        scores - scores.mean(), report.minimizer - report.minimizer.mean(), atol=1e-3
    )
    orders = list(oracles.orders_by(report.minimizer.round(9).tolist()))
    ndcg = np.mean([oracles.dcg_of_order(bayes, order, cutoff=k) for order in orders])
    best = oracles.ideal_dcg(bayes, cutoff=k)
    assert report.regret == pytest.approx(best - ndcg, abs=1e-9)
    assert f"expected NDCG {ndcg:.4f} instead of {best:.4f}" in repr(report)
    assert f"with targets '{normalize}'" in repr(report)
    assert max(map(len, repr(report).splitlines())) <= 80
    assert f"optimal E[G/Z]  {' '.join(f'{gain:10.4g}' for gain in bayes)}" in repr(report)
    np.testing.assert_allclose(100 * probabilities, np.round(100 * probabilities), atol=1e-9)


def test_the_search_reports_the_largest_regret(monkeypatch):
    monkeypatch.setattr(theory.search, "N_CLIMBS", 5)
    few, many = (theory.check_consistency("squared", "none", n_distributions=n) for n in (20, 200))
    assert many.regret > few.regret
    assert many.n_distributions > few.n_distributions


def test_a_seed_makes_the_search_repeatable():
    first, again, other = (
        theory.check_consistency("squared", "none", random_state=seed, **FEW) for seed in (5, 5, 6)
    )
    assert repr(first) == repr(again) != repr(other)


def test_without_most_of_the_distributions_the_search_says_nothing():
    narrow, unsolved = variant(Logistic, target_bounds=(0.1, 0.2)), "no minimum was found"
    reasons = {
        Descent(): unsolved,
        SignError(): unsolved,
        narrow: "their targets are not in [0.1, 0.2]",
    }
    for surrogate, reason in reasons.items():
        report = theory.check_consistency(surrogate, **FEW)
        assert report.consistent is None
        assert f"43 of these left out, because {reason}" in repr(report)
    for n_examined, consistent in [(90, True), (89, None)]:
        report = theory.ConsistencyReport(
            Logistic(), "dcg", DCG(), {"random": 100}, n_examined, n_unsolved=4
        )
        assert report.consistent is consistent
    with pytest.raises(ValueError, match="n_distributions"):
        theory.check_consistency("softmax", n_distributions=0)


def test_targets_out_of_bounds_are_left_out():
    report = theory.check_consistency("logistic", "none", n_distributions=160)
    assert report.consistent is False
    assert report.counterexample.labels.max() == 1
    assert 160 > report.n_outside > 80
    assert f"{report.n_outside} of these left out, because their targets are not in [0, 1]" in repr(
        report
    )
    assert theory.check_consistency("logistic", "sum", **FEW).n_outside == 0


@pytest.mark.parametrize("n", [1, 50])
def test_the_report_counts_exactly_the_distributions_that_were_asked_for(n):
    report = theory.check_consistency("squared", n_distributions=n)
    assert report.counts == {"random": n, "of the paper": 3, "similar to the worst": 0}
    assert (report.n_distributions, report.n_unsolved, report.n_outside) == (n + 3, 0, 0)
    assert f"distributions searched: {n} random, 3 of the paper\n" in repr(report)
    report = theory.check_consistency("squared", "none", n_distributions=n)
    random, paper, similar = report.counts.values()
    assert (random, paper) == (n, 3)
    assert similar > 0
    assert similar % (1 + int(0.06 * n)) == 0
    assert sum(report.counts.values()) == report.n_distributions
    assert f"{n} random, 3 of the paper, {similar} similar to the worst\n" in repr(report)
