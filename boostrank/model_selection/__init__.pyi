from .cross_validation import QueryGridSearchCV as QueryGridSearchCV
from .cross_validation import cross_validate as cross_validate
from .cross_validation import grid_search as grid_search
from .curves import learning_curve as learning_curve
from .splits import QueryKFold as QueryKFold
from .splits import query_folds as query_folds
from .splits import split_queries as split_queries
from .splits import with_validation as with_validation
