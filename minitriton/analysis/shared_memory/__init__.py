"""Shared memory: which buffers there are, when each is alive, its offset, and where threads have to wait for each other."""
