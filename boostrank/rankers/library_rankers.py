"""The library's own fitted ranker of a model, for tools that ask for its class."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from boostrank.backends.interface import Backend
from boostrank.backends.records import EvalResults


class LibraryRankers:
    """The methods of a ranker and of a bag that give its model to such tools."""

    def to_lightgbm(self) -> Any:
        """The model as a fitted ``lightgbm.LGBMRanker``.

        It is for tools that ask for this class, such as ``lightgbm.plot_importance`` and
        ``shap.TreeExplainer``. Its `booster_` is that of the ranker, and it predicts the same
        scores from features that are exactly those of the model: of a ranker with `query_features`
        these are ``ranker.query_features_.transform(X, qid)``, and a column of query ids is not
        left out. Its `fit` would train with other defaults, and never with a loss of boostrank.

        Returns
        -------
        lightgbm.LGBMRanker
            With the parameters that both have, `n_estimators` and `learning_rate` as they were
            found, the names of features, categories, and results of validation sets. A bag is one
            model, with the trees of all members.

        Raises
        ------
        ValueError
            If the ranker is on XGBoost.
        sklearn.exceptions.NotFittedError

        Examples
        --------
        >>> import boostrank as br
        >>> X, y, qid = br.make_ranking(n_queries=20, random_state=0)
        >>> ranker = br.LightGBMRanker(n_estimators=5).fit(X, y, qid)
        >>> theirs = ranker.to_lightgbm()
        >>> type(theirs).__name__, bool((theirs.predict(X) == ranker.predict(X)).all())
        ('LGBMRanker', True)
        """
        return self._ranker_of_library("LightGBM")

    def to_xgboost(self) -> Any:
        """The model as a fitted ``xgboost.XGBRanker``.

        It is for tools that ask for this class, such as ``xgboost.plot_importance`` and
        ``shap.TreeExplainer``. All is as in :meth:`to_lightgbm`, except that its booster is a copy.
        From a sparse matrix it predicts other scores: XGBRanker takes an element that is not stored
        as a missing value, and boostrank takes it as 0.

        Returns
        -------
        xgboost.XGBRanker

        Raises
        ------
        ValueError
            If the ranker is on LightGBM.
        sklearn.exceptions.NotFittedError
        """
        return self._ranker_of_library("XGBoost")

    def _ranker_of_library(self, name: str) -> Any:
        """The library's own fitted ranker; `name` is the library that the user asked for."""
        model: Any = self
        check_is_fitted(model, "booster_")
        library: Backend = model._library
        own = library.parameters.LIBRARY
        if own != name:
            raise ValueError(
                f"this {type(self).__name__} has a model of {own}: call to_{own.lower()}()"
            )
        results = EvalResults(model.evals_result_, model.best_score_)
        parameters = model._parameters._shared_parameters(model)
        return library.to_ranker(model.booster_, parameters, results)
