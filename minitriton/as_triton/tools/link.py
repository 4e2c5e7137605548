"""`python -m minitriton.tools.link`: one C entry point for several kernels compiled ahead of time.

python -m minitriton.tools.link add.*.h -o add

writes `add.c` and `add.h` with `add_default(stream, ...)` and `add(stream, ..., algo_id)`. Kernels of the same constants and
options are one algorithm; of its kernels the one with the most hints that hold for the arguments is launched, and
CUDA_ERROR_INVALID_VALUE is returned if none does.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minitriton.errors import MinitritonError
from minitriton.host.whole_file import write_whole

_KERNEL = re.compile(r"//\s*tt-linker:\s*(\w+):(.*):(.+)")
_HINTS = re.compile(r"//\s*tt-linker-hints:(.*)")
_NAME = re.compile(r"(\w+)_(\w+)_(\w+)")


class LinkerError(MinitritonError):
    """Headers that cannot be linked."""


@dataclass(frozen=True)
class Variant:
    """One compiled kernel: its C function, what it is called without hash and suffix, and its C parameters with hints."""

    function: str
    base: str
    algorithm: str
    parameters: tuple[tuple[str, str], ...]
    hints: tuple[int | None, ...]

    @property
    def signature(self) -> str:
        return "".join(f", {kind} {name}" for kind, name in self.parameters)

    @property
    def own_signature(self) -> str:
        """Of the kernel's own function: what equals 1 is compiled in."""
        pairs = zip(self.parameters, self.hints, strict=True)
        return "".join(f", {kind} {name}" for (kind, name), hint in pairs if hint != 1)

    @property
    def arguments(self) -> str:
        return "".join(f", {name}" for _, name in self.parameters)

    @property
    def own_arguments(self) -> str:
        pairs = zip(self.parameters, self.hints, strict=True)
        return "".join(f", {name}" for (_, name), hint in pairs if hint != 1)

    @property
    def condition(self) -> str:
        """A C expression: whether the hints hold."""
        forms = {16: "({} % 16 == 0)", 1: "({} == 1)"}
        pairs = zip(self.parameters, self.hints, strict=True)
        return " && ".join(forms[hint].format(name) for (_, name), hint in pairs if hint is not None) or "1"

    @property
    def specificity(self) -> int:
        return sum(hint is not None for hint in self.hints)


def read_header(text: str) -> list[Variant]:
    """The kernels that a header declares to the linker. Raises `LinkerError` for a declaration that makes no sense."""
    found: list[Variant] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        kernel = _KERNEL.match(line)
        if kernel is None:
            continue
        name = _NAME.fullmatch(kernel[1])
        if name is None:
            raise LinkerError(f"{kernel[1]} is not a valid kernel name", help="it ends in _HASH_SUFFIX")
        parameters = tuple((kind, word) for kind, word in re.findall(r"(\w+)\s+(\w+)", kernel[2]))
        following = _HINTS.match(lines[number + 1]) if number + 1 < len(lines) else None
        hints = _written(following[1]) if following and parameters else _of_suffix(name[3], len(parameters))
        if len(hints) != len(parameters):
            raise LinkerError(f"{kernel[1]} has {len(parameters)} parameters and {len(hints)} hints")
        found.append(Variant(kernel[1], name[1], f"{name[1]}_{kernel[3].strip()}", parameters, hints))
    return found


def _written(text: str) -> tuple[int | None, ...]:
    return tuple(int(word) if word.strip() else None for word in text.split(","))


def _of_suffix(suffix: str, count: int) -> tuple[int | None, ...]:
    """The hints of the first `count` parameters by a suffix such as `0d1c2`."""
    hints: list[int | None] = []
    at = 0
    for index in range(count):
        if not suffix.startswith(str(index), at):
            raise LinkerError(f"{suffix} is not a valid kernel suffix")
        at += len(str(index))
        hint = {"d": 16, "c": 1}.get(suffix[at : at + 1])
        at += hint is not None
        hints.append(hint)
    return tuple(hints)


