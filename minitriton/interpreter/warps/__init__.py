"""The meaning of ops on groups of warps and CTAs: partitions that run at the same time, clusters."""
