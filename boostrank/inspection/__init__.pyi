from .explanations import Explanation as Explanation
from .explanations import explain as explain
from .permutation_importance import feature_importance as feature_importance
