"""How each op of the TTGIR level becomes LLVM: one module per family of ops, found by the op's name."""
