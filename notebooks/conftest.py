"""What nbval does not compare: drawings, scripts, warnings; they differ between machines.

A figure enters as HTML. Its caption is compared, its picture is not: see nbval_sanitize.cfg.
"""

import pytest

SKIPPED = ("application/javascript", "image/svg+xml", "stderr")


def pytest_collectstart(collector: pytest.Collector) -> None:
    if collector.path.suffix == ".ipynb":
        collector.skip_compare += SKIPPED
