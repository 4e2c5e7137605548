"""Canonicalisation patterns, one module an op family, each with a `patterns` set."""
