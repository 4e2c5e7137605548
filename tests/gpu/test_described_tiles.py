"""Plain kernels whose tiles come by tensor maps that launches make: the same bits as without, whatever is launched after each other."""

from __future__ import annotations

from typing import Any

import pytest

from minitriton_kernels.cases import load_kernels

torch = pytest.importorskip("torch")
KERNELS = load_kernels("plain_tiles", "minitriton")
COPIES = "cp.async.bulk.tensor"


def _matmul(a: Any, b: Any, c: Any, **options: Any) -> Any:
    (m, k), n = a.shape, b.shape[1]
    grid = (-(-m // 128) * -(-n // 128),)
    return KERNELS.matmul[grid](
        a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride(), 128, 128, 64, 8, num_warps=4, num_stages=3, **options
    )


@pytest.mark.parametrize("transposed", [False, True])
def test_launches_of_one_kernel_with_other_sizes_and_arrays(transposed: bool) -> None:
    for m, n, k in ((512, 256, 512), (528, 256, 512), (512, 272, 528), (1024, 1024, 64), (512, 256, 512)):
        a = torch.randn((m, k), device="cuda", dtype=torch.float16)
        b = (
            torch.randn((n, k), device="cuda", dtype=torch.float16).T
            if transposed
            else torch.randn((k, n), device="cuda", dtype=torch.float16)
        )
        c, d = (torch.empty((m, n), device="cuda", dtype=torch.float16) for _ in range(2))
        assert COPIES in _matmul(a, b, c).asm["ptx"]
        assert COPIES not in _matmul(a, b, d, describe_tiles=False).asm["ptx"]
        assert torch.equal(c.view(torch.int16), d.view(torch.int16))
        torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


def test_views_that_begin_inside_an_array() -> None:
    whole = torch.randn((600, 600), device="cuda", dtype=torch.float16)
    for start in (8, 16, 1):
        a = whole[start : start + 512, start : start + 512]
        c, d = (torch.empty((512, 512), device="cuda", dtype=torch.float16) for _ in range(2))
        _matmul(a, a, c)
        _matmul(a, a, d, describe_tiles=False)
        assert torch.equal(c.view(torch.int16), d.view(torch.int16))


def test_a_launch_in_a_cuda_graph() -> None:
    a, b = (torch.randn((512, 512), device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty_like(a)
    _matmul(a, b, c)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        _matmul(a, b, c)
    c.zero_()
    a.copy_(torch.randn_like(a))
    graph.replay()
    torch.testing.assert_close(c, a @ b, rtol=1e-2, atol=1e-1)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1024, 1000])
def test_attention(causal: bool, length: int) -> None:
    q, k, v = (torch.randn((2, 4, length, 64), device="cuda", dtype=torch.bfloat16) for _ in range(3))
    found = []
    for describes in (True, False):
        out = torch.empty_like(q)
        strides = [step for x in (q, k, v, out) for step in x.stride()[:3]]
        KERNELS.attention[(-(-length // 128), 8)](
            q,
            k,
            v,
            out,
            0.125,
            4,
            length,
            *strides,
            128,
            64,
            64,
            causal,
            num_warps=4,
            num_stages=3,
            describe_tiles=describes,
        )
        found.append(out)
    assert torch.equal(found[0].view(torch.int16), found[1].view(torch.int16))
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.125)
    torch.testing.assert_close(found[0], wanted, rtol=2e-2, atol=2e-2)
