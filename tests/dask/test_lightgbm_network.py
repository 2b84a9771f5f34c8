"""The network of LightGBM between the workers, and the parameters that belong to it."""

import socket

import pytest

import boostrank.dask as bd
from boostrank.backends.lightgbm import features as lightgbm_features
from boostrank.dask.lightgbm import PortEndpoint


@pytest.mark.parametrize(("name", "value"), [("machines", "127.0.0.1:1"), ("num_machines", 3)])
def test_parameters_that_follow_from_the_workers_are_refused(name, value, rows, small):
    with pytest.raises(ValueError, match=f"{name} follows from the Dask workers"):
        small(bd.LightGBMRanker, **{name: value}).fit(*rows)


def test_the_tree_learner_is_one_for_distributed_rows(rows, small):
    with pytest.raises(ValueError, match=r"tree_learner must be one of data.*got 'feature'"):
        small(bd.LightGBMRanker, tree_learner="feature").fit(*rows)


def test_more_documents_than_lightgbm_counts_are_refused(rows, small, monkeypatch):
    n_documents = rows[0].shape[0]
    monkeypatch.setattr(lightgbm_features, "MAX_ROWS", n_documents - 1)
    with pytest.raises(ValueError, match=rf"at most 2\^31 - 1 rows, and there are {n_documents:,} on all workers"):
        small(bd.LightGBMRanker).fit(*rows)


def test_two_workers_of_one_machine_cannot_have_one_port(rows, small):
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]
    with pytest.raises(OSError, match="in use"):
        small(bd.LightGBMRanker, local_listen_port=port).fit(*rows)


def test_an_endpoint_keeps_its_port_until_lightgbm_takes_it():
    endpoint = PortEndpoint("127.0.0.1", {})
    port = int(endpoint.address.removeprefix("127.0.0.1:"))
    with pytest.raises(OSError, match="in use"), socket.socket() as other:
        other.bind(("", port))
    # One worker alone needs no network.
    with endpoint.connect([endpoint.address]) as parameters:
        assert parameters == {}
    with socket.socket() as other:
        other.bind(("", port))


@pytest.mark.parametrize(("parameters", "tree_learner"), [({}, "data"), ({"tree_learner": "voting"}, "voting")])
def test_parameters_of_the_network_reach_lightgbm(parameters, tree_learner, rows, small):
    ranker = small(bd.LightGBMRanker, **parameters).fit(*rows)
    lines = ranker.booster_.model_to_string().splitlines()
    assert {f"[tree_learner: {tree_learner}]", "[num_machines: 2]"} <= set(lines)
    assert ranker.score(*rows) > 0.7
