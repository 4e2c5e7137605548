"""A fault found in a worker process arrives as what it is, with its report."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import minitriton as triton
import minitriton.language as tl
from minitriton.runtime.on_cpu.emulation import KernelFault


@triton.jit
def beyond(x):
    tl.store(x + 1000 + tl.arange(0, 32), 1.0)


def launch() -> None:
    beyond[(1,)](np.zeros(8, np.float32))


def test_a_fault_and_its_report_pickle_and_copy() -> None:
    with pytest.raises(KernelFault) as caught:
        launch()
    for again in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value), copy.deepcopy(caught.value)):
        assert type(again) is KernelFault and str(again) == str(caught.value)
        assert [str(f) for f in again.report.findings] == [str(f) for f in caught.value.report.findings]
        assert again.report.listing() == caught.value.report.listing()


def test_a_fault_in_a_worker_arrives() -> None:
    with (
        ProcessPoolExecutor(1, mp_context=get_context("fork")) as pool,
        pytest.raises(KernelFault, match="out-of-bounds"),
    ):
        pool.submit(launch).result(timeout=60)
