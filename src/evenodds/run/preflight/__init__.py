"""The preflight: mistakes that are found before the hours are spent, each with its remedy.

The names of checks, `examine` and `require` are in `checks`; this file imports nothing, so that
settings and command line stay light.
"""
