"""NDCG on long lists (Wang et al., COLT 2013): limits, suitable discounts, and how well NDCG distinguishes rankers."""
