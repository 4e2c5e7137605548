"""How a file itself launches its kernel, as a recorded launch: what is opened with it has nothing made up.

own_launch("gluon/copy.py:copy_rows").folder      where the launch was written down; None for a file that launches nothing

It is, in this order, a launch of the kernel that `minitriton record` left in `recorded/`; the case that the file, or `cases.py` next to
it, declares of it (`lab.corpus.case`); the first launch that the file makes where it is run as a program (`if __name__ == "__main__":`).
What was found is cached by the text of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from minitriton import knobs
from minitriton.errors import MinitritonError

if TYPE_CHECKING:
    from minitriton.lab.corpus.case import Case
    from minitriton.lab.launches.recorded import RecordedLaunch

RECORDED = Path("recorded")
_SECONDS = 30.0
"""That a program may take to its first launch."""
_MOST_LAUNCHES = 16
"""That are written down until one of the kernel is among them: others of its name may be of other files."""
_MAIN = re.compile(r"^if\s*\(?\s*(__name__\s*==\s*['\"]__main__['\"]|['\"]__main__['\"]\s*==\s*__name__)", re.MULTILINE)


def own_launch(source: str) -> RecordedLaunch | None:
    """The launch of `FILE.py:kernel`; of a file without a name, of its only kernel that has one."""
    file, _, name = source.partition(":")
    path = Path(file)
    if not path.is_file():
        return None
    from minitriton.lab.launches.recorded import launches_in, read_launch

    for folder in launches_in(RECORDED) if RECORDED.is_dir() else []:
        try:
            launch = read_launch(folder)
        except MinitritonError:
            continue
        if launch.is_named and (not name or launch.kernel == name) and _same(launch.file, path):
            return launch
    text = path.read_text("utf-8", "replace")
    declared = [one for one in (path, path.with_name("cases.py")) if one.is_file() and "CASES" in _text(one)]
    if not declared and not _MAIN.search(text):
        return None
    key = "\n".join([str(path.resolve()), name, text, *map(_text, declared)])
    folder = Path(knobs.cache.dir) / "launches" / hashlib.sha256(key.encode()).hexdigest()[:24]
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as made:
            out = Path(made) / folder.name
            out.mkdir()
            is_known = bool(declared) and _record_case(path, name, declared, out)
            if not is_known and _MAIN.search(text):
                is_known = _record_program(path, name, out)
            with contextlib.suppress(OSError):  # another process was first
                if is_known:
                    out.rename(folder)
    return _launch_in(folder, path, name)


def _launch_in(folder: Path, path: Path, name: str) -> RecordedLaunch | None:
    """The first launch in `folder` of the kernel of this file, or of one that the file has from another."""
    from minitriton.lab.launches.recorded import launches_in, read_launch

    launches = [read_launch(one) for one in launches_in(folder)] if folder.is_dir() else []
    own = (launch for launch in launches if _same(launch.file, path))
    defines = bool(name) and re.search(rf"^def {re.escape(name)}\(", _text(path), re.MULTILINE)
    return next(own, None if defines else next(iter(launches), None))


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")


def _same(file: str, path: Path) -> bool:
    return os.path.exists(file) and os.path.samefile(file, path)


def _record_case(path: Path, name: str, declared: list[Path], folder: Path) -> bool:
    """Writes down the launch of the case that one of the files `declared` has of the kernel. Whether there is one."""
    from minitriton.lab.arguments import random_numbers
    from minitriton.lab.corpus.case import load_file
    from minitriton.lab.launches.recorder import Recorder
    from minitriton.runtime.jit import kernel_in

    for file in declared:
        module = load_file(file, "minitriton")
        cases: list[Case] = [*getattr(module, "CASES", ()), *getattr(module, "OPENED", ())]
        found = next(
            (one for one in cases if Path(one.file).name == path.stem and one.kernel == (name or one.kernel)), None
        )
        kernel = None if found is None else kernel_in(getattr(load_file(path, "minitriton"), found.kernel))
        if found is None or kernel is None:
            continue
        x, y, z = (*found.grid, 1, 1)[:3]
        values = found.inputs(random_numbers(0))
        constants = {**dict(zip(kernel.arg_names, values, strict=False)), **found.constexprs}
        defaults = {p.name: p.default for p in kernel.params if p.has_default}
        recorder = Recorder(folder, most_launches=1)
        recorder.see(
            kernel, (x, y, z), tuple((defaults | constants)[one] for one in kernel.arg_names), {**found.launch_options}
        )
        return any(one.folder for one in recorder.recorded)
    return False


def _record_program(path: Path, name: str, folder: Path) -> bool:
    """Runs the file as a program until its first launch of the kernel is written down, and ends it with all that it started. Whether it is known now
    what the file launches: not of a program that failed, or took too long."""
    from minitriton.lab.launches.recorder import NOTHING_RECORDED
    from minitriton.runtime.cuda_driver import has_gpu

    options = [*(["--kernel", name] if name else []), *([] if has_gpu() else ["--cpu"])]
    most = ["--most", str(_MOST_LAUNCHES)]
    command = [sys.executable, "-m", "minitriton", "record", "--out", str(folder), *most, *options, str(path)]
    print(f"{path} is run until its first launch of {name or 'a kernel'}", file=sys.stderr)
    quiet = subprocess.DEVNULL
    with (
        tempfile.TemporaryFile("w+", errors="replace") as said,
        subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=said, start_new_session=True) as child,
    ):
        why = f"took more than {_SECONDS:.0f} s"
        try:
            for _ in range(int(_SECONDS * 20)):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(0.05)
                    break
                if _launch_in(folder, path, name) is not None:
                    break
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        if _launch_in(folder, path, name) is not None:
            return True
        said.seek(0)
        lines = [line.strip() for line in said.read().split("\n") if line.strip()]
        if child.poll() is not None and child.returncode >= 0 and lines:
            why = lines[-1]
        print(f"  it launched no {name or 'kernel'}: {why}", file=sys.stderr)
        return NOTHING_RECORDED in why
