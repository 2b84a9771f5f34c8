"""Diagnosis of a click log: what it can tell, and which estimator of its click model to use.

**Below a click.** In the position-based model, whether a document is clicked at a position does not
depend on the clicks above it. Users who stop after a click make it less likely. The ratio compares
the click rates of the same document at the same position in sessions with a click above and without
one. It is Mantel and Haenszel's ratio over documents and positions, with the standard error of
counts with Poisson distributions. If sessions end with the probability `satisfaction` after a
click, and few have two clicks above, it is about ``1 - satisfaction``.

Nothing here finds trust bias (:class:`boostrank.clicks.TrustBias`), whose numbers must come from an
experiment.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from boostrank.clicks.log import ClickLog, check_log
from boostrank.clicks.propensities import (
    MAX_ENDING_WITH_CLICK,
    MIN_SESSIONS,
    ending_with_click,
    harvest_propensities,
)
from boostrank.text.tables import text_lines

# A ratio below MAX_RATIO that chance does not explain, by MIN_ERRORS standard errors, is a finding.
MAX_RATIO = 0.8
MIN_ERRORS = 4.0


class ClickDiagnosis(NamedTuple):
    """The result of :func:`diagnose`: checks of a click log, and the estimator to use.

    Printing it shows them.

    Attributes
    ----------
    table : DataFrame
        A line for each check: check, value, verdict ("good", "bad" or "not known") and meaning.
    estimator : str
        Python text that makes the click model, such as "harvest_propensities(log)"; "" if the log
        is not usable.
    reason : str
    """

    table: pd.DataFrame
    estimator: str
    reason: str

    def __repr__(self) -> str:
        rows = [
            [check, verdict, f"{value:.3f}", meaning]
            for check, value, verdict, meaning in self.table.to_numpy()
        ]
        lines = text_lines([["check", "verdict", "value", ""], *rows], 2, last_is_text=True)
        use = f"Use {self.estimator}: " if self.estimator else ""
        return "\n".join([*lines, "", f"{use}{self.reason}"])


def diagnose(log: ClickLog) -> ClickDiagnosis:
    """Check what a click log can tell, and say which estimator of its click model to use.

    The text of the module :mod:`boostrank.clicks.diagnosis` explains the checks.

    Parameters
    ----------
    log : ClickLog
        Some checks need sessions.

    Returns
    -------
    ClickDiagnosis

    Raises
    ------
    ValueError
        If `log` is no click log.

    Examples
    --------
    >>> import boostrank as br
    >>> X, y, qid = br.make_ranking(n_queries=50, random_state=0)
    >>> policy = ("plackett-luce", 1.0)
    >>> log = br.simulate_clicks(
    ...     y, X[:, 0], qid, n_sessions=5000, policy=policy, noise=0.1, random_state=0
    ... ).log
    >>> diagnosis = br.clicks.diagnose(log)
    >>> diagnosis.estimator
    'harvest_propensities(log)'
    >>> diagnosis.table["verdict"].tolist()
    ['good', 'good', 'good', 'good']
    """
    check_log(log)
    n_ending, n_sessions = ending_with_click(log)
    ending = n_ending / n_sessions if n_sessions >= MIN_SESSIONS else np.nan
    propensities = None
    refusal = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            propensities = harvest_propensities(log)
        except ValueError as error:
            refusal = str(error)
    compared = 0.0
    if propensities is not None:
        compared = 1.0 - len(propensities.not_estimated) / propensities.n_positions
    ratio, is_good = _ratio_below_clicks(log)
    clicked = log.n_clicks / log.n_impressions
    rows = [
        (
            "impressions that were clicked",
            clicked,
            clicked < 1.0,
            "1: impressions without a click are missing",
        ),
        (
            "sessions with a click that end with it",
            ending,
            ending <= MAX_ENDING_WITH_CLICK,
            "1: lists are cut there",
        ),
        (
            "positions compared with position 1",
            compared,
            compared > 0.0,
            "by documents shown at several positions",
        ),
        ("clicks below a click, ratio", ratio, is_good, "below 1: users stop after a click"),
    ]
    table = pd.DataFrame(rows, columns=["check", "value", "verdict", "meaning"])
    verdicts = np.where(table["verdict"], "good", "bad")
    table["verdict"] = np.where(table["value"].isna(), "not known", verdicts)
    of_clicks, of_endings, _, of_ratio = table["verdict"]
    if "bad" in (of_clicks, of_endings):
        estimator = ""
        reason = "documents that were shown are missing in the log: log all of them, with 0 clicks"
    elif of_ratio == "bad":
        estimator = f"Cascade(satisfaction={1.0 - ratio:.2f})"
        reason = "clicks are rarer below a click than without one above"
    elif propensities is None:
        estimator = "1.0"
        reason = f"the effect of positions is not known: swap documents at random ({refusal})"
    else:
        estimator = "harvest_propensities(log)"
        reason = "documents were shown at several positions for the same query"
        if propensities.not_estimated:
            estimator += f".extended({propensities.n_positions})"
    return ClickDiagnosis(table, estimator, reason)


def _ratio_below_clicks(log: ClickLog) -> tuple[float, bool]:
    """Mantel and Haenszel's ratio of click rates below a click, and whether it is good.

    The ratio is NaN if it is not known.
    """
    if log.sessions is None:
        return np.nan, True
    below = log.sessions.sum_before(log.clicks) > 0
    cell = np.unique(log.row * (log.n_positions + 1) + log.position, return_inverse=True)[1]
    columns = (below, ~below, below * log.clicks, ~below * log.clicks)
    n1, n0, c1, c0 = (np.bincount(cell, weights=values) for values in columns)
    n = n1 + n0
    first = float((c1 * n0 / n).sum())
    second = float((c0 * n1 / n).sum())
    if not first + second > 0.0:
        return np.nan, True
    # Half a click more on both sides, as documents may have none below a click.
    first += 0.5
    second += 0.5
    ratio = first / second
    error = np.sqrt(1.0 / first + 1.0 / second)
    return ratio, bool(ratio > MAX_RATIO or np.log(ratio) > -MIN_ERRORS * error)
