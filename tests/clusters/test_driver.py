"""Settings of rankers that several workers train: those that need all data, or one machine, are errors."""

import pytest

import boostrank as br
from boostrank.clusters.driver import checked_settings

WRONG = [
    ({"objective": lambda y, scores: (scores, scores)}, "a function as objective is not possible on a cluster"),
    ({"interaction_constraints": [[0, 1]]}, "cannot be used on a cluster: .* crash"),
    ({"query_features": br.QueryFeatures(cut_copies=1)}, "cut_copies of query_features is not possible on a cluster"),
    ({"linear_tree": True}, "cannot be used on a cluster: .* own rows"),
    ({"monotone_constraints_method": "advanced"}, "cannot be used on a cluster: .* 'basic'"),
    ({"tree_learner": "feature"}, r"tree_learner must be one of data.*got 'feature'"),
    ({"early_stopping_rounds": 3}, "early_stopping_rounds needs validation queries"),
]


@pytest.mark.parametrize(("settings", "message"), WRONG, ids=[str(list(settings)) for settings, _ in WRONG])
def test_settings_that_a_cluster_cannot_train_with_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        checked_settings(br.LightGBMRanker(**settings), None)


def test_settings_of_one_machine_may_be_given_where_they_change_nothing():
    ranker = br.LightGBMRanker(linear_tree=False, cegb_penalty_split=0.0, interaction_constraints=None)
    assert checked_settings(ranker, None).backend is ranker._backend
    # These parameters are LightGBM's.
    constrained = br.XGBoostRanker(interaction_constraints=[[0, 1]], early_stopping_rounds=3)
    assert checked_settings(constrained, [()]).native["interaction_constraints"] == [[0, 1]]
