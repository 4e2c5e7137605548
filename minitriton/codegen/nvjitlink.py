"""nvJitLink through `ctypes`: PTX to cubin inside this process, without a GPU and without starting `ptxas`.

The library comes with the package `nvidia-nvjitlink` or a CUDA toolkit. Its functions carry the version they were added
in (`__nvJitLinkCreate_13_0`), and a library keeps those of its older minor versions (nvJitLink documentation, "API").
"""

from __future__ import annotations

import ctypes
import functools
import glob
import importlib.util
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from minitriton import knobs
from minitriton.codegen.inline_calls import without_calls
from minitriton.errors import MinitritonError

_INPUT_PTX = 2


@functools.cache
def load_library() -> ctypes.CDLL | None:
    """The library, or None where it is not installed."""
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _candidates() -> Iterator[str]:
    try:
        spec = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        spec = None
    for root in (spec.submodule_search_locations or []) if spec else []:
        for pattern in ("cu*/lib/libnvJitLink.so.*", "nvjitlink/lib/libnvJitLink.so.*"):
            yield from sorted(glob.glob(str(Path(root) / pattern)), reverse=True)
    for home in knobs.cuda_homes():
        yield from glob.glob(str(Path(home) / "lib64" / "libnvJitLink.so.*"))
    yield from ("libnvJitLink.so.13", "libnvJitLink.so.12")


@functools.cache
def _function(name: str) -> Callable[..., int]:
    library = load_library()
    assert library is not None
    for major in (13, 12):
        for minor in range(10):
            symbol = getattr(library, f"__nvJitLink{name}_{major}_{minor}", None)
            if symbol is not None:
                return symbol
    raise MinitritonError(f"nvJitLink lacks the function {name}", help="install nvidia-nvjitlink 12.4 or newer")


class Assembled(NamedTuple):
    """A cubin, and what the assembler says of it."""

    cubin: bytes
    log: str = ""


MOST_CHARACTERS = 16_000
"""Of a word or a string of PTX. nvJitLink 13.5 ends the process for a file's name of 17,000, a symbol of 100,000, and a pragma of 100,000, and
takes 16,000 of each (2026-11-26)."""
_LONG = re.compile(rf'"[^"\n]{{{MOST_CHARACTERS},}}|[\w$%]{{{MOST_CHARACTERS},}}')


def _check_lengths(ptx: str) -> None:
    """Raises `MinitritonError` for what would end the process."""
    for number, line in enumerate(ptx.split("\n"), 1):
        if len(line) > MOST_CHARACTERS and (found := _LONG.search(line)) is not None:
            raise MinitritonError(
                f"line {number} of the PTX has a word of {len(found[0])} characters",
                help=f"shorten it to {MOST_CHARACTERS}",
            )


def assemble(ptx: str, options: list[str]) -> Assembled:
    """The cubin of `ptx`. `options` are nvJitLink's, such as `-arch=sm_90a`. Raises `MinitritonError` with the library's log.

    Without nvJitLink's own cache on disk, which gives cubins back without the log, and would make timings of it wrong.
    """
    _check_lengths(ptx)
    options = [*options, "-Xptxas=-v", "-no-cache"]
    handle = ctypes.c_void_p()
    encoded = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    code = _function("Create")(ctypes.byref(handle), len(options), encoded)
    if code:
        raise MinitritonError(f"nvJitLink does not take the options {options} (error {code})")
    try:
        data = without_calls(ptx).encode()
        code = _function("AddData")(handle, _INPUT_PTX, data, ctypes.c_size_t(len(data)), b"kernel.ptx")
        code = code or _function("Complete")(handle)
        if code:
            raise MinitritonError(_log(handle, "Error") or f"nvJitLink error {code}")
        size = ctypes.c_size_t()
        _function("GetLinkedCubinSize")(handle, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        _function("GetLinkedCubin")(handle, cubin)
        return Assembled(cubin.raw, _log(handle, "Info"))
    finally:
        _function("Destroy")(ctypes.byref(handle))


def _log(handle: ctypes.c_void_p, kind: str) -> str:
    """nvJitLink's `Error` or `Info` log."""
    size = ctypes.c_size_t()
    _function(f"Get{kind}LogSize")(handle, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    _function(f"Get{kind}Log")(handle, log)
    return log.value.decode(errors="replace").strip()
