"""The function-learning paper's tables and figures: cells, drawings, ledger."""
