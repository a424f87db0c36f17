"""Tests of what reproduces the Kanerva paper."""
