"""Click models: how position and relevance determine the probability of a click.

A user *examines* some of the documents that are shown, and a document is *relevant* to the user
with a probability ``gamma``, which depends on the query and the document. A click model says how
clicks follow from both.

========================= =========================================================================
model                     probability of a click at position ``r``
========================= =========================================================================
:class:`PositionBased`    ``p_r gamma``: the user examines position ``r`` with probability ``p_r``,
                          independently of everything else, and clicks relevant documents
:class:`TrustBias`        ``p_r (eps+_r gamma + eps-_r (1 - gamma))``: an examined document is
                          clicked with the probability ``eps+_r`` if it is relevant, and ``eps-_r``
                          if not
:class:`Cascade`          the user examines documents from the first position on, clicks relevant
                          ones, and stops with some probability
========================= =========================================================================

In the first two models the probability of a click is ``a_r gamma + b_r`` with numbers ``a_r`` and
``b_r`` that depend on the position only. They are the two numbers of the affine correction, see
:meth:`ClickModel.affine`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from boostrank.clicks.log import ClickLog
from boostrank.inputs.arrays import Bools, Floats, as_floats
from boostrank.inputs.checks import (
    check_choice,
    check_number,
    check_settings,
    is_number,
    refuse,
    refuse_first,
    setting,
)
from boostrank.queries.segments import Segments

#: One number for each position: ("power", eta), ("power", eta, first), a number, or an array.
NumbersOfPositions: TypeAlias = ArrayLike


class ClickModel:
    """How position and relevance determine the probability of a click.

    Models with equal settings are equal. A subclass defines :meth:`affine`; or :meth:`draw` and
    :meth:`corrections`, if clicks depend on those above.

    Examples
    --------
    Users of a phone examine fewer documents. The propensities of a device are estimated from its
    sessions, with ``harvest_propensities(log.select(sessions))``:

    >>> import numpy as np
    >>> import boostrank as br
    >>> phones = [7]
    >>> on_phones, elsewhere = np.array([1.0, 0.3]), np.array([1.0, 0.6])
    >>> class ByDevice(br.clicks.ClickModel):
    ...     def corrections(self, log):
    ...         is_phone = log.sessions.repeat(np.isin(log.session_ids, phones))
    ...         r = log.position - 1
    ...         return np.where(is_phone, on_phones[r], elsewhere[r]), np.zeros(log.n_entries)
    ...
    >>> log = br.ClickLog(
    ...     [5, 5], row=[0, 1, 0, 1], position=[1, 2, 1, 2], clicks=[1, 0, 0, 1],
    ...     session=[7, 7, 8, 8],
    ... )
    >>> ByDevice().corrections(log)[0].tolist()
    [1.0, 0.3, 1.0, 0.6]
    """

    @property
    def is_by_position(self) -> bool:
        """Whether the corrections depend on the position only."""
        return type(self).corrections is ClickModel.corrections

    def draw(self, relevance: Floats, sessions: Segments, random: np.random.Generator) -> Bools:
        """Draw clicks, shape (n_entries,).

        Parameters
        ----------
        relevance : ndarray, shape (n_entries,)
            Probability that each document that is shown is relevant, from the first position of a
            session to the last.
        sessions : Segments
            The entries of each session.
        random : Generator
        """
        a, b = self.affine(int(sessions.sizes.max()))
        probability = a[sessions.positions] * relevance + b[sessions.positions]
        return random.random(len(relevance)) < probability

    def affine(self, n_positions: int) -> tuple[Floats, Floats]:
        """Numbers ``a_r`` and ``b_r`` with ``P(click) = a_r gamma + b_r``.

        Parameters
        ----------
        n_positions : int
            The positions are 1 to this.

        Returns
        -------
        a, b : ndarray, each of shape (n_positions,)

        Raises
        ------
        ValueError
            If the probability of a click depends on more than the position and the relevance of the
            document, or if the model has no numbers for some of the positions.
        """
        raise ValueError(
            f"{self!r} has no affine correction: clicks depend on the context, or on documents "
            "above"
        )

    def corrections(self, log: ClickLog) -> tuple[Floats, Floats]:
        """Numbers ``a`` and ``b`` of each entry with which ``(click - b) / a`` estimates ``gamma``.

        ``gamma`` is the expectation of this ratio.

        Returns
        -------
        a, b : ndarray, each of shape (n_entries,)
            An entry with ``a = 0`` is known not to be examined.

        Raises
        ------
        ValueError
            If the model needs sessions and the log has none, if no such numbers exist, or if the
            model has no numbers for a position of the log.
        """
        a, b = self.affine(log.n_positions)
        return a[log.position - 1], b[log.position - 1]


@dataclass(frozen=True)
class PositionBased(ClickModel):
    """The position-based model: a click is the examination of a relevant document.

    ``P(click) = p_r gamma``, where ``p_r``, the *propensity* of position ``r``, is the probability
    of its examination. Examinations and relevances are independent.

    Parameters
    ----------
    propensities : ("power", eta) or array-like, shape (n_positions,), default ("power", 1.0)
        ``p_r = r^-eta``, or the propensities of the positions 1, 2, ... in (0, 1]. A position
        beyond those given is an error when it is used. Also ``("power", eta, first)`` for ``first
        r^-eta``, or one number for all positions. The default ``1 / r`` is an assumption that many
        papers make for simulations; for real logs, use estimates.

    Raises
    ------
    ValueError
        If a propensity is not in (0, 1].

    References
    ----------
    Joachims, Swaminathan and Schnabel, "Unbiased learning-to-rank with biased feedback", WSDM 2017.

    Examples
    --------
    >>> import boostrank as br
    >>> br.clicks.PositionBased().affine(4)[0].round(4).tolist()
    [1.0, 0.5, 0.3333, 0.25]
    >>> br.clicks.PositionBased([0.9, 0.3])
    PositionBased(propensities=(0.9, 0.3))
    """

    propensities: NumbersOfPositions = ("power", 1.0)

    def __post_init__(self) -> None:
        propensities = _checked_numbers(self.propensities, "propensities")
        object.__setattr__(self, "propensities", propensities)

    def affine(self, n_positions: int) -> tuple[Floats, Floats]:
        """The propensities, and zeros; see :meth:`ClickModel.affine`."""
        propensities = _by_position(self, "propensities", n_positions)
        return propensities, np.zeros(n_positions)


@dataclass(frozen=True)
class TrustBias(ClickModel):
    """The trust-bias model: users click irrelevant documents too.

    They do so more often at the first positions.

    ``P(click) = p_r (eps+_r gamma + eps-_r (1 - gamma))``: an examined document at position ``r``
    is clicked with the probability ``eps+_r`` if it is relevant, and ``eps-_r`` if it is not.

    Parameters
    ----------
    propensities
        As in :class:`PositionBased`.
    click_relevant, click_irrelevant
        ``eps+_r`` in (0, 1] and ``eps-_r`` in [0, 1], by position: one number for all positions,
        ``("power", eta)`` for ``r^-eta``, ``("power", eta, first)`` for ``first r^-eta``, or an
        array with one number for each position.

    Raises
    ------
    ValueError
        If a number is out of its range. If ``eps+_r`` is not larger than ``eps-_r`` at a position,
        so that clicks there say nothing about relevance, the error is raised when that position is
        used.

    References
    ----------
    Agarwal, Wang, Li, Bendersky and Najork, "Addressing trust bias for unbiased learning-to-rank",
    WWW 2019.

    Examples
    --------
    >>> import boostrank as br
    >>> a, b = br.clicks.TrustBias(
    ...     ("power", 1.0), click_relevant=[0.9, 0.8], click_irrelevant=[0.5, 0.2]
    ... ).affine(2)
    >>> a.round(4).tolist(), b.round(4).tolist()
    ([0.4, 0.3], [0.5, 0.1])
    """

    propensities: NumbersOfPositions = ("power", 1.0)
    click_relevant: NumbersOfPositions = 0.98
    click_irrelevant: NumbersOfPositions = ("power", 1.0, 0.65)

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            numbers = _checked_numbers(getattr(self, name), name, zero=name == "click_irrelevant")
            object.__setattr__(self, name, numbers)

    def affine(self, n_positions: int) -> tuple[Floats, Floats]:
        """``a_r = p_r (eps+_r - eps-_r)`` and ``b_r = p_r eps-_r``.

        See :meth:`ClickModel.affine`.
        """
        p = _by_position(self, "propensities", n_positions)
        relevant = _by_position(self, "click_relevant", n_positions)
        irrelevant = _by_position(self, "click_irrelevant", n_positions)
        refuse_first(
            ~(relevant > irrelevant),
            lambda r: (
                "click_relevant must be larger than click_irrelevant, so that clicks depend on "
                f"relevance; they are {relevant[r]:g} and {irrelevant[r]:g} at position {r + 1}"
            ),
        )
        return p * (relevant - irrelevant), p * irrelevant


@dataclass(frozen=True)
class Cascade(ClickModel):
    """The cascade model: the user examines documents in sequence, and stops after some clicks.

    The first position comes first. An examined document is clicked if it is relevant. After a click
    the user stops with the probability `satisfaction`. By default the session ends with the first
    click. Relevances are independent; examinations are not.

    Parameters
    ----------
    satisfaction : float in [0, 1], default 1

    Raises
    ------
    ValueError
        If `satisfaction` is out of its range.

    References
    ----------
    Craswell, Zoeter, Taylor and Ramsey, "An experimental comparison of click position-bias models",
    WSDM 2008. Guo, Liu and Wang, "Efficient multiple-click models in web search", WSDM 2009, for
    several clicks in a session.

    Examples
    --------
    >>> import boostrank as br
    >>> log = br.ClickLog(
    ...     qid=[1, 1, 1], row=[0, 1, 2], position=[1, 2, 3], clicks=[0, 1, 0], session=[7, 7, 7]
    ... )
    >>> br.clicks.Cascade(satisfaction=0.6).corrections(log)[0].tolist()
    [1.0, 1.0, 0.4]
    """

    satisfaction: float = setting(1.0, check_number, smallest=0, largest=1)

    def __post_init__(self) -> None:
        check_settings(self)

    def draw(self, relevance: Floats, sessions: Segments, random: np.random.Generator) -> Bools:
        """Draw clicks; see :meth:`ClickModel.draw`."""
        relevant = random.random(len(relevance)) < relevance
        stops = relevant & (random.random(len(relevance)) < self.satisfaction)
        return relevant & (sessions.sum_before(stops.astype(np.int64)) == 0)

    def corrections(self, log: ClickLog) -> tuple[Floats, Floats]:
        """Probability of going on until each entry, given the clicks above it.

        See :meth:`ClickModel.corrections`. With ``x_j`` the probability of going on after document
        ``j``, ``1 - satisfaction`` if it was clicked and 1 if not, this is
        ``a_r = prod_{j < r} x_j``.

        *Proof* that ``E[click_r / a_r] = gamma_r``, if `satisfaction` is less than 1. Let ``e_r``
        be 1 if ``r`` is examined. If so, all documents above are examined, so that clicks on them
        are their relevances, and ``e_r = prod_{j < r} g_j`` with ``g_j = 1`` if the user goes on
        after ``j``. Given the relevances, ``E[g_j / x_j] = 1`` at every examined document, one
        after the other. Hence ``E[e_r / a_r] = 1`` for all relevances, and ``E[e_r relevant_r /
        a_r] = gamma_r``. Relevances need not be independent.

        If every click ends the session, ``a_r = 0`` below a click, and such an entry says nothing.
        The entries that are left are examined, and their click is their relevance, given that
        nothing above was relevant. So these clicks have the expectation ``gamma`` only if
        relevances are independent.
        """
        if log.sessions is None or not (log.position == log.sessions.positions + 1).all():
            raise ValueError(
                f"{self!r} needs a log of sessions that show the positions 1, 2, ... without gaps: "
                "whether a document is examined depends on the clicks above it"
            )
        is_clicked = log.clicks > 0
        a = log.sessions.product_before(np.where(is_clicked, 1.0 - self.satisfaction, 1.0))
        refuse_first(
            (a == 0.0) & is_clicked,
            lambda i: (
                f"the log contradicts {self!r}, in which every click ends the session: use a "
                f"satisfaction below 1, as {log.name_of_row(int(log.row[i]))} was clicked below "
                f"another click, at position {log.position[i]}"
            ),
        )
        return a, np.zeros(log.n_entries)


#: Click models by name.
CLICK_MODELS = {"position-based": PositionBased, "trust-bias": TrustBias, "cascade": Cascade}


@runtime_checkable
class HasClickModel(Protocol):
    """An estimate of a click model, such as :class:`boostrank.clicks.Propensities`."""

    def click_model(self) -> ClickModel:
        """The click model."""


#: Arguments of :func:`get_click_model`.
ClickModelLike = ClickModel | HasClickModel | NumbersOfPositions


def get_click_model(model: ClickModelLike) -> ClickModel:
    """The click model of a name, or of propensities.

    Parameters
    ----------
    model : str, ClickModel, Propensities, or array-like, shape (n_positions,)
        "position-based", "trust-bias" or "cascade", with default settings (propensities of ``1 /
        r``, which are an assumption and no estimate); a model, which is returned unchanged; or the
        propensities of the position-based model, as an array or as
        :class:`boostrank.clicks.Propensities`, whose
        :meth:`~boostrank.clicks.Propensities.click_model` is used.

    Raises
    ------
    ValueError
        For another name, for propensities that are not in (0, 1], and for estimates that lack a
        position.

    Examples
    --------
    >>> import boostrank as br
    >>> br.clicks.get_click_model("cascade")
    Cascade(satisfaction=1.0)
    >>> br.clicks.get_click_model([1.0, 0.6])
    PositionBased(propensities=(1.0, 0.6))
    """
    if isinstance(model, ClickModel):
        return model
    if isinstance(model, str):
        check_choice("model", model, CLICK_MODELS)
        return CLICK_MODELS[model]()
    if isinstance(model, HasClickModel):
        return model.click_model()
    return PositionBased(model)


def _checked_numbers(
    setting: NumbersOfPositions, name: str, *, zero: bool = False
) -> NumbersOfPositions:
    """A setting with one number for each position, with an array as a tuple.

    Raises ValueError if it is invalid.
    """
    checked: NumbersOfPositions
    if isinstance(setting, (tuple, list)) and len(setting) > 1 and setting[0] == "power":
        _, eta, *numbers = checked = tuple(setting)
        check_number(f"the exponent eta of {name}", eta, smallest=0)
    elif is_number(setting):
        checked = np.asarray(setting, dtype=np.float64).item()
        numbers = [checked]
    else:
        array = as_floats(setting, name)
        if array.ndim != 1 or not len(array):
            refuse(name, array, "one number for each position", got=f"shape {array.shape}")
        numbers = array.tolist()
        checked = tuple(numbers)
    for position, number in enumerate(numbers, 1):
        if not (0.0 <= number <= 1.0 and (zero or number > 0.0)):
            limits = "[0, 1]" if zero else "(0, 1]"
            raise ValueError(f"{name} of position {position} is {number:g}, not in {limits}")
    return checked


def _by_position(model: ClickModel, name: str, n_positions: int) -> Floats:
    """The numbers of the positions 1 to `n_positions` for which a setting of a model stands."""
    setting = getattr(model, name)
    if isinstance(setting, float):
        return np.full(n_positions, setting)
    if setting[0] == "power":
        _, eta, *first = setting
        powers = np.arange(1.0, n_positions + 1.0) ** -eta
        return first[0] * powers if first else powers
    if n_positions > len(setting):
        raise ValueError(
            f"{name} has {len(setting)} positions, but position {n_positions} is used: give more "
            "of them (estimates are prolonged by Propensities.extended), or leave out the larger "
            "positions"
        )
    return np.array(setting[:n_positions])
