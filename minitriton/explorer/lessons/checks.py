"""What an exercise may ask of an answer; each says what it found, and whether that is enough.

same_numbers()(answer)        CheckResult(True, "the numbers are the same as before")
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from minitriton.errors import MinitritonError
from minitriton.explorer.accesses import AccessFact, accesses
from minitriton.explorer.compile_request import CompileRequest
from minitriton.explorer.compiles import Compiles, RecordedCompile
from minitriton.explorer.execution import Ran, largest_difference, run_program
from minitriton.explorer.facts import Facts
from minitriton.explorer.layout_facts import local_cost, read_distributed, read_encoding
from minitriton.layouts.encodings import SharedEncoding


@dataclass(frozen=True)
class CheckResult:
    """The outcome of one check, as a sentence."""

    ok: bool
    text: str


@dataclass
class ExerciseAnswer:
    """An answer to an exercise: a state of the explorer, or words."""

    session: Compiles
    first: CompileRequest
    asked: CompileRequest
    text: str = ""

    @cached_property
    def opened(self) -> RecordedCompile:
        """The compile of the answer."""
        opened = self.session.opened(self.asked)
        failed = opened.recording.steps[-1].error
        if failed:
            raise MinitritonError(failed)
        return opened

    @cached_property
    def ran(self) -> Ran:
        """Its run."""
        return run_program(self.opened.program, self.opened.recording)

    @cached_property
    def ran_at_first(self) -> Ran:
        """The run of the exercise as it was given."""
        first = self.session.opened(self.first)
        return run_program(first.program, first.recording)

    @cached_property
    def accesses(self) -> list[AccessFact]:
        """Of the last TTGIR."""
        kept = [
            step.after.kept
            for step in self.opened.recording.steps
            if step.after.kept is not None and step.after.level == "ttgir"
        ]
        return accesses(Facts(kept[-1])) if kept else []


Check = Callable[[ExerciseAnswer], CheckResult]


def same_numbers(tolerance: float = 1e-4) -> Check:
    """The arrays after the run are those of the exercise as it was given."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        before, now = answer.ran_at_first.arrays, answer.ran.arrays
        apart = max(
            (largest_difference(now[name], array) for name, array in before.items() if name in now), default=1e300
        )
        scale = max(
            (float(np.nanmax(np.abs(np.asarray(array, np.float64)), initial=1.0)) for array in before.values()),
            default=1.0,
        )
        ok = set(before) == set(now) and apart <= tolerance * scale
        return CheckResult(ok, "the numbers are the same" if ok else f"the numbers differ by up to {apart:.3g}")

    return check


def no_findings() -> Check:
    """The emulator finds no race and no bad access."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        found = answer.ran.report.findings
        return CheckResult(
            not found, "the emulator finds nothing wrong" if not found else f"the emulator finds: {found[0].message}"
        )

    return check


def holds(name: str, expected: Callable[[dict[str, np.ndarray]], np.ndarray], text: str) -> Check:
    """Array `name` holds what `expected` makes of the inputs."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        launch = answer.opened.program.launch()
        passed = launch.arguments
        passed.fresh()
        inputs = {
            passed.passed[at].name: np.array(array)
            for at, array in zip(passed.array_positions(), passed.contents(), strict=True)
        }
        wanted = expected(inputs)
        got = np.asarray(answer.ran.arrays[name]).reshape(-1)[: wanted.size]
        ok = bool(np.allclose(got, wanted, rtol=1e-3, atol=1e-3))
        return CheckResult(ok, text if ok else f"`{name}` holds {got[:3]}, expected {wanted[:3]}")

    return check


def wide(bytes: int = 16) -> Check:
    """Every load and store moves `bytes` at a time."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        narrow = [one for one in answer.accesses if one.width * one.bytes < min(bytes, one.most * one.bytes)]
        if not answer.accesses:
            return CheckResult(False, "the load and the store are gone")
        if narrow:
            one = narrow[0]
            return CheckResult(
                False,
                f"the {one.name} of line {one.line[1] if one.line else '?'} moves {one.width * one.bytes} bytes at a time: limited by the {one.limit}",
            )
        return CheckResult(True, f"every access moves {bytes} bytes at a time")

    return check


def at_most(what: str, most: float, text: str) -> Check:
    """A number of the run (`sectors_per_request`, `bytes`, `barriers`, `conflicts`, `wasted`) is at most `most`."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        value = getattr(answer.ran.total, what)
        return CheckResult(
            value <= most, f"{text}: {value:g}" + ("" if value <= most else f", and at most {most:g} are wanted")
        )

    return check


def at_most_share(what: str, share: float, text: str) -> Check:
    """A number of the run is at most a `share` of what it was at first."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        value, before = getattr(answer.ran.total, what), getattr(answer.ran_at_first.total, what)
        return CheckResult(value <= share * before, f"{text}: {value:g}, {before:g} at first")

    return check


def executes(kind: str, text: str) -> Check:
    """The run has instructions of a kind, as `execution.kind_of` names them."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        count = answer.ran.total.mix.get(kind, 0)
        return CheckResult(count > 0, f"{text}: {count}")

    return check


def all_ahead() -> Check:
    """Every load of a tile is an asynchronous copy."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        waiting = [one for one in answer.accesses if one.name == "tt.load"]
        if waiting:
            where = f"line {waiting[0].line[1]}" if waiting[0].line else "a line"
            return CheckResult(False, f"the load of {where} is not pipelined")
        return CheckResult(
            any(one.name.startswith("ttg.async_copy") for one in answer.accesses), "all loads are pipelined"
        )

    return check


def kernel_unchanged() -> Check:
    """The Python was left as it was."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        ok = answer.asked.kernel_text == answer.first.kernel_text and answer.asked.signature == answer.first.signature
        return CheckResult(ok, "the kernel is as it was" if ok else "the kernel was changed: change the IR only")

    return check


def keeps_passes(*names: str) -> Check:
    """All of these passes still run."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        run = [step.name for step in answer.opened.recording.steps]
        gone = [name for name in names if name not in run]
        return CheckResult(not gone, "no pass is left out" if not gone else f"left out: {', '.join(gone)}")

    return check


def says(answer_text: str, *, right: str, wrong: str) -> Check:
    """The words of the answer are these."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        ok = answer.text.strip().lower() == answer_text
        return CheckResult(ok, right if ok else wrong)

    return check


def without_conflicts(store: str, load: str, shape: tuple[int, int], bits: int) -> Check:
    """The words are an encoding of shared memory that `store` writes to and `load` reads from without conflicts."""

    def check(answer: ExerciseAnswer) -> CheckResult:
        encoding = read_encoding(answer.text)
        if not isinstance(encoding, SharedEncoding):
            return CheckResult(
                False, "this is not a layout of shared memory: write a swizzled_shared<{...}> or padded_shared<{...}>"
            )
        costs = {
            "store": local_cost(read_distributed(store), encoding, shape, bits, shape, 80, is_load=False),
            "load": local_cost(read_distributed(load), encoding, shape, bits, shape, 80, is_load=True),
        }  # fmt: skip
        ok = not any(one.conflicts for one in costs.values())
        return CheckResult(ok, "; ".join(f"{name}: {one.text()}" for name, one in costs.items()))

    return check
