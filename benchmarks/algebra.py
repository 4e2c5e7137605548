"""What `minitriton-algebra` does to kernels: instructions, divisions and special functions with it, without it, and with `algebra="fast"`.

python benchmarks/algebra.py                          the corpus and the parity cases: PTX, and what the emulator executes where PTX differs
python benchmarks/algebra.py --seconds                how much of compile time the pass takes
python benchmarks/algebra.py --fuzz 5000 --seed 1     random kernels with and without it: the same bits?
python -m minitriton.as_triton.run_as_triton benchmarks/algebra.py --inductor DIR      kernels of torch.compile (its cache folder; needs torch)
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "tests" / "parity")]

PASS = "minitriton-algebra"
_INSTRUCTION = re.compile(r"^\t(?:@!?%p\d+ )?([a-z][\w.]*)", re.MULTILINE)
_SPECIAL = re.compile(r"(ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh)\.")


def counts(ptx: str) -> Counter[str]:
    """Instructions of PTX: all, divisions of floats, special functions."""
    found = Counter[str]()
    for name in _INSTRUCTION.findall(ptx):
        found["all"] += 1
        found["div"] += name.startswith("div.") and ".f" in name
        found["special"] += _SPECIAL.match(name) is not None
    return found


def compiled(source: Any, options: dict[str, Any], **more: Any) -> str:
    """PTX for sm_90, without line tables."""
    from minitriton import knobs
    from minitriton.compiler import compile
    from minitriton.pipeline.pass_manager import Hook
    from minitriton.target import GPUTarget

    with knobs.compilation.scope():
        knobs.compilation.disable_line_info = True
        return compile(source, GPUTarget("cuda", 90), {**options, **more}, hooks=[Hook()], assemble=False).asm["ptx"]


def own_sources() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The parity cases and the corpus: name, source, options."""
    from building import source_parts
    from cases import load_kernels
    from parity_cases import ALL_CASES

    from minitriton.compiler import ASTSource
    from minitriton.lab import corpus

    seen = set[str]()
    for case in (*ALL_CASES, *map(corpus.find, corpus.names())):
        if case.name not in seen:
            seen.add(case.name)
            function = getattr(load_kernels(case.file, "minitriton"), case.kernel)
            yield case.name, ASTSource(function, *source_parts(case)), dict(case.launch_options)


def inductor_sources(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The kernels that torch.compile left in its cache folder: name, source, options."""
    from torch._inductor.runtime import triton_helpers  # pyright: ignore

    from minitriton.compiler import ASTSource

    triton_helpers.set_driver_to_gpu = lambda: None
    seen = set[str]()
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text()
        if "@triton_heuristics" not in text or "async_compile.triton(" in text:
            continue
        body = text[text.index("@triton.jit") :]
        if body in seen:
            continue
        seen.add(body)
        spec = importlib.util.spec_from_file_location(f"of_inductor_{len(seen)}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        tuner = next(
            value
            for name, value in vars(module).items()
            if name.startswith("triton_") and hasattr(value, "triton_meta")
        )
        meta = tuner.triton_meta
        names = list(meta["signature"])
        blocks = {"XBLOCK": 512, "YBLOCK": 16, "R0_BLOCK": 1024, "R1_BLOCK": 16}
        if "YBLOCK" in names:
            blocks["XBLOCK"] = 32
        if "R0_BLOCK" in names:
            blocks["XBLOCK"] = 1
        elif "persistent" in text:
            blocks["XBLOCK"] = 4
        constants = {(names.index(name),): blocks[name] for name in names if name in blocks}
        constants |= {(names.index(name),): value for name, value in meta["constants"].items() if isinstance(name, str)}
        yield tuner.fn.__name__, ASTSource(tuner.fn, meta["signature"], constants, meta["configs"][0]), {"num_warps": 4}


def compare(sources: Iterator[tuple[str, Any, dict[str, Any]]], *, with_fast: bool) -> None:
    """A line for each kernel that changes, and the totals."""
    total: dict[str, Counter[str]] = {"without": Counter(), "exact": Counter(), "fast": Counter()}
    kernels = fired = more = fewer = fast_fired = 0
    for name, source, options in sources:
        try:
            texts = {"without": compiled(source, options, without=PASS), "exact": compiled(source, options)}
            if with_fast:
                texts["fast"] = compiled(source, options, algebra="fast")
        except Exception as error:
            print(f"{name:40} not compiled: {str(error)[:100]}")
            continue
        kernels += 1
        found = {level: counts(text) for level, text in texts.items()}
        for level in found:
            total[level] += found[level]
        if texts["exact"] != texts["without"]:
            fired += 1
            more += found["exact"]["all"] > found["without"]["all"]
            fewer += found["exact"]["all"] < found["without"]["all"]
        if with_fast and texts["fast"] != texts["exact"]:
            fast_fired += 1
        if texts["exact"] != texts["without"] or (with_fast and texts["fast"] != texts["exact"]):
            cells = (f"{level} {n['all']:5} {n['div']:3} {n['special']:3}" for level, n in found.items())
            print(f"{name[:60]:60} " + "   ".join(cells), flush=True)
    print(
        f"{kernels} kernels; exact changes {fired}: fewer instructions in {fewer}, more in {more}; fast changes {fast_fired}"
    )
    for level, number in total.items():
        print(
            f"{level:8} instructions {number['all']}, divisions {number['div']}, special functions {number['special']}"
        )


def seconds() -> None:
    """The pass's share of the time that all passes take."""
    from minitriton.compiler import compile
    from minitriton.pipeline.pass_manager import Timings
    from minitriton.target import GPUTarget

    share, all_ = 0.0, 0.0
    for _, source, options in own_sources():
        timings = Timings()
        compile(source, GPUTarget("cuda", 90), options, hooks=[timings], assemble=False)
        share += sum(took for name, took in timings.seconds if name == PASS)
        all_ += sum(took for _, took in timings.seconds)
    print(f"{PASS}: {1e3 * share:.1f} ms of {1e3 * all_:.0f} ms in all passes, {share / all_:.2%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inductor", type=Path, metavar="DIR")
    parser.add_argument("--fast", action="store_true", help='also `algebra="fast"`')
    parser.add_argument("--seconds", action="store_true")
    given = parser.parse_args()
    if given.seconds:
        seconds()
    elif given.inductor is not None:
        compare(inductor_sources(given.inductor), with_fast=True)
    else:
        compare(own_sources(), with_fast=given.fast)


if __name__ == "__main__":
    main()
