"""Passes that no pipeline has: they answer Triton's own tests, which run them by name and read what they print or write."""
