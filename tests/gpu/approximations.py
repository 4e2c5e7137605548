"""How far the approximate instructions may be from the exact result, as the PTX ISA states it.

The emulator computes them correctly rounded; hardware uses tables. In: an opcode. Out: its `Bound`, None if it is exact.

    bound_of("ex2.approx.ftz.f32") -> Bound(relative=2**-22, section="9.7.3.21")
    bound_of("div.rn.f32") -> None
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bound:
    """|result - exact| <= relative * |exact| + absolute; `section` is that of the PTX ISA 8.7."""

    section: str
    relative: float = 0.0
    absolute: float = 0.0


BOUNDS: dict[str, Bound] = {
    "div.approx.f32": Bound("9.7.3.8", relative=2.0**-22),
    "div.full.f32": Bound("9.7.3.8", relative=2.0**-22),
    "rcp.approx.f32": Bound("9.7.3.13", relative=2.0**-23),
    "rcp.approx.f64": Bound("9.7.3.14", relative=2.0**-20),
    "sqrt.approx.f32": Bound("9.7.3.15", relative=2.0**-23),
    "rsqrt.approx.f32": Bound("9.7.3.16", relative=2.0**-22.9),
    "rsqrt.approx.f64": Bound("9.7.3.17", relative=2.0**-20),
    "sin.approx.f32": Bound("9.7.3.18", absolute=2.0**-20.5),
    "cos.approx.f32": Bound("9.7.3.19", absolute=2.0**-20.5),
    "lg2.approx.f32": Bound("9.7.3.20", relative=2.0**-22, absolute=2.0**-22),
    "ex2.approx.f32": Bound("9.7.3.21", relative=2.0**-22),
    "tanh.approx.f32": Bound("9.7.3.22", relative=2.0**-11),
    "tanh.approx.f16": Bound("9.7.4.9", absolute=2.0**-10.987),
    "tanh.approx.f16x2": Bound("9.7.4.9", absolute=2.0**-10.987),
    "tanh.approx.bf16": Bound("9.7.4.9", absolute=2.0**-8),
    "tanh.approx.bf16x2": Bound("9.7.4.9", absolute=2.0**-8),
    "ex2.approx.f16": Bound("9.7.4.10", relative=2.0**-9.9),
    "ex2.approx.f16x2": Bound("9.7.4.10", relative=2.0**-9.9),
    "ex2.approx.bf16": Bound("9.7.4.10", relative=2.0**-7),
    "ex2.approx.bf16x2": Bound("9.7.4.10", relative=2.0**-7),
}
"""By opcode without `.ftz`. Two ulps of float32 are a relative 2**-22; sin and cos within [-pi, pi]; the float64 ones are
said to be right in the upper 20 bits of the fraction."""


def bound_of(opcode: str) -> Bound | None:
    """The bound of an instruction; None for those that are exact or correctly rounded."""
    return BOUNDS.get(opcode.replace(".ftz", ""))
