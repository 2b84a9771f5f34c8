from .differences import confidence_interval as confidence_interval
from .differences import effect_size as effect_size
from .paired_tests import PairedTest as PairedTest
from .paired_tests import holm as holm
from .paired_tests import permutation_test as permutation_test
from .power import queries_needed as queries_needed
from .power import required_queries as required_queries
