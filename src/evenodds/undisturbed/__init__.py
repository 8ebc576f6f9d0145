"""A person's own code in our process: what it changes there is put back, and told.

A run has to come to the same bits whatever a verifier does beside its answer. So what decides bits,
files and streams is read before a person's code is called, and compared afterwards. What cannot be
put back, such as a process that is left or memory that is written to, wants a worker process:
docs/judge.md has the table.

Read `around` first, which has the two blocks. What they put back: `of_python`, `of_torch`,
`of_process`, each a row of `part`s, and `streams`. What they say of it: `telling`.
"""

from evenodds.undisturbed.around import end_child_of, kept, loaded, undisturbed

__all__ = ["end_child_of", "kept", "loaded", "undisturbed"]
