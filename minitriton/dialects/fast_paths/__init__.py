"""What xDSL does too slowly for a compile, done faster: what a compile asks most often of ops, attributes and text.

Nothing here changes what IR is or says. Each module replaces work of xDSL by work with the same result; the parser, the printer and the greedy driver, which
differ from xDSL's in what they do, are elsewhere (`dialects.parsing`, `dialects.printing`, `rewriting.greedy`). Microseconds on one of two busy cores
(`python benchmarks/xdsl_fast_paths.py`, 2026-11-26; in brackets the ops of the module):

                                                      here      xDSL   times
    define an op                                     75.94   1821.54    24.0
    read an optional operand (as `load.mask`)         0.59      5.58     9.5
    read the operands of any op                       0.32      1.49     4.6
    make an op                                       14.58     19.05     1.3
    make a location                                   1.69     17.61    10.4
    hash a tensor type                                0.68      1.38     2.0
    list the ops of a module (75)                    13.02    144.44    11.1
    copy a module (75)                             2470.53   4458.81     1.8
    whether a module has changed (75)               107.62   3088.09    28.7
    which of two ops comes first                      2.21      6.64     3.0

Importing xDSL takes 0.13 s of processor time, 0.07 of it for its 260 dataclasses and its 90 ops of `llvm`, `scf` and `cf` are 0.016. Ours are cheaper to import: ops
are read when they are first used (`op_definition`), plain values are named tuples or `frozen` (0.05 ms a class; a frozen dataclass 0.45).
"""
