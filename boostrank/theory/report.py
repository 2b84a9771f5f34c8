"""The result of a search for a counterexample to NDCG consistency."""

from __future__ import annotations

from dataclasses import dataclass

from boostrank.inputs.arrays import Floats
from boostrank.queries.dcg import DCG
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
        """Whether no counterexample was found; None if none was found, and more than a tenth were
        left out.
        """
        if self.counterexample is None and self.n_unsolved + self.n_outside > MAX_LEFT_OUT * sum(
            self.counts.values()
        ):
            return None
        return self.counterexample is None

    @property
    def n_outside(self) -> int:
        """Number of distributions that were left out because their targets are not within the
        loss's bounds.
        """
        return sum(self.counts.values()) - self.n_distributions - self.n_unsolved

    @property
    def declared(self) -> bool:
        """Whether the surrogate declares that it is consistent with these targets."""
        return is_consistent(self.surrogate, self.normalize)

    def __repr__(self) -> str:
        # The loss by the name under which it is registered, or else by its parameters.
        names = (name for name, named in SURROGATES.items() if repr(named) == repr(self.surrogate))
        metric = str(self.dcg).replace("ndcg", "NDCG")
        result = [f"no counterexample to consistency with {metric}"]
        if self.consistent is None:
            result = [f"no statement on consistency with {metric}: too few examined"]
        if self.counterexample is not None and self.minimizer is not None:
            result = [f"not consistent with {metric}: regret {self.regret:.4f}"]
            result += self._comparison(self.counterexample, self.minimizer)
        counts = ", ".join(f"{count} {origin}" for origin, count in self.counts.items() if count)
        low, high = self.surrogate.target_bounds
        left_out = {
            f"their targets are not in [{low:g}, {high:g}]": self.n_outside,
            "no minimum was found": self.n_unsolved,
        }
        return "\n".join(
            [
                f"{next(names, repr(self.surrogate))} with targets {self.normalize!r}",
                *result,
                f"distributions searched: {counts}",
                *(
                    f"{n} of these left out, because {reason}"
                    for reason, n in left_out.items()
                    if n
                ),
                f"the loss {'declares' if self.declared else 'does not declare'} that it is "
                f"consistent",
            ]
        )

    def _comparison(self, distribution: LabelDistribution, minimizer: Floats) -> list[str]:
        """The counterexample, the minimizer and the optimal scores, a line for each outcome and for
        each of these.
        """
        bayes = distribution.bayes_scores(self.dcg)
        best = distribution.expected_ndcg(bayes, self.dcg)
        outcomes = zip(distribution.labels, distribution.probabilities, strict=True)
        return [
            f"on a query of {distribution.n_documents} documents that has the labels",
            *(
                f"  {' '.join(f'{y:g}' for y in labels)}   with probability {p:.6g}"
                for labels, p in outcomes
            ),
            f"minimizer       {_row(minimizer)}",
            f"optimal E[G/Z]  {_row(bayes)}",
            f"expected NDCG {best - self.regret:.4f} instead of {best:.4f}",
        ]


def _row(values: Floats) -> str:
    return " ".join(f"{value:10.4g}" for value in values)
