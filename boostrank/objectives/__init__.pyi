from .labels import MultipleLabels as MultipleLabels
from .measures import ObjectiveMeasure as ObjectiveMeasure
from .measures import WeightedNDCG as WeightedNDCG
from .objective import Objective as Objective
from .trade_off import Pick as Pick
from .trade_off import TradeOff as TradeOff
from .trade_off import trade_off as trade_off
