"""The study of bottleneck and relation: its entries and its contrasts."""
