"""The one place that writes what must survive: kill it anywhere, the last good state is there.

A file or folder is made beside its target under a temporary name, brought to the disk, and
renamed; a folder carries a manifest with the size and SHA-256 of every file, written last.
Whatever the system refuses is a RunError of one line with the path and what was needed.
"""

from evenodds.run.durable.disk import (
    ASIDE,
    TEMPORARY,
    make_folder,
    remove_file,
    temporary,
    told,
    write_file,
)
from evenodds.run.durable.folders import commit_folder, recover
from evenodds.run.durable.log import AppendLog
from evenodds.run.durable.manifest import FORMAT, MANIFEST, is_ours, verify_folder
from evenodds.run.durable.store import numbered, prune, valid_folders

__all__ = [
    "ASIDE",
    "FORMAT",
    "MANIFEST",
    "TEMPORARY",
    "AppendLog",
    "commit_folder",
    "is_ours",
    "make_folder",
    "numbered",
    "prune",
    "recover",
    "remove_file",
    "temporary",
    "told",
    "valid_folders",
    "verify_folder",
    "write_file",
]
