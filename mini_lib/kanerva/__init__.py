"""Marblestone, Wu and Wayne (2020): one Bayesian memory made of many small ones."""
