"""Kernels in a folder that Triton or Inductor left: a cache of Triton's, a dump, the output of torch.compile.

    kernels_in(Path("~/.triton/cache"))      [".../ab12/add.ttir", ".../cd34/softmax.ttir"]

Triton's cache has a folder a kernel, with a file a stage; Inductor keeps such a cache below its own folder. The earliest stage of each
is taken: from there all later ones follow.
"""

from __future__ import annotations

from pathlib import Path

from minitriton.errors import MinitritonError

_STAGES = (".ttir", ".ttgir")
MOST = 8
"""Kernels that are opened side by side."""


def kernels_in(folder: Path) -> list[Path]:
    """A file for each kernel below `folder`, the newest first. Raises `MinitritonError` where there is none."""
    found: dict[tuple[Path, str], Path] = {}
    for suffix in reversed(_STAGES):
        for path in folder.rglob(f"*{suffix}"):
            found[path.parent, path.stem] = path
    if not found:
        raise MinitritonError(
            f"no .ttir and no .ttgir below {folder}",
            help="name a cache folder of Triton's (~/.triton/cache), a dump, or Inductor's output (/tmp/torchinductor_USER)",
        )
    return sorted(found.values(), key=lambda path: (-path.stat().st_mtime, str(path)))
