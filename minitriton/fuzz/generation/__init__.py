"""Making kernels: a generator that takes steps, each adding statements made of declared operations."""
