"""Exact values of index expressions: `evaluation` by the `rules` of each op, as a `value` with unknown numbers; `facts` reads axis facts off it."""
