from .evaluation import evaluate_run as evaluate_run
