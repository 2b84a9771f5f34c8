"""The result of a search for a counterexample to NDCG consistency."""

from __future__ import annotations

from dataclasses import dataclass, field

from boostrank.inputs.arrays import Floats
from boostrank.queries.dcg import DCG
from boostrank.surrogates import SURROGATES, Surrogate, is_consistent
from boostrank.theory.distributions import LabelDistribution


@dataclass(frozen=True, eq=False, repr=False)
class ConsistencyReport:
    """The result of a search for a counterexample to NDCG consistency.

    Printing it shows the counterexample as a text of a few lines.

    Attributes
    ----------
    surrogate : Surrogate
    normalize : str
        Kind of targets.
    targets_dcg : DCG
        Gain, discount and cutoff of the targets.
    metric : DCG
        Gain, discount and cutoff of the NDCG in which regret is measured.
    n_distributions : int
        Number of distributions that were examined: for which the minimum was found.
    n_unsolved : int
        Number of distributions that were left out because no minimum was found.
    counterexample : LabelDistribution or None
        The distribution with the largest regret; None if no counterexample was found.
    minimizer, bayes : ndarray, shape (n_documents,), or None
        For the counterexample, the scores of least expected loss, and the expected normalized gains of the metric.
    ndcg, best_ndcg, regret : float
        For the counterexample, the expected NDCG of the minimizer, the largest expected NDCG, and the difference. They
        are 0 without a counterexample.
    loss_gap : float
        For the counterexample, how much larger the least expected loss is among the scores that sort the documents as
        `bayes` does. It is positive, and 0 without a counterexample.
    counts : dict of str to int
        Numbers of the distributions that were tried, by their origin: "random", "of the paper", "given" and "similar to
        the worst". Their sum is `n_distributions`, `n_unsolved` and `n_outside` together.

    Examples
    --------
    >>> from boostrank.theory import check_consistency
    >>> check_consistency("squared", n_distributions=100)
    squared with targets 'dcg'
    no counterexample to consistency with NDCG
    distributions searched: 100 random, 3 of the paper
    the loss declares that it is consistent
    """

    surrogate: Surrogate
    normalize: str
    targets_dcg: DCG
    metric: DCG
    n_distributions: int
    n_unsolved: int
    counterexample: LabelDistribution | None = None
    minimizer: Floats | None = None
    bayes: Floats | None = None
    ndcg: float = 0.0
    best_ndcg: float = 0.0
    regret: float = 0.0
    loss_gap: float = 0.0
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def consistent(self) -> bool:
        """Whether no counterexample was found."""
        return self.counterexample is None

    @property
    def n_outside(self) -> int:
        """Number of distributions that were left out because their targets are not within the loss's bounds."""
        return sum(self.counts.values()) - self.n_distributions - self.n_unsolved

    @property
    def declared(self) -> bool:
        """Whether the surrogate declares that it is consistent with these targets, for the NDCG of `targets_dcg`."""
        return is_consistent(self.surrogate, self.normalize)

    def __repr__(self) -> str:
        lines = [self._title()]
        if self.counterexample is None or self.minimizer is None or self.bayes is None:
            return "\n".join(
                [*lines, f"no counterexample to consistency with {self._metric()}", *self._number_searched()]
            )
        lines.append(f"not consistent with {self._metric()}: regret {self.regret:.4f}")
        lines.append(f"on a query of {self.counterexample.n_documents} documents that has the labels")
        for labels, probability in zip(self.counterexample.labels, self.counterexample.probabilities, strict=True):
            lines.append(f"  {' '.join(f'{label:g}' for label in labels)}   with probability {probability:.6g}")
        lines.append(f"minimizer       {_row(self.minimizer)}")
        lines.append(f"optimal E[G/Z]  {_row(self.bayes)}")
        lines.append(f"expected NDCG {self.ndcg:.4f} instead of {self.best_ndcg:.4f}")
        return "\n".join([*lines, *self._number_searched()])

    def _title(self) -> str:
        """The loss by the name under which it is registered, or else by its parameters, and its targets."""
        names = (name for name, named in SURROGATES.items() if repr(named) == repr(self.surrogate))
        return f"{next(names, repr(self.surrogate))} with targets {self.normalize!r}"

    def _metric(self) -> str:
        name = str(self.metric).replace("ndcg", "NDCG")
        if self.metric == self.targets_dcg:
            return name
        return f"{name}, with the targets of {str(self.targets_dcg).upper()}"

    def _number_searched(self) -> list[str]:
        counts = ", ".join(f"{count} {origin}" for origin, count in self.counts.items() if count)
        lines = [f"distributions searched: {counts}"]
        low, high = self.surrogate.target_bounds
        if self.n_outside:
            lines.append(f"{self.n_outside} of these left out, because their targets are not in [{low:g}, {high:g}]")
        if self.n_unsolved:
            lines.append(f"{self.n_unsolved} of these left out, because no minimum was found")
        declares = "declares" if self.declared else "does not declare"
        return [*lines, f"the loss {declares} that it is consistent"]


def _row(values: Floats) -> str:
    return " ".join(f"{value:10.4g}" for value in values)
