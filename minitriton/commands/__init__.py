"""Commands of `minitriton` that have no package of their own."""
