"""Every kernel of `tests/inductor` on the GPU, under Triton and here: what Triton gives twice alike is what comes out here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(Path(__file__).parents[1] / "inductor"))
from families import all_kernels
from writing import Kernel, assert_expected, decoded, load

from minitriton.run_as_triton import triton_means_minitriton


def launched(kernel: Kernel, function: Any) -> dict[str, np.ndarray]:
    """The arrays after a launch on the GPU."""
    tensors: dict[str, Any] = {}
    for name, array in kernel.arrays.items():
        bits = torch.from_numpy(array.view(np.int16) if name in kernel.elements else array.copy()).cuda()
        tensors[name] = bits.view(torch.bfloat16) if name in kernel.elements else bits
    function[kernel.grid](*tensors.values(), *kernel.numbers, **kernel.constants, **kernel.options)
    torch.cuda.synchronize()
    return {
        name: (t.view(torch.int16).cpu().numpy().view(np.uint16) if name in kernel.elements else t.cpu().numpy())
        for name, t in tensors.items()
    }


@pytest.mark.parametrize("kernel", all_kernels(), ids=lambda k: k.name)
def test_the_gpu_gives_triton_s_numbers(kernel: Kernel, tmp_path: Path) -> None:
    with triton_means_minitriton():
        ours = launched(kernel, load(kernel, tmp_path))
    assert_expected(kernel, ours)
    if importlib.util.find_spec("triton") is None:
        pytest.skip("no Triton to compare with: NumPy only")
    function = load(kernel, tmp_path)
    theirs, again = launched(kernel, function), launched(kernel, function)
    for name, wanted in theirs.items():
        if np.array_equal(wanted, again[name], equal_nan=wanted.dtype.kind == "f"):
            found, expected = decoded(kernel, name, ours[name]), decoded(kernel, name, wanted)
            np.testing.assert_allclose(found, expected, rtol=kernel.tolerance, atol=kernel.tolerance, err_msg=name)
