"""What nbval does not compare: pictures and widgets (they differ between machines), and warnings' paths."""

import pytest

SKIPPED = ("text/html", "application/javascript", "image/svg+xml", "stderr")


def pytest_collectstart(collector: pytest.Collector) -> None:
    if collector.path.suffix == ".ipynb":
        collector.skip_compare += SKIPPED
