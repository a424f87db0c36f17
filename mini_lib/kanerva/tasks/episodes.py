"""What the episodes of all problems have in common."""

from mini_lib.errors import UsageError


def check_numbers(count: int, items: int) -> None:
    """UsageError unless there is an episode at least, and an item in each."""
    if count < 1:
        raise UsageError(f"count is the number of episodes and has to be 1 or more, got {count!r}")
    if items < 1:
        raise UsageError(f"an episode needs at least one item; items has to be 1 or more, got {items!r}")
