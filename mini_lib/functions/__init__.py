"""Segert and Cohen (2023): transformers that see only differences, and how far they look."""
