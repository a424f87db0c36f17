"""A package, since other tests have files of the same names."""
