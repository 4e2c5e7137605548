"""Checks of IR: what ops, functions and modules demand, and that values are defined before their use."""
