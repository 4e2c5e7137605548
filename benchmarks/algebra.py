"""What `minitriton-algebra` does to kernels: instructions, divisions and special functions with it, without it, and with `algebra="fast"`.

python benchmarks/algebra.py                          the corpus and the parity cases: PTX, and what the emulator executes where PTX differs
python benchmarks/algebra.py --seconds                how much of compile time the pass takes
python benchmarks/algebra.py --fuzz 5000 --seed 1     random kernels with and without it: the same bits?
python -m minitriton.as_triton.run_as_triton benchmarks/algebra.py --inductor DIR      kernels of torch.compile (its cache folder; needs torch)
python -m minitriton.as_triton.run_as_triton benchmarks/algebra.py --inductor DIR --times      their microseconds on a GPU
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import statistics
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tests" / "parity")]

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


def in_machine_code(ptx: str) -> Counter[str]:
    """Instructions that ptxas makes of PTX: all, and those of the unit for special functions (MUFU: functions, and the reciprocal of a division)."""
    found = Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        text, cubin = Path(folder, "kernel.ptx"), Path(folder, "kernel.cubin")
        text.write_text(ptx)
        subprocess.run(["ptxas", "-arch=sm_90a", str(text), "-o", str(cubin)], check=True, capture_output=True)
        elf = cubin.read_bytes()
    start = struct.unpack_from("<Q", elf, 0x28)[0]
    size, number, names = struct.unpack_from("<HHH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", elf, start + i * size) for i in range(number)]
    for section in sections:
        name = elf[sections[names][4] + section[0] :].partition(b"\0")[0]
        for at in range(section[4], section[4] + section[5], 16) if name.startswith(b".text") else ():
            opcode = struct.unpack_from("<Q", elf, at)[0] & 0xFFF
            found["sass"] += opcode != _NOP
            found["mufu"] += opcode in _MUFU
    return found


_NOP, _MUFU = 0x918, (0x308, 0x908)
"""Opcodes of sm_90, of a register and of a number; checked against PTX with a known number of functions (2026-11-28)."""


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
    from parity_cases import ALL_CASES

    from minitriton.compiler import ASTSource
    from minitriton.lab import corpus
    from minitriton_kernels.cases import load_kernels

    seen = set[str]()
    for case in (*ALL_CASES, *map(corpus.find, corpus.names())):
        if case.name not in seen:
            seen.add(case.name)
            function = getattr(load_kernels(case.file, "minitriton"), case.kernel)
            yield case.name, ASTSource(function, *source_parts(case)), dict(case.launch_options)


def _tuners(folder: Path) -> Iterator[tuple[Any, str]]:
    """The kernels that torch.compile left in its cache folder, as its autotuners, and their text; equal ones once."""
    from torch._inductor.runtime import triton_helpers  # pyright: ignore

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
        found = (each for name, each in vars(module).items() if name.startswith("triton_"))
        yield next(each for each in found if hasattr(each, "triton_meta")), text


def inductor_sources(folder: Path) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """The kernels that torch.compile left in its cache folder: name, source, options."""
    from minitriton.compiler import ASTSource

    for tuner, text in _tuners(folder):
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


_LEVELS: dict[str, dict[str, Any]] = {"without": {"without": PASS}, "exact": {}, "fast": {"algebra": "fast"}}
_SIZE = re.compile(r"^\s+(\w+)numel = (\d+)$", re.MULTILINE)


def times(folder: Path) -> None:
    """Microseconds on a GPU of the kernels whose PTX a level changes, by Inductor's own configurations, the levels in turns."""
    import torch
    from contest import balanced_orders, median_milliseconds

    torch.manual_seed(0)
    ratios: dict[str, list[float]] = {"exact": [], "fast": []}
    kernels = 0
    for tuner, text in _tuners(folder):
        name, config = tuner.fn.__name__, tuner.configs[0]
        if not tuner.size_hints:
            print(f"{name[:60]:60} not run: several kernels in one, whose sizes are in its branches")
            continue
        sizes = {**tuner.size_hints, **{axis: int(size) for axis, size in _SIZE.findall(text)}}
        arguments = {name: _made(kind, name, sizes) for name, kind in tuner.triton_meta["signature"].items()}
        arguments |= {**tuner.triton_meta["constants"], **config.kwargs}
        blocks = {axis: config.kwargs.get(f"{axis.upper()}BLOCK", 1) for axis in "xyz"}
        grid = tuple(-(-sizes.get(axis, 1) // blocks[axis]) for axis in "xyz")
        warps = {"num_warps": config.num_warps, "num_stages": config.num_stages}
        launch = partial(tuner.fn[grid], **arguments, **warps)
        runs = {level: partial(launch, **given) for level, given in _LEVELS.items()}
        try:
            texts = {level: run().asm["ptx"].partition("// .section")[0] for level, run in runs.items()}
            torch.cuda.synchronize()
        except Exception as error:
            print(f"{name[:60]:60} not run: {str(error)[:100]}")
            continue
        kernels += 1
        levels = ["without", *(level for level in ratios if texts[level] != texts["without"])]
        if len(levels) == 1:
            continue
        taken: dict[str, list[float]] = {level: [] for level in levels}
        for order in 2 * balanced_orders(levels):
            for level in order:
                taken[level].append(median_milliseconds(runs[level]))
        least = {level: statistics.median(each) for level, each in taken.items()}
        for level in levels[1:]:
            ratios[level].append(least["without"] / least[level])
        cells = (f"{level} {1e3 * least[level]:9.1f} us {least['without'] / least[level]:6.3f}" for level in levels)
        print(f"{name[:60]:60} " + "   ".join(cells), flush=True)
    for level, each in ratios.items():
        if each:
            mean = statistics.geometric_mean(each)
            print(f"{level}: {len(each)} of {kernels} kernels changed, {mean:.3f} as fast, least {min(each):.3f}")


def _made(kind: str, name: str, sizes: dict[str, int]) -> Any:
    """An argument of a kernel: a buffer that is long enough for any of its indices (256 Mi elements), or a size."""
    import torch

    if not kind.startswith("*"):
        return sizes.get(name.removesuffix("numel"), 1)
    dtype = {"*i64": torch.int64, "*i32": torch.int32, "*i1": torch.bool, "*i8": torch.int8}.get(kind)
    if dtype is not None:
        return torch.zeros(1 << 28, dtype=dtype, device="cuda")
    return torch.randn(1 << 28, device="cuda").to(
        {"*bf16": torch.bfloat16, "*fp16": torch.float16}.get(kind, torch.float32)
    )


def compare(sources: Iterator[tuple[str, Any, dict[str, Any]]], *, with_fast: bool, machine_code: bool) -> None:
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
        if machine_code and len(set(texts.values())) > 1:
            for level, text in texts.items():
                found[level] += in_machine_code(text)
        for level in found:
            total[level] += found[level]
        if texts["exact"] != texts["without"]:
            fired += 1
            more += found["exact"]["all"] > found["without"]["all"]
            fewer += found["exact"]["all"] < found["without"]["all"]
        if with_fast and texts["fast"] != texts["exact"]:
            fast_fired += 1
        if texts["exact"] != texts["without"] or (with_fast and texts["fast"] != texts["exact"]):
            cells = (
                f"{level} {n['all']:5} {n['div']:3} {n['special']:3} {n['sass']:5} {n['mufu']:3}"
                for level, n in found.items()
            )
            print(f"{name[:60]:60} " + "   ".join(cells), flush=True)
    print(
        f"{kernels} kernels; exact changes {fired}: fewer instructions in {fewer}, more in {more}; fast changes {fast_fired}"
    )
    for level, number in total.items():
        print(f"{level:8} " + ", ".join(f"{name} {number[name]}" for name in ("all", "div", "special", "sass", "mufu")))


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


def _same(found: Any, expected: Any) -> bool:
    """Whether two outcomes have the same bits, any NaN for any NaN."""
    if found.error != expected.error or len(found.arrays) != len(expected.arrays):
        return False
    pairs = zip(found.arrays, expected.arrays, strict=True)
    return all(a.tobytes() == b.tobytes() or (a.dtype.kind == "f" and _bits(a) == _bits(b)) for a, b in pairs)


def _bits(array: Any) -> bytes:
    array = array.copy()
    array[array != array] = float("nan")
    return array.tobytes()


def fuzz(count: int, seed: int, first: int) -> None:
    """Random kernels through all passes for sm_90, with the pass and without it where it changes anything: the emulator must give the same bits."""
    from minitriton.fuzz.generation.generator import generate, kernel_seed
    from minitriton.fuzz.running import oracles
    from minitriton.fuzz.running.agreement import case_of
    from minitriton.fuzz.running.launch import FuzzedLaunch
    from minitriton.passes.algebra import Algebra

    class _Without(FuzzedLaunch):
        @property
        def options(self) -> dict[str, object]:
            return {**super().options, "without": PASS}

    ran = fired = wrong = 0
    for number in range(first, first + count):
        case = case_of(generate(kernel_seed(seed, number)))
        ran += 1
        if ran % 100 == 0:
            print(f"{ran} kernels, {fired} changed by the pass, {wrong} with other bits", flush=True)
        with oracles.written(case.source) as path:
            made = oracles.Compilation.of(case, path, 90)
            names = [step.name for step in made.steps]
            for step in made.steps[: names.index(PASS)]:
                if isinstance(made.applied(step, made.module), oracles.OracleOutcome):
                    break
            else:
                if not Algebra().apply(made.context, made.module):
                    continue
                fired += 1
                outcomes = [
                    oracles.run_oracles(launch, ["emulator"])["emulator"] for launch in (case, _Without(**vars(case)))
                ]
                if not _same(*outcomes):
                    wrong += 1
                    print(
                        f"kernel {number} of seed {seed}: other bits; {outcomes[0].error}; {outcomes[1].error}",
                        flush=True,
                    )
    print(f"{ran} kernels, {fired} changed by the pass, {wrong} with other bits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inductor", type=Path, metavar="DIR")
    parser.add_argument("--fast", action="store_true", help='also `algebra="fast"`')
    parser.add_argument("--machine-code", action="store_true", help="also what ptxas makes of kernels that change")
    parser.add_argument("--seconds", action="store_true")
    parser.add_argument("--fuzz", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--times", action="store_true", help="with --inductor: on a GPU")
    given = parser.parse_args()
    if given.seconds:
        seconds()
    elif given.fuzz is not None:
        fuzz(given.fuzz, given.seed, given.first)
    elif given.inductor is not None and given.times:
        times(given.inductor)
    elif given.inductor is not None:
        compare(inductor_sources(given.inductor), with_fast=True, machine_code=given.machine_code)
    else:
        compare(own_sources(), with_fast=given.fast, machine_code=given.machine_code)


if __name__ == "__main__":
    main()
