"""The commands and words that the lexer knows, under one name each."""

from __future__ import annotations


def _set(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _table(rows: str) -> dict[str, str]:
    """`name: alias alias; …` as a dict from each alias to its name."""
    pairs = (row.split(": ") for row in rows.split("; "))
    return {alias: name for name, aliases in pairs for alias in aliases.split()}


RELATIONS = _table(
    "=: = == equals; <: < lt; >: > gt; <=: <= =< le leq leqslant leqq; "
    ">=: >= ge geq geqslant geqq; !=: != ne neq; ~: approx simeq approxeq; in: in; equiv: equiv ≡"
)
SIGNS = _table(
    "*: cdot times ast; /: div; pm: pm; mp: mp; ^: **; mid: mid; "
    "|: lvert rvert vert lVert rVert |; <(: langle; )>: rangle; "
    "\\{: { lbrace; \\}: } rbrace; [: lbrack; ]: rbrack"
)
SETS = _table("union: cup; inter: cap; minus: setminus backslash")
FUNCTIONS = _set(
    "sin cos tan cot sec csc sinh cosh tanh coth arcsin arccos arctan arccot ln log lg exp max min"
    " gcd lcm cis det arg Re Im floor ceil sgn asin acos atan abs"
)
GREEK = _set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi"
    " rho sigma tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Phi Psi Omega ell"
    " hbar nabla aleph partial"
)
SPECIALS = _table(
    "frac: frac; binom: binom dbinom tbinom; begin: begin; finish: end; overline: overline; "
    "sum: sum; prod: prod; mathbb: mathbb; pmod: pmod; sqrt: sqrt; lfloor: lfloor; "
    "rfloor: rfloor; lceil: lceil; rceil: rceil"
)
CONSTANTS = _table("pi: pi; inf: infty infinity; empty: emptyset varnothing; reals: R")
WORD_CONSTANTS = _table("pi: pi; inf: infinity inf infty oo")
JOINS = _table("and: and und et y 和 land wedge; or: or oder ou 或 lor vee")
UNITS = _set(
    "cm mm km kg mg ml mL hr hrs min sec ft yd mi lb lbs oz mph kph rpm deg rad pct percent cms"
    " kmh am pm AM PM pts sq cu Hz kJ kW kWh Pa mol gal qt pt"
)
SMALL_WORDS = _set("is no so of to in at by we it an as be he if my us me do go up on am")
