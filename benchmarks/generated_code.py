"""Whether two states of the compiler make the same PTX: a hash for each kernel of a large corpus, written down and compared.

    python benchmarks/generated_code.py --out before.json [--kernels DIR] [--only TEXT] [--every N]
    python benchmarks/generated_code.py --compare before.json [--kernels DIR] [--only TEXT] [--every N]

The corpus: the example and parity kernels and, with `--kernels`, those that `tests/conformance/pass_by_pass.py --harvest DIR` gathered; each
for sm_80 and sm_90. `--every N` takes each N-th. To compare with another checkout run this file by the Python of that checkout's environment.
A kernel that does not compile counts by its error. Line information is off. Exit status 1 if any kernel differs.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from scratch import scratch

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests/parity")]

ARCHITECTURES = (80, 90)


def names(kernels: Path | None) -> list[str]:
    """The corpus: names of cases, and files."""
    from parity_cases import ALL_CASES

    found = [str(path) for path in sorted(kernels.glob("*.py"))] if kernels else []
    return [f"{Path(case.file).name}:{case.name}" for case in ALL_CASES] + found


def _source(name: str) -> tuple[Any, dict[str, Any]]:
    from minitriton.compiler import ASTSource

    if name.endswith(".py"):
        return _harvested(name)
    from building import source_parts
    from parity_cases import ALL_CASES

    from minitriton_kernels.cases import load_kernels

    case = next(c for c in ALL_CASES if f"{Path(c.file).name}:{c.name}" == name)
    kernel = getattr(load_kernels(case.file, "minitriton"), case.kernel)
    return ASTSource(kernel, *source_parts(case)), dict(case.launch_options)


def _harvested(path: str) -> tuple[Any, dict[str, Any]]:
    """A file that `kernel_source.py` of the conformance tests wrote: it names its kernel and how to compile it."""
    import minitriton
    import minitriton.language
    from minitriton.compiler import ASTSource

    sys.modules["triton"], sys.modules["triton.language"] = minitriton, minitriton.language
    spec = importlib.util.spec_from_file_location("harvested", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["harvested"] = module
    spec.loader.exec_module(module)
    values = vars(module)
    return ASTSource(values["KERNEL"], values["SIGNATURE"], values["CONSTANTS"], values["ATTRS"]), values["OPTIONS"]


def hashes(name: str) -> dict[str, str]:
    """By `name@arch`, what tells the PTX of that kernel from others, or its error."""
    from minitriton import knobs
    from minitriton.compiler import compile
    from minitriton.pipeline.pass_manager import Hook
    from minitriton.target import GPUTarget

    knobs.compilation.disable_line_info = True
    found: dict[str, str] = {}
    for arch in ARCHITECTURES:
        try:
            source, options = _source(name)
            kernel = compile(source, GPUTarget("cuda", arch), dict(options), hooks=[Hook()], assemble=False)
            ptx = re.sub(r"// callseq \d+", "", kernel.asm["ptx"])  # LLVM goes on counting from the kernel before
            found[f"{Path(name).name}@{arch}"] = hashlib.sha256(ptx.encode()).hexdigest()[:16]
        except Exception as error:
            found[f"{Path(name).name}@{arch}"] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the hashes to this file")
    parser.add_argument("--compare", type=Path, help="compare with the hashes of this file")
    parser.add_argument("--kernels", type=Path, help="a folder of gathered kernels")
    parser.add_argument("--only", default="", help="only kernels whose name contains this")
    parser.add_argument("--every", type=int, default=1, help="only each N-th kernel")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    wanted = [name for name in names(arguments.kernels) if arguments.only in name][:: arguments.every]
    found: dict[str, str] = {}
    with scratch() as folder, ProcessPoolExecutor(arguments.processes) as pool:
        os.environ["TRITON_CACHE_DIR"] = str(folder)
        for part in pool.map(hashes, wanted, chunksize=4):
            found |= part
    errors = sum(" " in each for each in found.values())
    print(f"{len(found)} compiles, {errors} of them end in an error")
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=0, sort_keys=True))
    if not arguments.compare:
        return 0
    before = json.loads(arguments.compare.read_text())
    common = sorted(found.keys() & before.keys())
    differing = [name for name in common if found[name] != before[name]]
    for name in differing:
        print(f"{name}: {before[name]} -> {found[name]}")
    print(f"{len(common) - len(differing)} of {len(common)} the same; {len(found) - len(common)} new")
    return 1 if differing or not common else 0


if __name__ == "__main__":
    sys.exit(main())
