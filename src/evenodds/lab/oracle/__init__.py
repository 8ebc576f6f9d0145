"""The oracle: every objective held against exact gradients, over all groups of all answers.

Two sides that share no line: `estimate.py` runs the code that trains, `closed.py` and `coupled.py`
are the theory in numpy. `docs/oracle.md` derives what is expected. `own.py` looks at an objective
that has no closed form.
"""

from evenodds.lab.oracle.case import Case, Row, check
from evenodds.lab.oracle.cases import cases
from evenodds.lab.oracle.own import look, own_cases, told
from evenodds.lab.oracle.table import markdown, printed

__all__ = ["Case", "Row", "cases", "check", "look", "markdown", "own_cases", "printed", "told"]
