"""The result of a search for a counterexample to NDCG consistency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from boostrank.inputs.arrays import Floats
from boostrank.ndcg.dcg import DCG
from boostrank.surrogates import SURROGATES, Surrogate, is_consistent
from boostrank.theory.distributions import LabelDistribution

# If more than this share of the distributions was left out, finding no counterexample says nothing.
MAX_LEFT_OUT = 0.1


@dataclass(frozen=True, eq=False, repr=False)
class ConsistencyReport:
    """The result of a search for a counterexample to NDCG consistency.

    Printing it shows the counterexample as a text of a few lines.

    Attributes
    ----------
    surrogate : Surrogate
    normalize : str
        Kind of targets.
    dcg : DCG
        Gain, discount and cutoff of the targets and of NDCG.
    counts : dict of str to int
        Numbers of the distributions that were tried, by their origin: "random", "of the paper" and
        "similar to the worst". Their sum is `n_distributions`, `n_unsolved` and `n_outside`
        together.
    n_distributions : int
        Number of distributions that were examined: for which the minimum was found.
    n_unsolved : int
        Number of distributions that were left out because no minimum was found.
    counterexample : LabelDistribution or None
        The distribution with the largest regret; None if no counterexample was found.
    minimizer : ndarray, shape (n_documents,), or None
        For the counterexample, the scores of least expected loss.
    regret : float
        For the counterexample, the largest expected NDCG minus that of the minimizer; 0 without a
        counterexample.

    Examples
    --------
    >>> import boostrank as br
    >>> br.theory.check_consistency("squared", n_distributions=100)
    squared with targets 'dcg'
    no counterexample to consistency with NDCG
    distributions searched: 100 random, 3 of the paper
    the loss declares that it is consistent
    """

    surrogate: Surrogate
    normalize: str
    dcg: DCG
    counts: dict[str, int]
    n_distributions: int
    n_unsolved: int
    counterexample: LabelDistribution | None = None
    minimizer: Floats | None = None
    regret: float = 0.0

    @property
    def consistent(self) -> bool | None:
        """Whether no counterexample was found.

        None means that none was found, but more than a tenth of the distributions were left out.
        """
        if self.counterexample is not None:
            return False
        n_left_out = self.n_unsolved + self.n_outside
        return None if n_left_out > MAX_LEFT_OUT * self._n_tried else True

    @property
    def n_outside(self) -> int:
        """Number of distributions left out because targets are not within the loss's bounds."""
        return self._n_tried - self.n_distributions - self.n_unsolved

    @property
    def _n_tried(self) -> int:
        return sum(self.counts.values())

    @property
    def declared(self) -> bool:
        """Whether the surrogate declares that it is consistent with these targets."""
        return is_consistent(self.surrogate, self.normalize)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        # The loss by the name under which it is registered, or else by its parameters.
        loss = repr(self.surrogate)
        names = (name for name, named in SURROGATES.items() if repr(named) == loss)
        yield f"{next(names, loss)} with targets {self.normalize!r}"
        metric = str(self.dcg).replace("ndcg", "NDCG")
        if self.counterexample is not None and self.minimizer is not None:
            yield f"not consistent with {metric}: regret {self.regret:.4f}"
            yield from self._comparison(self.counterexample, self.minimizer)
        elif self.consistent:
            yield f"no counterexample to consistency with {metric}"
        else:
            yield f"no statement on consistency with {metric}: too few examined"
        counts = ", ".join(f"{count} {origin}" for origin, count in self.counts.items() if count)
        yield f"distributions searched: {counts}"
        low, high = self.surrogate.target_bounds
        if self.n_outside:
            reason = f"their targets are not in [{low:g}, {high:g}]"
            yield f"{self.n_outside} of these left out, because {reason}"
        if self.n_unsolved:
            yield f"{self.n_unsolved} of these left out, because no minimum was found"
        declares = "declares" if self.declared else "does not declare"
        yield f"the loss {declares} that it is consistent"

    def _comparison(self, distribution: LabelDistribution, minimizer: Floats) -> Iterator[str]:
        """A line for each outcome of the counterexample, and lines that compare the scores."""
        yield f"on a query of {distribution.n_documents} documents that has the labels"
        for labels, p in zip(distribution.labels, distribution.probabilities, strict=True):
            yield f"  {' '.join(f'{y:g}' for y in labels)}   with probability {p:.6g}"
        bayes = distribution.bayes_scores(self.dcg)
        yield f"minimizer       {_row(minimizer)}"
        yield f"optimal E[G/Z]  {_row(bayes)}"
        best = distribution.expected_ndcg(bayes, self.dcg)
        yield f"expected NDCG {best - self.regret:.4f} instead of {best:.4f}"


def _row(values: Floats) -> str:
    return " ".join(f"{value:10.4g}" for value in values)
