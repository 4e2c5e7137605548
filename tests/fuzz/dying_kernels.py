"""A stand-in for a kernel's run, in which some kernels end, or hold up, their process."""

import os
import tempfile
import time
from collections.abc import Sequence

from minitriton.fuzz.running import campaign
from minitriton.fuzz.running.agreement import FuzzFinding
from minitriton.fuzz.running.campaign import KernelReport
from minitriton.fuzz.running.oracles import limited

ENDS, HANGS, DIFFERS, TRITON_HANGS = 3, 25, 30, 12

campaign.MOST_SERVED = 10
"""Loaded by the processes of a run: they take turns soon."""


def run_or_die(seed: int, number: int, oracles: Sequence[str]) -> KernelReport:
    if number in (ENDS, HANGS):
        tempfile.mkdtemp()  # what nobody takes away who is killed
    if number == ENDS:
        os._exit(7)
    if number == HANGS:
        time.sleep(60)
    if number == TRITON_HANGS and "triton" in oracles:
        with limited():
            while True:
                pass
    finding = (FuzzFinding("difference", "triton | emulator", "one number"),) if number == DIFFERS else ()
    return KernelReport(number, 0.01, finding, (), (("a", "b"),), (("a", "b"),), ("feature",))
