"""The one place that writes what must survive: kill it anywhere, the last good state is there.

A file or folder is made beside its target under a temporary name, brought to the disk, and
renamed; a folder carries a manifest with the size and SHA-256 of every file, written last; the
files of a folder that grows have seals, and its logs are known by the SHA-256 of their beginning.
Whatever the system refuses is a RunError of one line with the path and what was needed.
"""

from evenodds.durable.disk import (
    ASIDE,
    TEMPORARY,
    make_folder,
    remove,
    remove_file,
    temporary,
    told,
    told_below,
    write_file,
)
from evenodds.durable.folders import commit_folder, recover
from evenodds.durable.log import AppendLog, Running, Start
from evenodds.durable.manifest import (
    FORMAT,
    MANIFEST,
    fault_of,
    is_ours,
    sums_of,
    verify_folder,
)
from evenodds.durable.seals import SEALS, Fault, Seals, sha256
from evenodds.durable.store import numbered, prune, valid_folders

__all__ = [
    "ASIDE",
    "FORMAT",
    "MANIFEST",
    "SEALS",
    "TEMPORARY",
    "AppendLog",
    "Fault",
    "Running",
    "Seals",
    "Start",
    "commit_folder",
    "fault_of",
    "is_ours",
    "make_folder",
    "numbered",
    "prune",
    "recover",
    "remove",
    "remove_file",
    "sha256",
    "sums_of",
    "temporary",
    "told",
    "told_below",
    "valid_folders",
    "verify_folder",
    "write_file",
]
