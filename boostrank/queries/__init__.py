"""The computations that everything else uses: segments, queries, rankings, gains and discounts,
targets and weights.
"""
