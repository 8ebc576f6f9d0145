"""From an answer to the bare proof of one statement, or why it is refused.

Only the proof is taken from an answer. The file that Lean reads is made of the gold's own header
and statement, with the proof in parentheses behind it, so that what an answer imports, declares,
opens or restates is not part of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_PROOF = 50_000

_COMMANDS = """
abbrev add_decl_doc add_tactic_doc attribute axiom binder_predicate builtin_initialize class
declare_config_elab declare_syntax_cat def deriving elab elab_rules elab_stx end example export
extern grind_pattern implemented_by import include inductive infix infixl infixr initialize
instance lemma local macro macro_rules mutual namespace noncomputable notation notation3 omit
opaque partial precedence prelude private protected register_builtin_option register_label_attr
register_option register_simp_attr run_cmd run_elab run_meta scoped section set_option simproc
simproc_decl dsimproc dsimproc_decl structure syntax theorem unif_hint universe unsafe variable
"""
_CHEATS = """
admit by_elab csimp decreasing_by implemented_by include_str native native_decide
ofReduceBool ofReduceNat polyrith reduceBool reduceNat run_tac skipKernelTC sorry sorryAx stop
termination_by trustCompiler unsafeCast unsafeIO unsafeBaseIO lcProof
"""
REFUSED = frozenset(f"{_COMMANDS} {_CHEATS}".split())
"""Words that no proof here may hold: they begin a command, or prove nothing."""

_WORD = re.compile(r"[^\W\d][\w'!?₀-₉]*")
_OPEN = re.compile(r"--|/-")
_NEST = re.compile(r"/-|-/")
_DECLARED = re.compile(r"\b(?:theorem|lemma)\s+([^\s:({\[⦃«]+)")
_TAIL = re.compile(r":=\s*(?:by\b\s*)?(?:sorry\b\s*)?\Z")
_BRACKETS = {")": "(", "]": "[", "}": "{", "⟩": "⟨", "⦄": "⦃"}
_FORBIDDEN_SIGNS = {
    '"': "strings are not read",
    "«": "quoted names are not read",
    "\0": "it holds a NUL",
    "@[": "attributes are not allowed",
    "eval%": "`eval%` is not allowed",
    "'\\": "characters in quotes are not read",
}
_QUOTED_BRACKET = re.compile(r"'[()\[\]{}⟨⟩⦃⦄]'")
_HASH_COMMAND = re.compile(r"#\s{0,9}[a-zA-Z]")


@dataclass(frozen=True)
class Refused:
    """Why a text holds no statement, or no proof that may be tried."""

    note: str


@dataclass(frozen=True)
class Statement:
    """What is to be proved: the name of the theorem, and its text up to `:=`."""

    name: str
    text: str

    @property
    def claim(self) -> str:
        """The statement from its name on, without white space, for comparison."""
        plain = without_comments(self.text)
        start = [*_DECLARED.finditer(plain)][-1].start(1)
        return "".join(plain[start:].split())


def read_statement(text: str) -> Statement | Refused:
    """The statement of a gold, which may end in `:=`, `:= by` or `:= by sorry`."""
    plain = without_comments(text)
    found = [*_DECLARED.finditer(plain)]
    if not found:
        return Refused("its statement declares no theorem with a name")
    # comments are blanked sign by sign, so the end of the plain text is the end of the real one
    tail = _TAIL.search(plain.rstrip())
    name = found[-1][1].rstrip(".")  # `foo.{u}` names its universes
    return Statement(name, text[: tail.start()].rstrip() if tail else text.rstrip())


def without_comments(text: str) -> str:
    """The text with blanks in place of its comments, so that lines and columns stay.

    A comment that is never closed reaches to the end, as it does for Lean.
    """
    kept: list[str] = []
    at = 0
    while mark := _OPEN.search(text, at):
        end = _end_of_line(text, mark.end()) if mark[0] == "--" else _end_of_block(text, mark.end())
        kept += [text[at : mark.start()], _blank(text[mark.start() : end])]
        at = end
    return "".join(kept) + text[at:]


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _end_of_block(text: str, at: int) -> int:
    """Where a block comment ends; blocks nest."""
    depth = 1
    for mark in _NEST.finditer(text, at):
        depth += 1 if mark[0] == "/-" else -1
        if depth == 0:
            return mark.end()
    return len(text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def read_proof(answer: str, statement: Statement) -> str | Refused:
    """The proof in an answer: what follows its `:=`, where it restates the theorem; else all.

    It keeps its columns, for Lean reads indentation. What stands before the theorem is left out.
    """
    if len(answer) > MAX_PROOF:
        return Refused(f"an answer of {len(answer)} characters is not read")
    plain = without_comments(answer)
    found = [mark for mark in _DECLARED.finditer(plain) if mark[1].rstrip(".") == statement.name]
    start = 0
    if found:
        end = _end_of_claim(plain, found[-1].start(1), statement.claim)
        if end is None:
            return Refused("it proves another statement under this name")
        start = end
    proof = plain[start:]
    lead = len(proof) - len(proof.lstrip())
    if proof[lead:].startswith(":="):
        start, lead = start + lead + 2, 0
    elif found:
        return Refused("no `:=` follows the statement")
    proof = plain[start:]
    column = start - (plain.rfind("\n", 0, start) + 1)
    return objection(proof) or " " * column + proof.rstrip()


def _end_of_claim(text: str, start: int, claim: str) -> int | None:
    """Where the claim ends in the text, white space aside; None where the text says another."""
    at = 0
    for place in range(start, len(text)):
        if at == len(claim):
            return place
        if text[place].isspace():
            continue
        if text[place] != claim[at]:
            return None
        at += 1
    return len(text) if at == len(claim) else None


def objection(proof: str) -> Refused | None:
    """Why a proof is refused before Lean sees it; None where it may be tried."""
    if not proof.strip():
        return Refused("there is no proof")
    for sign, note in _FORBIDDEN_SIGNS.items():
        if sign in proof:
            return Refused(note)
    if _QUOTED_BRACKET.search(proof):
        return Refused("characters in quotes are not read")
    if _HASH_COMMAND.search(proof):
        return Refused("commands such as #eval are not allowed")
    words = sorted({*_WORD.findall(proof)} & REFUSED)
    if words:
        return Refused(f"{words[0]!r} is not allowed in a proof")
    return None if _is_balanced(proof) else Refused("its brackets do not match")


def _is_balanced(proof: str) -> bool:
    """Whether no bracket closes what it did not open: a proof cannot leave its parentheses."""
    stack: list[str] = []
    for sign in proof:
        if sign in "([{⟨⦃":
            stack.append(sign)
        elif sign in _BRACKETS and (not stack or stack.pop() != _BRACKETS[sign]):
            return False
    return not stack


@dataclass(frozen=True)
class File:
    """What Lean reads. Lines count from 1.

    statement_line: where the statement begins; print_line: where the axioms are asked for.
    """

    text: str
    statement_line: int
    print_line: int


def file_of(header: str, statement: Statement, proof: str) -> File:
    """Header, statement and proof as one file that ends with the question for its axioms."""
    head = f"{header.rstrip()}\n\n" if header.strip() else ""
    body = f"{head}{statement.text} := (\n{proof}\n)\n\n"
    return File(
        f"{body}#print axioms {statement.name}\n", head.count("\n") + 1, body.count("\n") + 1
    )
