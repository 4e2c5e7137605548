"""What one process of a sweep knows: a judge, with the states it has made, for each kernel that it has seen."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.batches import PointBatch
from minitriton.lab.sweeping.judging import Judge, Record
from minitriton.lab.sweeping.machine import cubin_of, machine_metrics, sass_metrics
from minitriton.lab.sweeping.point import Point
from minitriton.lab.sweeping.program import KernelProgram
from minitriton.lab.sweeping.references import Reference
from minitriton.lab.sweeping.store import Store
from minitriton.lab.sweeping.subject import Subject

_YOUNG_OBJECTS = 20_000
"""Python looks for unreachable objects after so many new ones. With its own 700 that takes 28 % of a process's time, with these 9 %, in as
much memory (measured 2026-11-22)."""


class Bench:
    """What one process knows: the judge of each kernel that it has seen. The process is one that does nothing else."""

    def __init__(self, run: bool) -> None:
        gc.set_threshold(_YOUNG_OBJECTS, 20, 100)
        self._run = run
        self._judges: dict[Reference, Judge] = {}
        self._written: dict[Reference, set[str]] = {}
        self.own: dict[Reference, str] = {}
        """The kernels seen, with their own points."""
        self.claimed: set[Reference] = set()
        """Those of which the store knows."""

    def own_point(self, reference: Reference) -> str:
        """The launch and the pipeline that a kernel has by itself, as text."""
        if reference not in self.own:
            self.own[reference] = str(Point(self._judge(reference).subject.pipeline()))
        return self.own[reference]

    def made(self, reference: Reference) -> Reference:
        """`reference` with the digest of the first IR."""
        return reference.with_ir(str(self._judge(reference).subject.make_ir()))

    def _judge(self, reference: Reference) -> Judge:
        judge = self._judges.get(reference)
        if judge is None:
            judge = self._judges[reference] = Judge(reference.subject(), run=self._run, culprits=True)
        return judge

    def drawn(self, batch: PointBatch) -> Iterator[str]:
        """The points that the batch asks for."""
        assert batch.drawing is not None
        return batch.drawing.points(self._judge(batch.reference).subject)

    def judged(self, batch: PointBatch, known: set[str]) -> tuple[list[Record], list[KernelProgram]]:
        """The records of the points that are not `known`, and the programs that no batch before gave."""
        judge = self._judge(batch.reference)
        records = [judge.record(text) for text in batch.pipelines if text not in known]
        written = self._written.setdefault(batch.reference, set())
        fresh = [judge.programs[r.program] for r in records if r.program and r.program not in written]
        written.update(p.digest for p in fresh)
        return records, list({p.digest: p for p in fresh}.values())

    def measured(self, batch: PointBatch, store: Store) -> dict[str, dict[str, float]]:
        """The metrics of a group of the batch's programs, from `store`, which keeps their machine code."""
        name = batch.reference.name
        records = list(store.records(name))
        own = [r.program for r in records if r.pipeline == self.own_point(batch.reference) and r.program]
        known = {r.program: r.metrics for r in records if r.program in batch.pipelines}
        programs = store.programs(name, batch.pipelines)
        numbers, cubins = self.numbers(batch, programs, next(iter(store.programs(name, own)), None), known)
        store.add_cubins(name, cubins)
        return numbers

    def numbers(
        self,
        batch: PointBatch,
        programs: list[KernelProgram],
        own: KernelProgram | None,
        known: dict[str, dict[str, float]],
    ) -> tuple[dict[str, dict[str, float]], dict[str, bytes]]:
        """The metrics of a group of `programs` by digest, and their machine code where the group is of it."""
        subject = self._judge(batch.reference).subject if batch.measure == "time" else None
        numbers = measured(batch.measure, subject, own, programs, known)
        is_machine = batch.measure == "machine"
        return numbers, {p.digest: cubin_of(p) for p in programs if numbers[p.digest]} if is_machine else {}


def measured(
    group: str,
    subject: Subject | None,
    own: KernelProgram | None,
    programs: Sequence[KernelProgram],
    known: Mapping[str, dict[str, float]],
) -> dict[str, dict[str, float]]:
    """The metrics of `group` of `programs`, by digest. `known`: what was measured of each before."""
    if group == "time":
        from minitriton.lab.sweeping.timing import time_programs

        assert subject is not None
        return time_programs(subject, own, programs)
    if group == "estimate":
        from minitriton.lab.sweeping.cost_model import estimated_cycles

        return {p.digest: {"cycles": estimated_cycles(known[p.digest])} for p in programs if "turns" in known[p.digest]}
    found: dict[str, dict[str, float]] = {}
    for program in programs:
        try:
            found[program.digest] = (machine_metrics if group == "machine" else sass_metrics)(program)
        except MinitritonError:
            found[program.digest] = {}
    return found
