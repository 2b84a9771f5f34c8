"""The compiled library: results are those of NumPy, and a library that is missing, broken or old is
not used."""

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boostrank.kernels import library
from boostrank.kernels.ranked_measures import first_ranks
from boostrank.queries.queries import Queries
from boostrank.surrogates import PairwiseLogistic, PairwiseSquared, get_surrogate

KERNELS = Path(library.__file__).parent
NAMES = ["pairwise-logistic", "pairwise-squared-hinge", "consistent-lambdarank"]
needs_library = pytest.mark.skipif(
    not library.is_available(), reason="boostrank was installed without a C compiler"
)


def with_and_without(function):
    """Results with the library and with NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        assert library.is_available()
        one = function()
        patch.setenv("BOOSTRANK_COMPILED", "0")
        assert not library.is_available()
        return one, function()


@needs_library
@pytest.mark.parametrize("name", NAMES)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=8),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1000.0, 1e6]),
    bits=st.sampled_from([0, 3, 40]),
    shift=st.sampled_from([0.0, -1e4]),
)
def test_results_are_those_of_numpy(name, sizes, seed, scale, bits, shift):
    random, n = np.random.default_rng(seed), sum(sizes)
    # With few bits there are ties, and margins of exactly 1, where hinges are not differentiable.
    # With decimal digits there were margins of nearly 1, on one side of it or the other.
    scores = np.ldexp(np.round(np.ldexp(random.normal(size=n) * scale + shift, bits)), -bits)
    targets = random.random(n) * random.integers(0, 2, n)
    queries = Queries.from_sizes(sizes)
    ours, expected = with_and_without(
        lambda: get_surrogate(name).gradient_hessian(scores, targets, queries)
    )
    # The largest term of the gradient: the weight of a pair, which is 1 or larger for documents of
    # near scores.
    term = max(1.0, np.abs(scores - shift).max()) if "squared" in name else 1.0
    if name == "consistent-lambdarank":
        term = get_surrogate(name).at(scores, queries).weight.max(initial=0.0)
    # NumPy computes terms such as w (1 - p) as w - w p. Rounding errors are some units in the last
    # place of w, however small 1 - p is, and a document is in up to 39 pairs.
    tolerance = 1e-13 * term + 1e-11 * term * np.abs(expected[1]).max()
    for one, other in zip(ours, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=tolerance)


@needs_library
@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_types_and_strides_are_copied(name):
    random, queries = np.random.default_rng(2), Queries.from_sizes([3, 4])
    scores, targets = random.normal(size=7), random.integers(0, 2, 7)
    expected = get_surrogate(name).gradient_hessian(scores, targets.astype(float), queries)
    strided = np.repeat(scores, 2)[::2]
    assert not strided.flags.c_contiguous
    for one, other in zip(
        get_surrogate(name).gradient_hessian(strided, targets, queries), expected, strict=True
    ):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"values of the shape \(6,\) for 7 documents"):
        get_surrogate(name).gradient_hessian(scores, targets[1:].astype(float), queries)


@needs_library
@pytest.mark.parametrize("cutoff", [0, -1, 3])
def test_cutoffs_of_no_rank_are_errors(cutoff):
    with pytest.raises(
        ValueError, match=rf"cutoffs\[1\] must be an integer from 1 to 2; got {cutoff}"
    ):
        first_ranks(np.arange(5.0), Queries.from_sizes([3, 2]), np.array([1, cutoff]))


def test_subclasses_with_other_functions_do_not_use_the_library():
    class Squared(PairwiseLogistic):
        margin = "squared"

    queries, scores, targets = (
        Queries.from_sizes([4]),
        np.array([0.5, -1.0, 2.0, 0.0]),
        np.array([0.4, 0.0, 0.1, 0.0]),
    )
    for ours, expected in zip(
        Squared().gradient_hessian(scores, targets, queries),
        PairwiseSquared().gradient_hessian(scores, targets, queries),
        strict=True,
    ):
        np.testing.assert_allclose(ours, expected)


def prototypes():
    """Types of the arguments of the functions that the C files export, by name."""
    sources = "".join(path.read_text(encoding="utf-8") for path in KERNELS.parent.rglob("*.c"))
    kinds = {"double *": library._FLOATS, "int64_t *": library._INTS, "int64_t ": library._COUNT}
    kinds["double "] = library._NUMBER
    kinds |= {
        "float *": library._FLOAT32S,
        "uint8_t *": library._UINT8,
        "char *": ctypes.c_char_p,
        "int32_t *": library._INT32,
        "uint64_t *": library._UINT64,
    }
    found = {}
    for name, arguments in re.findall(r"^EXPORT int64_t (\w+)\(([^)]*)\)", sources, re.MULTILINE):
        types = [
            re.sub(r"\w+$", "", one.strip().removeprefix("const ")) for one in arguments.split(",")
        ]
        found[name] = [kinds[one] for one in types if one != ""]
    return found


def test_arguments_are_those_of_the_c_functions():
    found = prototypes()
    assert found.pop("boostrank_interface") == []
    assert found == library._ARGUMENTS


def test_the_numbers_of_the_interface_agree():
    assert f"#define INTERFACE {library.INTERFACE} " in (KERNELS / "module.c").read_text().replace(
        "\n", " "
    )


def test_without_the_library_numpy_is_used(monkeypatch):
    monkeypatch.setattr(library, "_library", lambda: None)
    assert not library.is_available()
    queries, targets = Queries.from_sizes([3]), np.array([1.0, 0.5, 0.0])
    gradient = get_surrogate("pairwise-logistic").gradient_hessian(np.zeros(3), targets, queries)[0]
    np.testing.assert_allclose(gradient, [-0.75, 0.0, 0.75])


@needs_library
@pytest.mark.parametrize("fault", [r"interface \d+, not \d+", "later_function"])
def test_a_library_of_another_version_is_refused(monkeypatch, fault):
    if fault == "later_function":
        monkeypatch.setitem(library._ARGUMENTS, "later_function", [])
    else:
        monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    with pytest.warns(RuntimeWarning, match=rf"this version of boostrank \(.*{fault}.*\): NumPy"):
        assert library._library.__wrapped__() is None
