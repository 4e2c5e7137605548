"""Small kernels as PTX text."""

from __future__ import annotations


def ptx_of(
    body: str, parameters: str = "u64 u64", threads: int = 32, shared: int = 0, cluster: int = 1, name: str = "k"
) -> str:
    """A kernel around `body`: parameters p0, p1, ...; %rd100+n holds pointer n; %r100 is tid.x, %r101 the CTA.

    `%rd91` and `%rd92` are the addresses of this thread's word in the first and second array.
    """
    kinds = parameters.split()
    declared = ",\n".join(f".param .{kind} p{n}" for n, kind in enumerate(kinds))
    loads = "".join(f"ld.param.u64 %rd{100 + n}, [p{n}];\n" for n, kind in enumerate(kinds) if kind == "u64")
    memory = f".shared .align 1024 .b8 buffer[{shared}];\n" if shared else ""
    clustered = f".explicitcluster\n.reqnctapercluster {cluster}\n" if cluster > 1 else ""
    return f"""
.version 8.7
.target sm_90a
.address_size 64
.visible .entry {name}({declared})
.reqntid {threads}
{clustered}{{
.reg .pred %p<50>;
.reg .b16 %rs<50>;
.reg .b32 %r<110>;
.reg .b64 %rd<110>;
{memory}{loads}mov.u32 %r100, %tid.x;
mov.u32 %r101, %ctaid.x;
mul.wide.u32 %rd90, %r100, 4;
add.s64 %rd91, %rd100, %rd90;
add.s64 %rd92, %rd101, %rd90;
{body}
ret;
}}
"""
