"""Launches without a GPU: on the PTX emulator or the interpreter, with arrays of the host."""
