"""The metrics of one group of programs: what a process does that is told to measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from minitriton.errors import MinitritonError
from minitriton.lab.sweeping.machine import machine_metrics, sass_metrics
from minitriton.lab.sweeping.program import KernelProgram
from minitriton.lab.sweeping.subject import Subject


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
