"""Losses of edges: derivatives, their objective, and rankers that are trained on preferences."""

import itertools
import pickle
import warnings

import lightgbm
import numpy as np
import pytest
import sklearn
import xgboost
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import boostrank as br
from boostrank.margins import MARGINS, get_margin
from boostrank.objective import EdgeObjective, bind
from boostrank.preferences import EDGE_LOSSES, EdgeLoss, PreferenceGraph
from boostrank.queries import Queries
from boostrank.surrogates import Softmax

PHI = {
    "logistic": lambda d: np.log1p(np.exp(-d)),
    "exponential": lambda d: np.exp(-d),
    "hinge": lambda d: max(0.0, 1.0 - d),
    "squared-hinge": lambda d: 0.5 * max(0.0, 1.0 - d) ** 2,
    "squared": lambda d: 0.5 * (1.0 - d) ** 2,
}
RANKERS = [
    br.LightGBMRanker("edge-logistic", n_estimators=20, num_leaves=7, random_state=0, n_jobs=1),
    br.XGBoostRanker("edge-logistic", n_estimators=20, max_depth=3, random_state=0, n_jobs=1),
]
by_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda ranker: type(ranker).__name__)
by_margin = pytest.mark.parametrize("margin", MARGINS)


def a_graph(seed=0, n_edges=80, weighted=True):
    random = np.random.default_rng(seed)
    sizes = random.integers(2, 9, 12)
    qid = np.repeat(np.arange(12), sizes)
    winner = random.integers(0, len(qid), n_edges)
    first = np.repeat(np.cumsum(sizes) - sizes, sizes)[winner]
    loser = first + (winner - first + random.integers(1, sizes[qid[winner]])) % sizes[qid[winner]]
    return PreferenceGraph(qid, winner, loser, random.random(n_edges) if weighted else None)


def loss_by_definition(margin, graph, scores):
    pairs = zip(graph.winner, graph.loser, graph.weights, strict=True)
    return sum(weight * PHI[margin](scores[j] - scores[k]) for j, k, weight in pairs)


def numeric_gradient(function, scores, step=1e-5):
    steps = step * np.eye(len(scores))
    return np.array([(function(scores + d) - function(scores - d)) / (2 * step) for d in steps])


