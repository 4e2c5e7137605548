"""Makes the modules of `support/` importable by the tests of this folder, and takes the clock out of property tests."""

import sys
from pathlib import Path

from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "support"))

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
