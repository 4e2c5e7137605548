"""Passes for AMD's GPUs."""
