"""Makes the helpers of this folder importable, and lets a test choose the architecture that host arrays are compiled for."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=[80, 89, 90])
def arch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """The compute capability, times ten, of the emulated GPU."""
    monkeypatch.setenv("TRITON_OVERRIDE_ARCH", f"sm{request.param}")
    return request.param
