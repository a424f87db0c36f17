"""A package, since other papers' tests have files of the same names: `from functions import oracles`."""
