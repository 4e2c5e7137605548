"""The emulated memories: their bytes, bounds and shadows, what orders accesses to them and what an access costs."""
