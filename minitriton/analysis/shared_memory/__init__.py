"""Shared memory: which buffers there are, when each is alive, where it is, and where threads have to wait for each other."""
