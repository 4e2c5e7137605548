"""Rewriting shared by all passes: constants, folding, the greedy driver, dominance, regions, side effects."""
