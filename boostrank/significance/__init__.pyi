from .differences import confidence_interval as confidence_interval
from .differences import effect_size as effect_size
from .differences import required_queries as required_queries
from .paired_tests import PairedTest as PairedTest
from .paired_tests import corrected_resampled_t_test as corrected_resampled_t_test
from .paired_tests import holm as holm
from .paired_tests import permutation_test as permutation_test
