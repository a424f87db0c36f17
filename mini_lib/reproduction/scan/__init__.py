"""The SCAN paper's tables and figures: cells, drawings, ledger, the authors' weights."""
