"""Model folders of a stranger, each wrong or hostile in one way, by name; a file for each kind.

The files are those of `policies/vetted`, each of which looks at what is made here.
"""

from tests.hostile.folders import adapters, configs, files, tokenizers, weights
from tests.hostile.folders.place import HARMLESS, REFUSED, Change, Place, make

__all__ = [
    "HARMLESS",
    "REFUSED",
    "Change",
    "Place",
    "adapters",
    "configs",
    "files",
    "make",
    "tokenizers",
    "weights",
]
