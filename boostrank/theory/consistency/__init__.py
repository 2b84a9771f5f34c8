"""NDCG consistency of losses (Ravikumar, Tewari and Yang, AISTATS 2011): minimizers, counterexamples, regret bounds."""
