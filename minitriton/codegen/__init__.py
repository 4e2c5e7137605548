"""TTGIR to the LLVM level, to LLVM IR text, to PTX, to a cubin."""
