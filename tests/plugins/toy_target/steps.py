"""The pipeline of `toy`, its emission and its assembler."""

from __future__ import annotations

from typing import Any, ClassVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.llvm import FuncOp
from xdsl.ir import SSAValue

from minitriton.pipeline.pass_registry import Property, Translation, register_pass


def toy_steps(target: Any, options: Any, switches: Any) -> list[str]:
    """Triton's first passes, the memory passes that the lowering requires, the lowering, text, bytes."""
    convert = f"convert-triton-to-tritongpu{{target={target.ttg_target} num-warps={options.num_warps} threads-per-warp={options.warp_size}}}"
    return [
        "inline", "triton-rewrite-tensor-pointer", "canonicalize", "cse", convert, "tritongpu-coalesce",
        "tritongpu-remove-layout-conversions", "tritongpu-allocate-warp-groups", "tritongpu-global-scratch-memory-allocation",
        "place-shared-memory", "insert-proxy-fences", "insert-barriers", "convert-triton-gpu-to-llvm", "toy-emit", "toy-assemble",
    ]  # fmt: skip


@register_pass
class EmitToy(Translation, stage="toy", origin="required"):
    """One line an op: `%3 = fadd %1 %2`."""

    name = "toy-emit"
    requires: ClassVar[frozenset[Property]] = frozenset({Property.LLVM_DIALECT})
    keeps: ClassVar[frozenset[Property]] = frozenset()

    def translate(self, source: object) -> str:
        assert isinstance(source, ModuleOp)
        names: dict[SSAValue, str] = {}
        lines: list[str] = []
        for function in source.ops:
            if isinstance(function, FuncOp):
                lines.append(f"kernel {function.sym_name.data}")
                for block in function.body.blocks:
                    for op in block.ops:
                        for result in op.results:
                            names[result] = f"%{len(names)}"
                        what = op.properties.get("what", None)
                        word = op.name.partition(".")[2] if what is None else what.data
                        results = "".join(f"{names[r]} = " for r in op.results)
                        lines.append(" ".join([results + word, *(names.get(o, "%arg") for o in op.operands)]))
        return "\n".join(lines) + "\n"


@register_pass
class AssembleToy(Translation, stage="toybin", origin="required"):
    """The text as bytes, after a magic number."""

    name = "toy-assemble"

    def translate(self, source: object) -> bytes:
        return b"\xffTOY" + str(source).encode()
