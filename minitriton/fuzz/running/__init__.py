"""Running kernels: the oracles, what their outcomes say, and campaigns over many processes."""