def link(variants: Iterable[Variant]) -> tuple[str, str]:
    """`(header, source)` of the entry points. Raises `LinkerError` if kernels of one name differ in their parameters."""
    algorithms: dict[str, list[Variant]] = {}
    for variant in variants:
        same = algorithms.setdefault(variant.algorithm, [])
        if same and [kind for kind, _ in same[0].parameters] != [kind for kind, _ in variant.parameters]:
            raise LinkerError(
                f"{variant.function} takes ({variant.signature[2:]}), {same[0].function} ({same[0].signature[2:]})"
            )
        same.append(variant)
    if not algorithms:
        raise LinkerError("the headers declare no kernel", help="give headers written by minitriton.tools.compile")
    for same in algorithms.values():
        same.sort(key=lambda v: -v.specificity)
    bases: dict[str, list[str]] = {}
    for name, same in algorithms.items():
        bases.setdefault(same[0].base, []).append(name)
    header = ["#include <cuda.h>", "#include <stdint.h>", ""]
    source = [*header]
    for name, same in algorithms.items():
        header += [*_declarations(name, same[0].signature), ""]
        source += [*_dispatcher(name, same), ""]
    for base, names in bases.items():
        first = algorithms[names[0]][0]
        header += [*_entry_declarations(base, first), ""]
        source += [*_entry(base, first, names), ""]
    return "\n".join(header), "\n".join(source)


def _declarations(name: str, signature: str) -> list[str]:
    return [f"CUresult {name}(CUstream stream{signature});", f"void load_{name}(void);", f"void unload_{name}(void);"]


def _dispatcher(name: str, variants: list[Variant]) -> list[str]:
    """The function of one algorithm: the first kernel whose hints hold, the most specific first."""
    lines = [line for v in variants for line in _declarations(v.function, v.own_signature)]
    lines += ["", f"CUresult {name}(CUstream stream{variants[0].signature}) {{"]
    for v in variants:
        lines += [f"  if ({v.condition})", f"    return {v.function}(stream{v.own_arguments});"]
    lines += ["  return CUDA_ERROR_INVALID_VALUE;", "}"]
    return lines + _for_all(name, [v.function for v in variants])


def _for_all(name: str, functions: list[str]) -> list[str]:
    lines: list[str] = []
    for action in ("load", "unload"):
        lines += ["", f"void {action}_{name}(void) {{", *(f"  {action}_{function}();" for function in functions), "}"]
    return lines


def _entry_declarations(base: str, first: Variant) -> list[str]:
    return [
        f"int {base}_get_num_algos(void);",
        f"CUresult {base}_default(CUstream stream{first.signature});",
        f"CUresult {base}(CUstream stream{first.signature}, int algo_id);",
        f"void load_{base}(void);",
        f"void unload_{base}(void);",
    ]


def _entry(base: str, first: Variant, algorithms: list[str]) -> list[str]:
    """The functions of one kernel name: an algorithm by its number, and the first one."""
    return [
        f"typedef CUresult (*{base}_function)(CUstream stream{first.signature});",
        f"static const {base}_function {base}_kernels[] = {{",
        *(f"  {name}," for name in algorithms),
        "};",
        "",
        f"int {base}_get_num_algos(void) {{",
        f"  return {len(algorithms)};",
        "}",
        "",
        f"CUresult {base}(CUstream stream{first.signature}, int algo_id) {{",
        f"  if (algo_id < 0 || algo_id >= {len(algorithms)})",
        "    return CUDA_ERROR_INVALID_VALUE;",
        f"  return {base}_kernels[algo_id](stream{first.arguments});",
        "}",
        "",
        f"CUresult {base}_default(CUstream stream{first.signature}) {{",
        f"  return {base}(stream{first.arguments}, 0);",
        "}",
        *_for_all(base, algorithms),
    ]


def main(argv: list[str] | None = None) -> int:
    """The command. Exit code 1, and the reason on standard error, if the headers cannot be linked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="+", type=Path, help="headers written by minitriton.tools.compile")
    parser.add_argument("--out", "-o", type=Path, required=True, help="path of the files, without extension")
    parser.add_argument("--prefix", default="", help="what the names of the entry points begin with")
    given = parser.parse_args(argv)
    try:
        variants = [variant for path in given.headers for variant in read_header(path.read_text("utf-8"))]
        header, source = link(_with_prefix(variants, given.prefix))
    except (MinitritonError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    write_whole(given.out.with_suffix(".h"), header)
    write_whole(given.out.with_suffix(".c"), source)
    return 0


def _with_prefix(variants: list[Variant], prefix: str) -> list[Variant]:
    """The kernels keep their functions; what is made of them is called otherwise."""
    return [Variant(v.function, prefix + v.base, prefix + v.algorithm, v.parameters, v.hints) for v in variants]


if __name__ == "__main__":
    sys.exit(main())
