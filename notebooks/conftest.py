"""What nbval does not compare: pictures, widgets, warnings; they differ between machines."""

import pytest

SKIPPED = ("text/html", "application/javascript", "image/svg+xml", "stderr")


def pytest_collectstart(collector: pytest.Collector) -> None:
    if collector.path.suffix == ".ipynb":
        collector.skip_compare += SKIPPED
