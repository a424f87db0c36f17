"""Emergent Symbols through Binding in External Memory (Webb, Sinha and Cohen, ICLR 2021)."""
