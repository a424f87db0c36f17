"""The Kanerva paper's figures: cells, drawings, timings, ledger."""
