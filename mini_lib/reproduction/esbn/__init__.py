"""The ESBN paper's tables and figures: cells, drawings, ledger."""
