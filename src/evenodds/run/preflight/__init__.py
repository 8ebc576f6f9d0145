"""The preflight: mistakes that are found before the hours are spent, each with its remedy.

A check is a function in the file of what it looks at, and a line in `CHECKS` of `checks`:

- the model: `ending` what ends an answer, `asking` how a problem is put to it, `weights`, `ratio`
  log-probabilities by all ways, `neutral` whether anything bends what is drawn
- the task: `golds` right answers on the whole path, `problems` enough of them, and sound,
  `copying` none that stands in its own prompt
- the settings: `arithmetic` what they come to together, `tuning` of optimizer and objective
- what it takes: `budget` tokens of an answer, `fits` memory and disk, `pace` time
- what there is to learn: `signal`

`ground` is all that they may look at; `probing`, `trial` and `answers` draw and read answers for
it. `doctor` makes everything and asks all of them; `start` is what `train` asks.

This file imports nothing, so that settings and command line stay light.
"""
