"""Triton's path of its Gluon language. Only what host code makes descriptors of is here; Gluon kernels are not compiled."""
