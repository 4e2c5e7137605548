"""Functions of libraries of LLVM bitcode, linked into a module that calls them.

In: a live LLVM module, a library's path, names. Out: the same module with those functions, internal to it, and what they need. That part is cached as
bitcode, so that a library is read once a process.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import llvmlite.binding as llvm

from minitriton.codegen.llvm_session import context_of
from minitriton.errors import MinitritonError
from minitriton.host.damaged_files import read_regular


def library_digest(library: Path) -> str:
    """Names the contents of a library. Raises `MinitritonError` if it cannot be read."""
    return hashlib.sha256(_contents(library)).hexdigest()


def _contents(library: Path) -> bytes:
    try:
        return read_regular(library)
    except OSError as error:
        raise MinitritonError(
            f"cannot read the device library {str(library)!r}: {error.strerror}",
            help="extern_libs maps names to paths of LLVM bitcode",
        ) from None


def link(module: llvm.ModuleRef, library: Path, names: Sequence[str]) -> None:
    """Links those of the functions `names` that a library has. Raises `MinitritonError` if it cannot be read."""
    bitcode = _contents(library)
    try:
        wanted = frozenset(names) & _functions(bitcode)
    except (RuntimeError, UnicodeDecodeError) as error:
        raise MinitritonError(
            f"LLVM cannot read the device library {str(library)!r}: {str(error).strip()}",
            help="compile device functions by `clang -emit-llvm -c --target=nvptx64-nvidia-cuda`",
        ) from None
    if not wanted:
        return
    part = llvm.parse_bitcode(_extracted(bitcode, wanted), context_of(module))
    part.triple, part.data_layout = module.triple, module.data_layout
    module.link_in(part)
    for function in module.functions:
        if function.name in wanted:
            function.linkage = "internal"


_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""How bitcode begins: as it is, and in a wrapper (LLVM Bitcode File Format, "Magic Numbers")."""


def _parsed(library: bytes) -> llvm.ModuleRef:
    """A library in LLVM: bitcode, or else LLVM IR text. Raises `RuntimeError`."""
    return llvm.parse_bitcode(library) if library.startswith(_BITCODE) else llvm.parse_assembly(library.decode())


def functions_of(library: Path) -> frozenset[str]:
    """The names of a library's functions. Raises `MinitritonError` if it cannot be read."""
    return _functions(_contents(library))


@lru_cache(maxsize=8)
def _functions(library: bytes) -> frozenset[str]:
    """What a library defines."""
    parsed = _parsed(library)
    return frozenset(f.name for f in parsed.functions if not f.is_declaration)


@lru_cache(maxsize=64)
def _extracted(library: bytes, names: frozenset[str]) -> bytes:
    """The part of a library that `names` need, as bitcode."""
    parsed = _parsed(library)
    for function in parsed.functions:
        if not function.is_declaration:
            # What is kept only where it is called would be left out.
            function.linkage = "external" if function.name in names else "internal"
    manager = llvm.create_new_module_pass_manager()
    manager.add_global_dead_code_eliminate_pass()
    builder = llvm.create_pass_builder(
        llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(), llvm.create_pipeline_tuning_options()
    )
    manager.run(parsed, builder)
    return parsed.as_bitcode()
