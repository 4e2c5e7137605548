"""Inputs made wrong: IR, PTX, command lines and pipelines mutated, run, and classified by how they fail."""
