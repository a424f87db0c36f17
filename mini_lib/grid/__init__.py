"""One grid: the mechanisms of four papers, and two more, on the tasks of all of them.

The study asks whether generalisation comes from the wall, which keeps content from the answer, or from the relation
behind it. It stands on the four wings and is imported by none.
"""
