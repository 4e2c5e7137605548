"""LLVM IR text: one module of writers for each family of ops, found by the op's name."""
