"""The experiments of `evenodds lab`, one file each."""
