import hypothesis
import pytest
import torch
from jaxtyping import install_import_hook

from mini_lib.reproduction.cells import PAPERS, STUDIES

# Shapes are checked where tensors are; to check every call of the rest takes longer than the tests do.
SHAPED = ("datasets", "layers", *PAPERS, *STUDIES, *(f"reproduction.{each}" for each in (*PAPERS, *STUDIES)))
install_import_hook([f"mini_lib.{each}" for each in SHAPED], "beartype.beartype")
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
        pytest.skip("no GPU")


def pytest_terminal_summary(terminalreporter):
    """Say aloud what nobody looked at."""
    skipped = [each for each in terminalreporter.stats.get("skipped", []) if "cuda" in each.keywords]
    if skipped:
        terminalreporter.line(
            f"no GPU: {len(skipped)} tests of stacked/alone/resume on CUDA did not run", red=True
        )
