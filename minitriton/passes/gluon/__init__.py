"""Passes that only Gluon kernels need: layouts that the author left to the compiler, and clean-up that changes no layout of his."""
