"""AMDGCN written by hand as a kernel `k` with a descriptor and locations: line n of the body is line n of `k.py`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from minitriton.emulator import Report, amdgcn

START = """s_load_dwordx4 s[4:7], s[0:1], 0x0
s_waitcnt lgkmcnt(0)
v_lshlrev_b32 v1, 2, v0
"""
"""s[4:5] and s[6:7] are the addresses of the first two arrays, v1 the offset of this lane's word. s2 is the workgroup's number."""


def text_of(
    body: str, threads: int = 64, lds: int = 0, target: str = "gfx942", directives: Mapping[str, int] | None = None
) -> str:
    """The kernel's text."""
    more = [f"\t\t.amdhsa_{name} {value}" for name, value in (directives or {}).items()]
    lines = [f"\t.loc 1 {n} 1\n\t{line}" for n, line in enumerate(body.strip().splitlines(), 1)]
    return "\n".join([
        f'\t.amdgcn_target "amdgcn-amd-amdhsa--{target}"', "\t.text", "\t.globl k", '\t.file 1 "/" "k.py"', "k:", *lines,
        "\ts_endpgm", '\t.section .rodata,"a",@progbits', "\t.amdhsa_kernel k", f"\t\t.amdhsa_group_segment_fixed_size {lds}",
        "\t\t.amdhsa_user_sgpr_count 2", "\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1", "\t\t.amdhsa_system_sgpr_workgroup_id_x 1", *more,
        "\t.end_amdhsa_kernel", "\t.amdgpu_metadata", "---", "amdhsa.kernels:", "  - .name: k", f"    .max_flat_workgroup_size: {threads}",
        "    .symbol: k.kd", "...", "\t.end_amdgpu_metadata", "",
    ])  # fmt: skip


def run(
    body: str,
    *arguments: np.ndarray | float,
    threads: int = 64,
    lds: int = 0,
    grid: tuple[int, ...] = (1,),
    target: str = "gfx942",
    directives: Mapping[str, int] | None = None,
) -> Report:
    """Runs a body on arrays."""
    return amdgcn.run(text_of(body, threads, lds, target, directives), None, grid, arguments)


def lanes(body: str, *inputs: np.ndarray, target: str = "gfx942") -> np.ndarray:
    """Word i of each of up to four inputs in v2, v3, v4, v5 of lane i; what v9 holds afterwards. As many lanes as inputs have words, in whole waves."""
    words = [np.asarray(one).view(np.uint32) for one in inputs]
    count = len(words[0])
    threads = -(-count // 64) * 64
    table = np.zeros((4, threads), np.uint32)
    for row, one in enumerate(words):
        table[row, :count] = one
    out = np.zeros(threads, np.uint32)
    loads = "".join(f"global_load_dword v{n + 2}, v1, s[4:5] offset:{4 * threads * n}\n" for n in range(len(words)))
    report = run(
        f"{START}{loads}s_waitcnt vmcnt(0)\n{body.strip()}\nglobal_store_dword v1, v9, s[6:7]",
        table,
        out,
        threads=threads,
        target=target,
    )
    assert report.ok, report.findings
    return out[:count]
