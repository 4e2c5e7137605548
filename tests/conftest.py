"""Shared by all tests: the example and parity cases are importable, compiled kernels go to a cache of the test run's own, so does
the byte code of programs that tests start where it would be compiled anew for each, every
test begins without an allocator, and one that leaves a setting changed fails itself, not whichever runs after it."""

import gc
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from minitriton import knobs
from minitriton.runtime import driver
from minitriton.runtime._allocation import NullAllocator, set_allocator

sys.path.insert(0, str(Path(__file__).parent / "parity"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parent / "plugins"))

# How long an example takes says how busy the machine is.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--whole", action="store_true", help="run every case of the families that are marked `sampled`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)`, one case in n runs, drawn by its name and so the same one each time: `--whole` runs them all."""
    families: dict[object, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            families.setdefault(getattr(item, "function", item), []).append(item)
    left_out: set[pytest.Item] = set()
    for cases in families.values() if not config.getoption("--whole") else ():
        every = next(cases[0].iter_markers("sampled")).args[0]
        drawn = sorted(cases, key=lambda item: zlib.crc32(item.name.encode()))
        left_out.update(drawn[-(-len(cases) // every) :])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish() -> None:
    """What all modules and tests hold is there to the end: it is not looked through again for garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under `-n`, a worker takes one stretch of the tests, so that what a file's tests share is made once, and one that has come to its
    end takes half of what another has left."""
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.fixture(autouse=True, scope="session")
def own_kernel_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("MINITRITON_KEY_FILE", str(tmp_path_factory.mktemp("key") / "key"))
        yield


@pytest.fixture(autouse=True, scope="session")
def byte_code_is_kept_between_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Where Python is told to write no byte code, each program that a test starts would compile all it imports (1-2 s of a
    processor): one folder, of this run and shared by its workers, keeps it."""
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("PYTHONDONTWRITEBYTECODE"):
            folder = tmp_path_factory.getbasetemp()
            shared = folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder
            patch.delenv("PYTHONDONTWRITEBYTECODE")
            patch.setenv("PYTHONPYCACHEPREFIX", str(shared / "byte_code"))
        yield


def _settings() -> dict[str, Any]:
    """What a program sets for the whole process: knobs, the driver, where modules come from, the working directory, the
    environment."""
    groups = {name: group for name, group in vars(knobs).items() if isinstance(group, knobs.base_knobs)}
    found = {
        f"knobs.{name}.{knob}": list(value) if isinstance(value, list) else value
        for name, group in groups.items()
        for knob, value in vars(group).items()
    }
    found |= {"driver": driver._active, "working directory": os.getcwd()}
    ours = [finder for finder in sys.meta_path if type(finder).__module__.startswith("minitriton")]
    found |= {"triton is minitriton": sys.modules.get("triton") is sys.modules["minitriton"], "importers": ours}
    return found | {f"${name}": value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}


@pytest.fixture(autouse=True)
def settings_are_left_as_they_were(own_kernel_cache: None, byte_code_is_kept_between_programs: None) -> Iterator[None]:
    set_allocator(NullAllocator())  # programs set one and leave it: there is nothing in Triton to unset it by
    before, path = _settings(), list(sys.path)
    yield
    sys.path[:] = path
    assert _settings() == before
