"""What each worker of a training does, with threads as workers, and settings that a cluster cannot
train with."""

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from bound_losses import bind_loss
from cluster_samples import assert_close, make_data, small

import boostrank as br
from boostrank.backends.left_out_queries import best_round
from boostrank.clusters.collective import StoppedError, Tracker
from boostrank.clusters.driver import checked_settings, fit_ranker
from boostrank.clusters.worker import prepare
from boostrank.inputs.checks import as_random_state
from boostrank.inputs.table import Table
from boostrank.queries.queries import Queries
from boostrank.queries.threads import n_threads
from boostrank.training.arguments import RoundArguments
from boostrank.training.features import TrainingFeatures
from boostrank.training.specification import specify


def prepared(rows, ranker=None, validation=None, is_selected=None, eval_metric=None):
    """The data, validation sets and objective of a worker that has one partition."""
    ranker = br.LightGBMRanker("softmax") if ranker is None else ranker
    features = TrainingFeatures.of_model(2, None, {})
    specification = specify(
        ranker._settings(),
        features,
        (5, features.n_features_in_),
        np.random.RandomState(0),
        RoundArguments(eval_metric),
    )
    is_selected = (
        np.ones(len(np.unique(rows[2])), dtype=bool) if is_selected is None else is_selected
    )
    return prepare(
        ranker._backend, specification, lambda: ([(rows, is_selected)], validation or {})
    )


ROWS = [np.arange(10.0).reshape(5, 2), np.array([0, 1, 2, 3, 0]), np.array([7, 5, 7, 5, 6])]


def test_a_worker_groups_the_selected_queries():
    is_selected = np.array([True, False, True])
    data, validation, objective = prepared(
        [*ROWS, np.array([1, 2, 1, 2, 3])], is_selected=is_selected
    )
    assert data.queries.ids.tolist() == [7, 6]
    assert data.labels.values.tolist() == [0, 2, 0]
    assert data.X.tolist() == [[0, 1], [4, 5], [8, 9]]
    assert data.weights.tolist() == [1, 1, 3]
    assert objective.queries is data.queries
    assert validation == []


@pytest.mark.parametrize(
    "eval_metric", [None, "auc", br.get_measure("ndcg@3", empty="raise")], ids=str
)
def test_a_worker_without_validation_data_has_a_row_that_does_not_count(eval_metric):
    sets = {"without": [], "with": [[ROWS, np.array([True, False, False])]]}
    absent, present = prepared(ROWS, validation=sets, eval_metric=eval_metric)[1]
    (without,), (measure,) = absent.metrics, present.metrics
    assert (absent.name, absent.data.X.tolist()) == ("without", [[0, 1]])
    assert len(without.per_query(np.zeros(1))) == 0
    assert str(without) == str(measure) == str(eval_metric or "ndcg")
    assert present.data.labels.values.tolist() == [0, 2]
    assert measure.mean(np.array([0.0, 1.0])) == 1.0


@pytest.mark.parametrize(
    ("ranker", "rows", "message"),
    [
        (br.LightGBMRanker("lambdarank"), [ROWS[0], ROWS[1] + 0.5, ROWS[2]], "lambdarank takes"),
        (
            br.XGBoostRanker("rank:ndcg"),
            [*ROWS, np.arange(1.0, 6.0)],
            "sample_weight differs within query",
        ),
        (
            br.XGBoostRanker("rank:ndcg"),
            [*ROWS, np.zeros(5)],
            "is zero for all queries of one worker, and XGBoost's",
        ),
    ],
)
def test_labels_and_weights_that_an_objective_does_not_take_are_errors_before_the_training(
    ranker, rows, message
):
    with pytest.raises(ValueError, match=message):
        prepared(rows, ranker)


# Workers together


def train_in_threads(ranker, parts, validation=None):
    """The ranker, trained by one thread for each part; `validation` is the part of each worker, or
    None."""

    def select_all(part):
        return [] if part is None else [(part, np.ones(len(np.unique(part[2])), dtype=bool))]

    def train(work):
        tracker = Tracker("127.0.0.1", len(parts))

        def run(rank):
            sets = {} if validation is None else {"valid_0": select_all(validation[rank])}
            rows = select_all(parts[rank]), sets
            return work(lambda: rows, tracker.address, rank=rank, host="127.0.0.1", n_threads=1)

        with ThreadPoolExecutor(len(parts)) as pool:
            futures = [pool.submit(run, rank) for rank in range(len(parts))]
            failures = [future.exception() for future in futures]
        if any(failures):
            raise ExceptionGroup("workers", [failure for failure in failures if failure])
        trained, *others = [future.result() for future in futures]
        assert others == [None] * len(others)
        return trained

    settings, features = checked_settings(ranker, [()] if validation else None), TrainingFeatures()
    features.learn(Table(parts[0][0]))
    fit_ranker(
        ranker, settings, features, len(parts[0][1]), as_random_state(settings.random_state), train
    )
    return ranker


@pytest.fixture(scope="module")
def halves():
    """Two parts of whole queries, and all."""
    data = make_data(80)
    return [[column[rows] for column in data] for rows in (data[2] < 30, data[2] >= 30)], data


