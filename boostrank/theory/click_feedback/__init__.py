"""Losses of clicks: when they are consistent, what the unknown ideal DCG costs, and the variance of their targets."""
