"""A compiled program as a store keeps it: all that assembling and launching it again take.

Configurations that give the same PTX for the same kind of launch share one.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, fields
from typing import Any

from minitriton.host.json_values import frozen
from minitriton.lab.sweeping.configuration import Settings
from minitriton.target import CompileOptions, target_named
from minitriton.target.backends import backend
from minitriton.target.tensor_map import DescriptorCopy


@dataclass(frozen=True)
class KernelProgram:
    """`digest` names it among those of `kernel`. `settings` say how its launch differs from the kernel's own."""

    kernel: str
    digest: str
    ptx: str
    arch: int | str
    options: CompileOptions
    settings: Settings = ()
    shared: int = 0
    """Bytes of shared memory a CTA."""
    global_scratch: int = 0
    """Bytes of global memory that each program needs in addition to its arguments."""
    maps: str = ""
    """The tensor maps that it takes, as text (`repr`); empty where it takes none."""
    cubin: bytes = field(default=b"", compare=False, repr=False)
    """Its machine code where it was assembled before."""

    @property
    def descriptors(self) -> list[DescriptorCopy] | None:
        """What the host has to know of the tensor maps; None where the kernel takes none, or takes descriptors apart."""
        return ast.literal_eval(self.maps) if self.maps else None

    def about(self) -> dict[str, Any]:
        """All but names and PTX, as plain values."""
        plain = type(self.options)()
        options = {
            f.name: getattr(self.options, f.name)
            for f in fields(plain)
            if getattr(self.options, f.name) != getattr(plain, f.name)
        }
        return {
            "arch": self.arch, "options": options, "settings": list(self.settings), "shared": self.shared,
            "global_scratch": self.global_scratch, "maps": self.maps,
        }  # fmt: skip

    @classmethod
    def of(cls, kernel: str, digest: str, ptx: str, about: dict[str, Any], cubin: bytes = b"") -> KernelProgram:
        """What `about` and the rest were made of."""
        kind = backend(target_named(about["arch"]).backend).load("options")
        options = kind(**{n: frozen(v) for n, v in about["options"].items()})
        return cls(
            kernel, digest, ptx, about["arch"], options, tuple((n, v) for n, v in about["settings"]),
            about["shared"], about["global_scratch"], about["maps"], cubin,
        )  # fmt: skip
