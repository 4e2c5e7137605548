"""Integer ranges: between which numbers every integer of a module is.

`analysis` runs it, `fact` is what is known of a value, `rules*` say what an op does to it; `analysis` also reads what the kernel promises.
"""
