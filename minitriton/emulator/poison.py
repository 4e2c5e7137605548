"""Whether what a kernel stores in global memory, or an address there, depends on lanes that a load's mask turned off.

In: a kernel compiled with `instrumentation_mode="poison"`, in which such lanes are `%envreg0` to `%envreg31`, one for each load. Out: its
report, with a finding `poison` at each instruction that does something else when these registers have other values.

    ld.global.b32 (masked)   %envreg0       0, then NaN, huge, -huge
    st.global.b32            other bits     poison: what is stored depends on the lanes that the mask of the load at kernel.py:7 turns off
"""

import re
import time
from collections.abc import Iterable
from typing import Protocol

from minitriton.emulator.kernel_arguments import MappedArray
from minitriton.emulator.memory.device import Trace
from minitriton.emulator.report import Report
from minitriton.interpreter.memory.trace import WORDS, Contents

UNDEFINED_LANES = "%envreg"
"""With a number, the registers that such lanes are."""


class Run(Protocol):
    """Makes a launch; of `seconds`, 0 stands for any number."""

    def __call__(self, *, seconds: float, trace: Trace) -> Report: ...


def run_with_poison(run: Run, values: Iterable[object], seconds: float) -> Report:
    """The report of the launch that `run` makes, within `seconds`; it changes no arrays but those among `values`."""
    contents = Contents(value.array if isinstance(value, MappedArray) else value for value in values)
    start, first = time.process_time(), Trace()
    report = run(seconds=seconds, trace=first)
    contents.keep_result()
    limit = 1 + 5 * (time.process_time() - start)
    loads = {name: i for i in report.kernel.instructions for name in re.findall(rf"{UNDEFINED_LANES}\d+", i.text)}

    def uses(words: Iterable[int], registers: Iterable[str]) -> dict[tuple[int, str], int]:
        found: dict[tuple[int, str], int] = {}
        for word in words:
            contents.restore()
            trace = Trace(word, frozenset(registers))
            run(seconds=limit, trace=trace)
            changed = {
                key for key in first.seen.keys() | trace.seen.keys() if first.seen.get(key) != trace.seen.get(key)
            }
            found.update(dict.fromkeys(changed, word))
        return found

    found = uses(WORDS, loads) if loads else {}
    sources: dict[tuple[int, str], list[str]] = {use: [] for use in found}
    for name, load in loads.items() if found else ():
        for use in uses(dict.fromkeys(found.values()), [name]).keys() & sources.keys():
            sources[use].append(str(load.source or f"ptx:{load.line}"))
    contents.restore_result()
    for (site, what), locations in sorted(sources.items()):
        lanes = f"the lanes that the mask of the load at {', '.join(dict.fromkeys(locations)) or 'some line'} turns off"
        report.add("poison", report.kernel.instructions[site], f"{what} depends on {lanes}")
    return report
