"""Losses bound to labels: the gradient and the Hessian of every boosting round."""
