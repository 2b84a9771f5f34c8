from .labels import MultipleLabels as MultipleLabels
from .measures import ObjectiveMeasure as ObjectiveMeasure
from .measures import WeightedNDCG as WeightedNDCG
from .objective import Objective as Objective
