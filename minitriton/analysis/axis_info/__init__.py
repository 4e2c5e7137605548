"""Axis info: contiguity, divisibility, constancy and constant value of every integer and pointer of a module.

`analysis` runs it, `fact` is what is known of a value, `rules*` say what an op does to it, `assume` what the kernel promises, `types` what it means for
loads and stores, `explain` which lines decide it.
"""
