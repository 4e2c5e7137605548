"""The meaning of ops on numbers: integers, floats of every format, casts and mathematical functions."""
