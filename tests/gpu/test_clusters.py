"""Kernels of several CTAs on a GPU give what NumPy gives: distributed shared memory, barriers of the cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "codegen"))

from test_cluster_kernels import CASES, tickets

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def has_clusters() -> None:
    if torch.cuda.get_device_capability()[0] < 9:
        pytest.skip("this device has no clusters")


@pytest.mark.parametrize("ctas", [2, 4, 8])
@pytest.mark.parametrize("name", CASES)
def test_a_kernel_of_several_ctas_gives_what_numpy_gives(name: str, ctas: int) -> None:
    case = CASES[name]
    inputs = [np.ascontiguousarray(x) for x in case.inputs]
    wanted = case.outputs(*inputs)
    on_device = [torch.from_numpy(x.copy()).cuda() for x in inputs]
    kinds = [inputs[0].dtype if w.dtype.kind == inputs[0].dtype.kind else w.dtype for w in wanted]
    got = [torch.from_numpy(np.zeros(w.shape, kind)).cuda() for w, kind in zip(wanted, kinds, strict=True)]
    for _ in range(3):
        case.kernel[(case.grid,)](*on_device, *got, *case.scalars, **case.constants, num_ctas=ctas)
    for one, expected in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one.cpu().numpy(), expected, rtol=max(case.tolerance, 1e-5), atol=case.tolerance)


def test_every_cta_of_a_program_draws_the_same_ticket() -> None:
    counter = torch.zeros(1, dtype=torch.int32, device="cuda")
    out = torch.zeros((64, 32), dtype=torch.int32, device="cuda")
    tickets[(64,)](counter, out, N=32, num_ctas=4)
    expected = torch.arange(64, device="cuda")[:, None] + torch.arange(32, device="cuda")
    torch.testing.assert_close(out, expected.to(torch.int32))
