from .measures import InformationCoefficient as InformationCoefficient
from .measures import InformationRatio as InformationRatio
from .measures import Kendall as Kendall
from .measures import Spearman as Spearman
from .measures import Spread as Spread
