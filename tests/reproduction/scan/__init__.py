"""A package, since other wings' tests have files of the same names: `from scan import oracles`."""
