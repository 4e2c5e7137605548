"""Slices of the def-use graph: what a value was computed from, what is computed from it, and the pointers at its roots."""
