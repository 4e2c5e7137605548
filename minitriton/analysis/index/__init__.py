"""Exact values of index expressions: `evaluation` by the `rules` of each op, as a `value` with unknown numbers, and the axis facts that follow."""
