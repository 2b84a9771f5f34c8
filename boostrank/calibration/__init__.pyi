from .plackett_luce import RankProbabilities as RankProbabilities
from .ranker import CalibratedRanker as CalibratedRanker
