"""Chains of a load, casts and a dot, and tiles of rows, split into parts."""
