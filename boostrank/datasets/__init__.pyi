from .dataset import Dataset as Dataset
from .dataset import Fold as Fold
from .feature_files import FeatureFiles as FeatureFiles
from .letor_reader import read_letor as read_letor
from .letor_reader import read_letor_folds as read_letor_folds
from .synthetic import make_ranking as make_ranking
