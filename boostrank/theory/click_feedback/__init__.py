"""What can be learned from clicks: consistency of losses of clicks, the unknown normalizer of NDCG, and variance."""
