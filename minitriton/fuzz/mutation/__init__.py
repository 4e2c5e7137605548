"""Inputs made wrong: IR, PTX, command lines and pipelines mutated, run, and judged by how they fail."""
