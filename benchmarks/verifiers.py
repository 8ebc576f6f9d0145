"""Fuzzes the inline verifiers and prints what came of it.

    python -m benchmarks.verifiers                     100,000 grammar texts for each kind
    python -m benchmarks.verifiers 1000000 number      a million for one

Two processes share the texts. Times are a thread's own, so that what else runs does not count.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from statistics import median

from evenodds.bench.fuzz import GOLDS, Fuzzed, fuzz, fuzz_texts, fuzzed_kinds

PART = 25_000


def part(kind: str, seed: int, count: int) -> Fuzzed:
    return fuzz(kind, fuzz_texts(seed, count, GOLDS[kind][1]))


def main() -> int:
    parser = argparse.ArgumentParser("benchmarks.verifiers", description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100_000, help="texts for each kind")
    parser.add_argument("kinds", nargs="*", choices=[*fuzzed_kinds(), []], help="default: all")
    found = parser.parse_args()
    count, faults = found.count, 0
    print("kind           texts     faults  paid %  median ms  slowest ms  verdicts/s")
    with ProcessPoolExecutor(2) as pool:
        for kind in found.kinds or fuzzed_kinds():
            seeds = range(-(-count // PART))
            jobs = [pool.submit(part, kind, s, min(PART, count - s * PART)) for s in seeds]
            parts = [job.result() for job in jobs]
            texts, seconds = sum(p.texts for p in parts), sum(p.seconds for p in parts)
            bad = [fault for p in parts for fault in p.faults]
            faults += len(bad)
            slowest = max(parts, key=lambda p: p.slowest)
            middle = median(t for p in parts for t in p.times)
            share = 100 * sum(p.paid for p in parts) / texts
            print(
                f"{kind:<13} {texts:>9,} {len(bad):>6} {share:>9.1f} {1e3 * middle:>9.3f} "
                f"{1e3 * slowest.slowest:>11.1f} {texts / seconds:>11,.0f}",
                flush=True,
            )
            for why, text in bad[:10]:
                print(f"    {why}: {ascii(text)[:300]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
