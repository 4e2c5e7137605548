"""Passes on random functions give what Triton's wheel gives, op by op."""

from __future__ import annotations

import pytest

pytest.importorskip("triton")

from random_functions import arithmetic, control_flow
from triton._C.libtriton import passes
from triton_test_passes.scf_to_cf import ConvertScfToCf
from wheel_passes import canonical_text, on_wheel

from minitriton.dialects.context import make_context
from minitriton.dialects.text import parse_module
from minitriton.passes.canonicalize import Canonicalize
from minitriton.passes.cse import Cse, LoopAwareCse
from minitriton.passes.licm import TritonLoopInvariantCodeMotion
from minitriton.passes.sccp import Sccp

pytestmark = pytest.mark.oracle

CONTEXT = make_context()

CHAIN = [
    (passes.common.add_sccp, Sccp()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.common.add_cse, Cse()),
    (passes.ttir.add_loop_aware_cse, LoopAwareCse()),
    (passes.ttir.add_triton_licm, TritonLoopInvariantCodeMotion()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.convert.add_scf_to_cf, ConvertScfToCf()),
    (passes.common.add_canonicalizer, Canonicalize()),
    (passes.common.add_cse, Cse()),
    (passes.common.add_sccp, Sccp()),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", range(8))
def test_arithmetic_has_one_canonical_form(batch: int) -> None:
    for seed in range(batch * 40, batch * 40 + 40):
        text = arithmetic(seed)
        module = parse_module(text)
        Canonicalize().apply(CONTEXT, module)
        module.verify()
        want = on_wheel(text, [passes.common.add_canonicalizer])
        assert canonical_text(module) == canonical_text(parse_module(want)), f"seed {seed}:\n{text}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("batch", range(8))
def test_control_flow_is_simplified_alike(batch: int) -> None:
    for seed in range(batch * 10, batch * 10 + 10):
        text = control_flow(seed)
        for add_pass, answer in CHAIN:
            module = parse_module(text)
            answer.apply(CONTEXT, module)
            module.verify()
            text = on_wheel(text, [add_pass])
            assert canonical_text(module) == canonical_text(parse_module(text)), f"seed {seed}, {answer.name}"
