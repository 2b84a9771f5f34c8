"""`get_surrogate` and surrogates as values: names, equality, copies, texts and settings."""

import copy
import pickle
import re

import oracles
import pytest
from cases import for_each
from sklearn.base import clone
from surrogate_samples import ALL

import boostrank.surrogates
from boostrank.ndcg.targets import NORMALIZATIONS
from boostrank.surrogates import SURROGATES, Power, get_surrogate, is_consistent

every = for_each("surrogate", ALL, ids=repr)


@every
def test_repr_evaluates_to_an_equal_surrogate(surrogate):
    # `vars` of the package has only the names that are imported so far; a new loss may be in its
    # module only.
    public = {name: getattr(boostrank.surrogates, name) for name in boostrank.surrogates.__all__}
    names = {**public, **vars(oracles), type(surrogate).__name__: type(surrogate)}
    assert eval(repr(surrogate), names) == surrogate


@every
def test_copies_are_equal(surrogate):
    for twin in (
        clone(surrogate, safe=False),
        pickle.loads(pickle.dumps(surrogate)),
        copy.deepcopy(surrogate),
    ):
        assert twin == surrogate
        assert hash(twin) == hash(surrogate)
        assert repr(twin) == repr(surrogate)


@for_each("name", SURROGATES)
def test_names_give_default_surrogates_and_instances_themselves(name):
    surrogate = get_surrogate(name)
    assert surrogate == SURROGATES[name]
    assert get_surrogate(surrogate) is surrogate


def test_pairs_with_normalized_gains_are_declared_consistent():
    for name, surrogate in SURROGATES.items():
        found = [normalize for normalize in NORMALIZATIONS if is_consistent(name, normalize)]
        assert found == ["dcg"] * surrogate.consistent
        assert is_consistent(surrogate) == surrogate.consistent


@for_each("name", ["hinge", "", "Power", None, 3, Power, ["softmax"]], ids=repr)
def test_unknown_names_are_errors_that_say_where_the_known_are(name):
    near = " (did you mean 'power'?)" if name == "Power" else ""
    message = f"unknown surrogate {name!r}{near}; boostrank.surrogates.SURROGATES has all names"
    with pytest.raises(ValueError, match=re.escape(message)):
        get_surrogate(name)
