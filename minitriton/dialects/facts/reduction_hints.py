"""Attributes that passes leave on reductions for the lowering."""

INCREASING = "ttg.increasing"
"""On a `tt.reduce`: operands whose elements increase along the axis, of which the region passes one on (`array<i32: 1>`)."""