@by_margin
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("scale", [0.3, 3.0])
def test_loss_and_gradient_are_those_of_the_definition(margin, weighted, scale):
    graph = a_graph(weighted=weighted)
    objective = EdgeObjective(EdgeLoss(margin), graph)
    scores = np.random.default_rng(1).normal(size=len(graph)) * scale
    expected = loss_by_definition(margin, graph, scores)
    assert objective.loss(scores).sum() == pytest.approx(expected)
    gradient = numeric_gradient(lambda s: loss_by_definition(margin, graph, s), scores)
    np.testing.assert_allclose(objective.gradient_hessian(scores)[0], objective.scale * gradient, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("margin", [name for name in MARGINS if get_margin(name).smooth])
def test_the_hessian_is_a_majorant_and_half_of_it_is_not(margin):
    graph = a_graph()
    objective, scores = EdgeObjective(EdgeLoss(margin), graph), np.random.default_rng(1).normal(size=len(graph))
    _, hessian = objective.gradient_hessian(scores)
    edges = np.zeros((graph.n_edges, len(graph)))
    edges[np.arange(graph.n_edges), graph.winner], edges[np.arange(graph.n_edges), graph.loser] = 1.0, -1.0
    curvature = get_margin(margin).slope_curvature(edges @ scores)[1] * graph.weights
    exact = objective.scale * edges.T @ (curvature[:, None] * edges)
    assert np.linalg.eigvalsh(np.diag(hessian) - exact)[0] > -1e-5
    assert np.linalg.eigvalsh(np.diag(hessian) / 2 - exact)[0] < -1e-3


@by_margin
def test_margins_are_convex_and_their_derivatives_right(margin):
    d = np.linspace(-4, 4, 41) + 0.01
    phi, step = get_margin(margin), 1e-4
    slope, curvature = phi.slope_curvature(d)
    np.testing.assert_allclose(slope, (phi.value(d + step) - phi.value(d - step)) / (2 * step), rtol=1e-5, atol=1e-6)
    second = (phi.value(d + step) - 2 * phi.value(d) + phi.value(d - step)) / step**2
    assert (second > -1e-5).all()
    if phi.smooth:
        np.testing.assert_allclose(curvature, second, rtol=1e-4, atol=1e-5)
    far = np.array([-1e6, -800.0, 800.0, 1e6])
    assert all(np.isfinite(part).all() for part in (phi.value(far), *phi.slope_curvature(far)))


def test_blocks_of_edges_do_not_matter(monkeypatch):
    graph, scores = a_graph(n_edges=300), np.random.default_rng(1).normal(size=len(a_graph()))
    whole = EdgeObjective(EdgeLoss(), graph).gradient_hessian(scores)
    monkeypatch.setattr("boostrank.preferences.incidence.BLOCK_EDGES", 7)
    for one, other in zip(whole, EdgeObjective(EdgeLoss(), graph).gradient_hessian(scores), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


def test_ranknet_on_grades_is_that_of_the_graph_made_from_them():
    random = np.random.default_rng(0)
    labels, queries = random.integers(0, 4, 40), Queries.from_sizes([15, 1, 24])
    scores = random.normal(size=40)
    graph = PreferenceGraph.from_grades(labels, queries.qid)
    ours = bind(EdgeLoss(), labels, queries)
    for one, other in zip(
        ours.gradient_hessian(scores), EdgeObjective(EdgeLoss(), graph).gradient_hessian(scores), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    gradient = np.zeros(40)
    for i, j in itertools.permutations(range(40), 2):
        if queries.qid[i] == queries.qid[j] and labels[i] > labels[j]:
            push = 1 / (1 + np.exp(scores[i] - scores[j]))
            gradient[i] -= push
            gradient[j] += push
    np.testing.assert_allclose(ours.gradient_hessian(scores)[0], ours.scale * gradient, rtol=1e-5, atol=1e-6)


def test_weights_of_queries_multiply_their_edges():
    graph, scores = a_graph(), np.random.default_rng(1).normal(size=len(a_graph()))
    weights = np.random.default_rng(2).integers(0, 3, 12).astype(float)
    reweighted = PreferenceGraph(graph.qid, graph.winner, graph.loser, graph.weight * weights[graph.qid[graph.winner]])
    for given in (weights, weights[graph.qid]):
        weighted = EdgeObjective(EdgeLoss(), graph, given).gradient_hessian(scores)
        for one, other in zip(weighted, EdgeObjective(EdgeLoss(), reweighted).gradient_hessian(scores), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
    with pytest.raises(ValueError, match="differs within query"):
        EdgeObjective(EdgeLoss(), graph, np.arange(1.0, len(graph) + 1))


def test_the_mean_hessian_of_compared_documents_is_one_at_the_start():
    graph = PreferenceGraph([1] * 10, winner=[0, 1], loser=[1, 2], weight=[1e-4, 3e-4])
    _, hessian = EdgeObjective(EdgeLoss(), graph).gradient_hessian(np.zeros(10))
    assert hessian[:3].mean() == pytest.approx(1.0)
    assert not hessian[3:].any()


def test_bad_objectives_are_errors():
    graph = a_graph()
    with pytest.raises(ValueError, match="no edge of positive weight"):
        EdgeObjective(EdgeLoss(), PreferenceGraph([1, 1], [], []))
    with pytest.raises(ValueError, match="needs relevance labels"):
        bind(Softmax(), graph, graph.queries)
    with pytest.raises(ValueError, match="normalize='none'"):
        bind(EdgeLoss(), graph, graph.queries, normalize="none")
    with pytest.raises(ValueError, match="margin must be one of"):
        EdgeLoss("ranknet")
    with pytest.raises(FloatingPointError, match="document 3 of query"):
        EdgeObjective(EdgeLoss(), graph).gradient_hessian(np.where(np.arange(len(graph)) == 3, np.nan, 0.0))


def test_no_loss_of_edges_is_consistent_with_the_disagreement():
    # The table at the head of boostrank.preferences.edge_losses: every majority agrees with 0, 1, 2.
    expected = {(0, 1): 3, (1, 0): 2, (0, 2): 3, (2, 0): 2, (1, 2): 6}
    graph = PreferenceGraph([0, 0, 0], *np.transpose(list(expected)), list(expected.values()))
    orders = {order: graph.disagreement(-np.argsort(order))[0] for order in itertools.permutations(range(3))}
    assert min(orders, key=orders.get) == (0, 1, 2)
    for name, loss in EDGE_LOSSES.items():
        assert not loss.consistent
        start = [0.0, 0.1, -0.1]
        scores = minimize(lambda s, loss=loss: loss.loss(s, graph.grouped)[0], start, method="Nelder-Mead", tol=1e-9).x
        assert np.argsort(-scores).tolist() == [1, 0, 2], name


def data(seed=0, n_queries=60):
    X, y, qid = br.make_ranking(n_queries, random_state=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], qid[order] + n_queries * seed


@by_ranker
@by_margin
def test_rankers_learn_preferences(ranker, margin):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    fresh, fresh_y, fresh_qid = data(seed=1)
    fitted = clone(ranker).set_params(objective=f"edge-{margin}").fit(X, graph)
    assert fitted.score(fresh, PreferenceGraph.from_grades(fresh_y, fresh_qid)) > 0.6
    assert br.ndcg_score(fresh_y, fitted.predict(fresh), fresh_qid) > 0.6


@by_ranker
def test_the_graph_of_grades_gives_the_model_of_grades(ranker):
    X, y, qid = data()
    scores = clone(ranker).fit(X, y, qid).predict(X)
    np.testing.assert_allclose(clone(ranker).fit(X, PreferenceGraph.from_grades(y, qid)).predict(X), scores)
    np.testing.assert_allclose(clone(ranker).fit(X, PreferenceGraph.from_grades(y, qid), qid=qid).predict(X), scores)


def test_the_order_of_rows_does_not_matter():
    X, y, qid = data()
    graph, order = PreferenceGraph.from_grades(y, qid), np.argsort(qid, kind="stable")
    grouped = clone(RANKERS[0]).fit(X[order], graph[order])
    np.testing.assert_allclose(clone(RANKERS[0]).fit(X, graph).predict(X), grouped.predict(X), atol=1e-6)


@by_ranker
def test_early_stopping_watches_the_agreement(ranker):
    X, y, qid = data()
    fresh, fresh_y, fresh_qid = data(seed=1)
    watched = [(fresh, PreferenceGraph.from_grades(fresh_y, fresh_qid)), (fresh, fresh_y, fresh_qid)]
    settings = {"early_stopping_rounds": 5, "n_estimators": 60}
    fitted = clone(ranker).set_params(**settings).fit(X, PreferenceGraph.from_grades(y, qid), eval_set=watched)
    assert list(fitted.evals_result_["valid_0"]) == ["agreement"]
    assert list(fitted.evals_result_["valid_1"]) == ["ndcg"]
    history = fitted.evals_result_["valid_0"]["agreement"]
    fitted = clone(ranker).set_params(**settings).fit(X, PreferenceGraph.from_grades(y, qid), eval_set=watched[:1])
    history = fitted.evals_result_["valid_0"]["agreement"]
    assert fitted.best_iteration_ == np.argmax(history) + 1
    assert fitted.score(*watched[0]) == pytest.approx(max(history), abs=1e-6)
    held = clone(ranker).set_params(**settings, validation_fraction=0.3, refit=True)
    assert held.fit(X, PreferenceGraph.from_grades(y, qid)).best_iteration_ >= 1


def loop_over_folds(ranker, X, graph, folds):
    return [clone(ranker).fit(X[train], graph[train]).score(X[test], graph[test]) for train, test in folds]


@by_ranker
def test_cross_validation_slices_the_graph(ranker):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    folds = list(br.QueryKFold(3).split(X, groups=qid))
    expected = loop_over_folds(ranker, X, graph, folds)
    scorer = br.make_scorer("agreement")
    short = br.cross_validate(ranker, X, graph, cv=3, scoring="agreement")
    np.testing.assert_allclose(short["test_score"], expected, rtol=1e-12)
    # Without metadata routing, since the labels know their queries.
    for extra in ({}, {"scoring": scorer}, {"scoring": scorer, "n_jobs": 2}):
        done = cross_validate(ranker, X, graph, cv=br.QueryKFold(3), **extra)
        np.testing.assert_allclose(done["test_score"], expected, rtol=1e-12)
    pipeline = make_pipeline(StandardScaler(), ranker)
    scaled = [StandardScaler().fit(X[train]).transform(X) for train, _ in folds]
    by_hand = [loop_over_folds(ranker, Z, graph, [fold])[0] for Z, fold in zip(scaled, folds, strict=True)]
    done = cross_validate(pipeline, X, graph, cv=br.QueryKFold(3), scoring=scorer)
    np.testing.assert_allclose(done["test_score"], by_hand, rtol=1e-12)


@by_ranker
def test_grid_search_over_losses_of_edges(ranker):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    grid = {"objective": list(EDGE_LOSSES)[:3]}
    short = br.grid_search(ranker, grid, X, graph, cv=3, scoring="agreement")
    plain = GridSearchCV(ranker, grid, cv=br.QueryKFold(3)).fit(X, graph)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(ranker, grid, cv=br.QueryKFold(3)).fit(X, graph, qid=qid)
    expected = plain.cv_results_["mean_test_score"]
    np.testing.assert_allclose(routed.cv_results_["mean_test_score"], expected, rtol=1e-12)
    np.testing.assert_allclose(short.cv_results_["mean_test_score"], expected, rtol=1e-12)
    assert isinstance(pickle.loads(pickle.dumps(plain.best_estimator_)).predict(X), np.ndarray)


@by_ranker
def test_misuse_is_an_error(ranker):
    X, y, qid = data()
    graph = PreferenceGraph.from_grades(y, qid)
    native = "lambdarank" if isinstance(ranker, br.LightGBMRanker) else "rank:ndcg"
    for objective in (native, "softmax"):
        with pytest.raises(ValueError, match="needs relevance labels"):
            clone(ranker).set_params(objective=objective).fit(X, graph)
    with pytest.raises(ValueError, match="qid differs"):
        clone(ranker).fit(X, graph, qid=qid[::-1])
    with pytest.raises(ValueError, match="y has 10 values"):
        clone(ranker).fit(X, graph[:10])
    with pytest.raises(ValueError, match="normalize='sum'"):
        clone(ranker).set_params(normalize="sum").fit(X, graph)
    with pytest.raises(ValueError, match="objective must be"):
        clone(ranker).set_params(objective="edge-cubic").fit(X, graph)


def test_native_users_get_ranknet_on_their_grades():
    X, y, qid = br.make_ranking(30, random_state=0)
    sizes = np.bincount(qid)
    ranker = clone(RANKERS[0]).set_params(n_estimators=5).fit(X, y, qid)
    settings = {"n_estimators": 5, "num_leaves": 7, "metric": "None", "verbosity": -1, "force_col_wise": True}
    native = lightgbm.LGBMRanker(objective=br.lightgbm_objective("edge-logistic"), n_jobs=1, **settings)
    np.testing.assert_allclose(native.fit(X, y, group=sizes).predict(X), ranker.predict(X), atol=1e-6)
    parameters = {"base_score": 0, "disable_default_eval_metric": True, "max_depth": 3, "nthread": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dtrain = xgboost.DMatrix(X, y, group=sizes)
        booster = xgboost.train(parameters, dtrain, 5, obj=br.xgboost_objective(EdgeLoss("logistic")))
    scores = booster.predict(xgboost.DMatrix(X), output_margin=True)
    assert br.metrics.agreement_score(y, scores, qid) > 0.7
