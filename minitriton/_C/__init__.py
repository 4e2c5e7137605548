"""Triton's path of its C++ extension. What Python programs ask of it and has a meaning here is in `libtriton`."""