def test_workers_train_the_model_of_one_process(ranker_class, halves):
    parts, data = halves
    settings = {"early_stopping_rounds": 3, "k": 5, "n_estimators": 6}
    # Only one of the workers has validation data.
    found = train_in_threads(small(ranker_class, **settings), parts, [None, parts[0]])
    expected = small(ranker_class, **settings).fit(*data, eval_set=[parts[0]])
    assert_close(found.predict(data[0]), expected.predict(data[0]))
    np.testing.assert_allclose(
        *(one.evals_result_["valid_0"]["ndcg@5"] for one in (found, expected)), atol=1e-9
    )
    assert len(np.unique(found.predict(data[0]))) > 20
    # One worker alone needs no network.
    alone = train_in_threads(small(ranker_class), [data])
    assert_close(alone.predict(data[0]), small(ranker_class).fit(*data).predict(data[0]))


def test_left_out_queries_of_all_workers_choose_the_rounds(ranker_class, halves):
    parts, (X, y, qid) = halves
    ranker = train_in_threads(ranker_class("squared", random_state=0, n_jobs=1), parts)
    improvement, n_rounds = ranker.oob_improvement_, ranker.best_iteration_
    assert len(improvement) == n_rounds - 1
    assert 50 < 2 * best_round(improvement[: n_rounds - 1]) <= n_rounds
    # Each worker draws half of its queries. The loss is quadratic: see the tests of QuerySample.
    bound, randoms = (
        bind_loss("squared", y, Queries.from_qid(qid)),
        [np.random.default_rng((0, 0)) for _ in parts],
    )
    stages = [np.zeros(len(y)), *itertools.islice(ranker.staged_predict(X), 10)]
    losses = [bound.scale * (scores + bound.offset - bound.targets) ** 2 / 2 for scores in stages]
    for i in range(10):
        drawn = []
        for random, (_, _, ids) in zip(randoms, parts, strict=True):
            ids = np.unique(ids)
            drawn.extend(ids[random.permutation(len(ids))[: round(len(ids) / 2)]])
        decrease = (losses[i] - losses[i + 1])[~np.isin(qid, drawn)].mean()
        assert improvement[i] == pytest.approx(decrease, rel=1e-3, abs=1e-6)


class Failing(br.surrogates.Power):
    """Fails after the first round, on the worker with 50 queries."""

    def gradient_hessian(self, scores, targets, queries):
        if scores.any() and queries.n_segments == 50:
            raise ZeroDivisionError(f"a fault on {n_threads()} threads")
        return super().gradient_hessian(scores, targets, queries)


def errors_of(ranker, parts):
    with pytest.raises(ExceptionGroup) as caught:
        train_in_threads(ranker, parts)
    assert not hasattr(ranker, "booster_")
    return caught.value.exceptions


def test_an_error_of_one_worker_ends_all_and_is_named(ranker_class, halves):
    first, second = halves[0]
    consequence, cause = errors_of(small(ranker_class, Failing(), n_jobs=2), halves[0])
    assert str(cause) == "a fault on 2 threads"
    assert isinstance(consequence, StoppedError)
    assert str(consequence) == f"worker 1 stopped with ZeroDivisionError: {cause}"
    for part, message in (
        ((second[0], -second[1], second[2]), "relevance"),
        (None, "there are no queries to train"),
    ):
        consequence, cause = errors_of(small(ranker_class), [first, part])
        assert str(cause).startswith(f"worker 1: {message}")
        assert str(consequence).startswith(f"worker 1 stopped with ValueError: worker 1: {message}")


WRONG = [
    (
        {"objective": lambda y, scores: (scores, scores)},
        "a function as objective is not possible on a cluster",
    ),
    ({"interaction_constraints": [[0, 1]]}, "cannot be used on a cluster: .* crash"),
    (
        {"query_features": br.QueryFeatures(cut_copies=1)},
        "cut_copies of query_features is not possible on a cluster",
    ),
    ({"linear_tree": True}, "cannot be used on a cluster: .* own rows"),
    ({"monotone_constraints_method": "advanced"}, "cannot be used on a cluster: .* 'basic'"),
    ({"tree_learner": "feature"}, r"tree_learner must be one of data.*got 'feature'"),
    ({"early_stopping_rounds": 3}, "early_stopping_rounds needs validation queries"),
]


@pytest.mark.parametrize(
    ("settings", "message"), WRONG, ids=[str(list(settings)) for settings, _ in WRONG]
)
def test_settings_that_a_cluster_cannot_train_with_are_errors(settings, message):
    with pytest.raises(ValueError, match=message):
        checked_settings(br.LightGBMRanker(**settings), None)


def test_settings_of_one_machine_may_be_given_where_they_change_nothing():
    ranker = br.LightGBMRanker(
        linear_tree=False, cegb_penalty_split=0.0, interaction_constraints=None
    )
    assert checked_settings(ranker, None).backend is ranker._backend
    # These parameters are LightGBM's.
    constrained = br.XGBoostRanker(interaction_constraints=[[0, 1]], early_stopping_rounds=3)
    assert checked_settings(constrained, [()]).native["interaction_constraints"] == [[0, 1]]
