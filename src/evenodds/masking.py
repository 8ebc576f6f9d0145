"""Secrets, known by the name of what holds them or by their shape, and a mask in their place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

MASK = "***"
SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:token|secret|passw(?:or)?d|passphrase|credentials?|auth|bearer|"
    r"(?:api|access|private|secret)[-_]?key)$",
    re.IGNORECASE,
)
SECRET_VALUE = re.compile(
    r"(?<=://)[^/@\s]+(?=@)"  # user and password in an address
    r"|\b(?:hf|gh[a-z]|github_pat|glpat|sk|pk|xox[abp]|AKIA|ASIA)[-_A-Z0-9][-\w]{14,}"
    r"|\b(?:npm|gsk|r8|dckr_pat|wandb_v\d)_[-\w]{16,}"
    r"|\b(?:AIza[-\w]{30,}|nvapi-[-\w]{20,}|pypi-[-\w]{40,})"
    r"|(?<=\bBearer )[-\w.~+/]{12,}=*"
    r"|\beyJ[-\w]{10,}\.[-\w]+\.[-\w]*"  # JSON web token
)
ADDRESS = re.compile(r"://(?!127\.0\.0\.1:)(?:(?!://)[^\s?'\"<>])+\?[^\s'\"<>]+")
"""With a query; but for the viewer's own, whose token is printed to be opened."""
PARAMETER = re.compile(
    r"([?&][^=&#]{0,60}(?:token|secret|sig|signature|key|credential|password|passwd|auth)=)[^&#]+",
    re.IGNORECASE,
)
SHORTEST = 6
SHORTEST_IN_TEXT = 8


def known_secrets(environment: Mapping[str, str] | None = None) -> list[str]:
    """Values of environment variables named like a secret, the longest first."""
    table = os.environ if environment is None else environment
    values = (value for name, value in table.items() if SECRET_NAME.search(name))
    return sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)


def known_in_text(environment: Mapping[str, str] | None = None) -> list[str]:
    """Those of them that no ordinary text holds by chance: a mask in it would only confuse."""
    found = known_secrets(environment)
    return [value for value in found if len(value) >= SHORTEST_IN_TEXT and not value.isdecimal()]


def masked(text: str, known: Sequence[str] = ()) -> str:
    """The text with *** for what has the shape of a secret, and for each of the known ones."""
    for value in known:
        text = text.replace(value, MASK)
    if "://" in text:
        text = ADDRESS.sub(lambda found: PARAMETER.sub(rf"\1{MASK}", found[0]), text)
    return SECRET_VALUE.sub(MASK, text)
