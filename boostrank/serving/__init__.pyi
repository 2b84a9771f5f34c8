from .evaluators import evaluate as evaluate
from .exporters import TRUSTED_TYPES as TRUSTED_TYPES
from .exporters import export as export
from .logs import read_log as read_log
from .requests import Request as Request
from .requests import feature_set as feature_set
from .requests import requests as requests
