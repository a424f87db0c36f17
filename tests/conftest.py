from collections import Counter
from pathlib import Path

import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

# Shapes are checked in the modules that state any; to check every call of the rest takes longer than the tests do.
PACKAGE = Path(__file__).parents[1] / "mini_lib"
SHAPED = [path for path in PACKAGE.rglob("*.py") if "from jaxtyping import" in path.read_text()]
install_import_hook(
    [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in SHAPED], "beartype.beartype"
)
torch.set_num_threads(1)  # the networks are small; more threads only wait for each other
hypothesis.settings.register_profile("any machine", deadline=None, derandomize=True)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def subnormal_numbers():
    """What a command sets for its process must not outlast a test; hypothesis needs subnormal numbers."""
    yield
    torch.set_flush_denormal(False)


def pytest_runtest_setup(item):
    if item.get_closest_marker("cuda") and not torch.cuda.is_available():
        pytest.skip("no GPU, for stacked/alone/resume on CUDA")


def pytest_terminal_summary(terminalreporter):
    """Say aloud what nobody looked at."""
    reasons = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    for reason, count in reasons.items():
        terminalreporter.line(f"{count} tests did not run: {reason.removeprefix('Skipped: ')}", red=True)
