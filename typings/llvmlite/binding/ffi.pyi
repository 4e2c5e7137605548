"""How llvmlite calls LLVM: under a lock, which it takes where objects are freed too."""

from threading import RLock

class _LLVMLock:
    _lock: RLock

class _lib_wrapper:
    _lock: _LLVMLock

lib: _lib_wrapper
