"""One module a command, each with a `main(arguments)` that returns the exit code."""
