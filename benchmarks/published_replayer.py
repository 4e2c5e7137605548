"""Launches under minitriton what `published_recorder.py` kept under Triton, from the same memory, and compares. `published.py` starts it:

    python -m minitriton.run_as_triton published_replayer.py OUT PROJECT SECONDS

Takes the folders of `OUT`/queue one by one, the first launches of kernels first, beside other processes that do the same, until `OUT`/recorded
says that no more will come. Each gives a line of `OUT`/results-PID.jsonl. A folder is deleted, or moved to `OUT`/kept if the numbers differ
or an error came. Exits with 3 where the device is lost. One kept folder, with its project on PYTHONPATH, again:

    python -m minitriton.run_as_triton [--cpu] published_replayer.py FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import published_launches as launches
import torch
import triton

LOST = 3


class TooLong(BaseException):
    """A launch that is stopped."""


def _stop(*_: Any) -> None:
    raise TooLong


def _claimed(out: Path, project: str) -> Path | None:
    """A folder that no other process has."""
    for folder in sorted((out / "queue").glob(f"[0-9]*-{project}-*")):
        mine = out / "taken" / f"{folder.name}@{os.getpid()}"
        try:
            folder.rename(mine)
        except OSError:
            continue
        return mine
    return None


def replay(folder: Path, launch: launches.Launch, device: str) -> dict[str, Any]:
    """`status` of the launch, and how far its worst storage is from Triton's."""
    for name in launches.SET_BY_PROGRAMS:
        os.environ.pop(name, None)
    os.environ.update(launch.environment)
    before, after = launches.storages_of(folder, launch, device)
    memory = [each.clone() for each in before]
    args, kwargs = launches.loads(launch.arguments, memory)
    kernel = launches.kernel_of(launch.kernel)
    start = time.perf_counter()
    compiled = kernel.run(*args, grid=launch.grid, warmup=False, **kwargs)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    result: dict[str, Any] = {"status": "equal", "relative": 0.0, "seconds": round(seconds, 2)}
    order = ["equal", "close", "Triton differs from itself", "differs"]
    for number, storage in enumerate(launch.storages):
        apart = launches.difference(memory[number], after[number], before[number], storage.dtype)
        if not apart.count:
            continue
        own = storage.repeat.relative if storage.repeat is not None else 0.0
        if apart.relative <= launches.tolerance(storage.dtype, launch.rounding):
            status = "close"
        elif storage.repeat is not None and 4 * own >= apart.relative:
            status = "Triton differs from itself"
        else:
            status = "differs"
        if (order.index(status), apart.relative) >= (order.index(result["status"]), result["relative"]):
            result |= {
                "status": status, "relative": apart.relative, "storage": number, "dtype": str(storage.dtype), "differing": apart.count,
                "of": storage.nbytes // storage.dtype.itemsize, "byte": apart.where, "values": apart.values, "Triton again": own,
            }  # fmt: skip
    if result["status"] == "differs":
        first = [each.clone() for each in memory]
        for now, then in zip(memory, before, strict=True):
            now.copy_(then)
        kernel.run(*args, grid=launch.grid, warmup=False, **kwargs)
        torch.cuda.synchronize()
        result["same again"] = all(torch.equal(a, b) for a, b in zip(first, memory, strict=True))
        if compiled is not None and "ptx" in compiled.asm:
            (folder / "minitriton.ptx").write_text(str(compiled.asm["ptx"]))
    return result


def _keep(folder: Path, launch: launches.Launch, place: Path) -> None:
    """With the kernel's file, which may have been generated."""
    shutil.copy(launch.kernel.file, folder / "source.py")
    folder.rename(place)


def _last_lines(error: BaseException) -> str:
    text = "".join(traceback.format_exception(error, limit=-4)).strip()
    return text[-1500:]


def _allocate() -> None:
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))


def main() -> int:
    """Until nothing is left."""
    if len(sys.argv) == 2:
        _allocate()
        folder = Path(sys.argv[1])
        print(json.dumps(replay(folder, launches.load(folder), "cuda"), indent=1, default=str))
        return 0
    out, project, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    _allocate()
    signal.signal(signal.SIGALRM, _stop)
    results = (out / f"results-{os.getpid()}.jsonl").open("a")
    while True:
        folder = _claimed(out, project)
        if folder is None:
            if (out / "recorded").exists():
                return 0
            time.sleep(0.3)
            continue
        launch = launches.load(folder)
        facts = {
            "project": project, "kernel": launch.kernel.name, "module": launch.kernel.module, "file": Path(launch.kernel.file).name, "test": launch.test,
            "folder": folder.name.partition("@")[0], "grid": launch.grid, "shown": launch.shown,
        }  # fmt: skip
        signal.setitimer(signal.ITIMER_REAL, seconds)
        lost = False
        try:
            facts |= replay(folder, launch, "cuda")
        except LookupError as error:
            facts |= {"status": "not found", "error": str(error)}
        except TooLong as error:
            facts |= {"status": "too long", "error": _last_lines(error)}
        except Exception as error:
            facts |= {"status": "error", "error": _last_lines(error)}
            lost = "CUDA error" in str(error) or "CUDA_ERROR" in str(error) or "illegal memory" in str(error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        results.write(json.dumps(facts, default=str) + "\n")
        results.flush()
        if facts["status"] in ("differs", "error", "too long"):
            _keep(folder, launch, out / "kept" / facts["folder"])
        else:
            shutil.rmtree(folder)
        if lost:
            return LOST


if __name__ == "__main__":
    sys.exit(main())
