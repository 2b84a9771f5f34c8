from .curves import calibration_curve as calibration_curve
from .curves import calibration_error as calibration_error
from .measures import NegativeBrierScore as NegativeBrierScore
from .measures import NegativeLogLoss as NegativeLogLoss
from .measures import brier_score as brier_score
from .measures import log_loss as log_loss
from .plackett_luce import RankProbabilities as RankProbabilities
from .ranker import CalibratedRanker as CalibratedRanker
