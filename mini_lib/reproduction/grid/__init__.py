"""The study of one grid: its cells, its contrasts and its drawings."""
