"""Whether kernels of the corpus, which are right, are clean of poison, and whether a load's `other` that is taken away is missed where it matters.

    python benchmarks/poison_of_corpus.py [NAME ...]

Each kernel runs on the interpreter and, compiled with `instrumentation_mode="poison"`, on the emulator. Then each masked load with `other` loses it, one
at a time: what is found then, and what is not, because the lanes reach no store, or no lane is off. Findings in kernels as they are end with exit code 1.
"""

from __future__ import annotations

import sys
import time

from xdsl.dialects.builtin import ModuleOp

from minitriton.dialects import tt
from minitriton.dialects.context import make_context
from minitriton.dialects.fast_paths.op_access import ops_of
from minitriton.emulator import run
from minitriton.emulator.poison import UNDEFINED_LANES, run_with_poison
from minitriton.lab import corpus
from minitriton.lab.execution import SCRATCH, Launch
from minitriton.runtime.compiling import compile
from minitriton.target import POISON, options_for, target_named


def launch_of(name: str) -> tuple[Launch, ModuleOp]:
    """A kernel of the corpus with its inputs, and its first IR."""
    case, task, target = corpus.find(name), corpus.task(name), target_named(90)
    options = options_for(target, **case.launch_options)
    launch = Launch.of(task.source, task.arguments(), task.grid, target, options)
    return launch, task.source.make_ir(target, options, make_context())


def emulated(name: str, launch: Launch) -> list[str] | None:
    """What the emulator finds; None where no load leaves lanes open."""
    case, task = corpus.find(name), corpus.task(name)
    made = compile(task.source, launch.target, {**case.launch_options, "instrumentation_mode": POISON}, assemble=False)
    ptx = str(made.asm["ptx"])
    if UNDEFINED_LANES not in ptx:
        return None
    values, grid = launch.arguments.fresh(), (launch.grid[0] * launch.options.num_ctas, *launch.grid[1:])
    report = run_with_poison(
        lambda **given: run(ptx, None, grid, values, made.metadata.shared, scratch=SCRATCH, **given), values, 0
    )
    return [str(finding) for finding in report.findings if finding.kind == "poison"]


def without_other(module: ModuleOp, number: int) -> ModuleOp | None:
    """`module` whose load of that number, of those with `other`, has none; None if there are fewer."""
    copy = module.clone()
    loads = [load for load in ops_of(copy, tt.LoadOp) if load.mask is not None and load.other is not None]
    if number >= len(loads):
        return None
    load = loads[number]
    made, block = tt.LoadOp(load.ptr, load.mask), load.parent
    made.location = load.location
    assert block is not None
    block.insert_op_before(made, load)
    load.result.replace_all_uses_with(made.result)
    load.detach()
    load.erase()
    return copy


def main(names: list[str]) -> int:
    """Prints what is found, and counts."""
    wrong = marked = taken = found = 0
    start, plain, poisoned = time.process_time(), 0.0, 0.0
    for name in names:
        launch, module = launch_of(name)
        before = time.process_time()
        launch.interpret(module)
        between = time.process_time()
        here = [str(use.fault()) for use in launch.poison_uses(module)]
        plain, poisoned = plain + between - before, poisoned + time.process_time() - between
        there = emulated(name, launch)
        marked += there is not None
        for text in [*here, *(there or ())]:
            print(f"{name}: {text}")
        wrong += bool(here or there)
        number = 0
        while (copy := without_other(module, number)) is not None:
            found += bool(launch.poison_uses(copy))
            taken, number = taken + 1, number + 1
    print(f"{len(names)} kernels, {marked} with lanes left open on the emulator: {wrong} with findings")
    print(f"{taken} times an `other` taken away: {found} found")
    print(f"interpreter {plain:.1f} s, with poison {poisoned:.1f} s more; {time.process_time() - start:.0f} s in all")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or corpus.names()))
