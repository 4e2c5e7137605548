"""Integer ranges: the least and the greatest number that every integer of a module can be.

`analysis` runs it, `fact` is what is known of a value, `rules*` say what an op does to it; `analysis` also reads what the kernel promises.
"""
