"""Triton's module paths for target descriptions (`triton.backends.compiler`)."""
