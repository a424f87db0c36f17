"""The `mini-lib` command from its first moment: an interrupt is answered in one line while libraries still load."""

import sys
import time

from mini_lib.errors import INTERRUPTED, INTERRUPTED_STATUS


def main() -> None:
    """Load the command and run it; see `mini_lib.reproduction.cli`."""
    started = time.time()
    try:
        import numpy  # noqa: F401 (first, since torch would load it and lose an interrupt meanwhile)

        from mini_lib.reproduction import cli  # here, since it takes seconds

        cli.main(started)
    except KeyboardInterrupt:
        print(INTERRUPTED, file=sys.stderr)
        sys.exit(INTERRUPTED_STATUS)


if __name__ == "__main__":
    main()
