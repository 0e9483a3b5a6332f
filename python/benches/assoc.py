"""The scaling tests of the D4M papers: construct, add, multiply, with n keys and 8 n triples.

    python python/benches/assoc.py                    # ours alone
    python python/benches/assoc.py --d4m ~/D4M.py     # and D4M.py from that folder, and ratios

D4M.py is not on a package index and no part of this repository. Get it with
`git clone https://github.com/Accla/D4M.py`; it needs scipy, matplotlib, py4j, setuptools and
python-graphblas. Keys are numbers from 1 to n as text; numeric construction has the value 1, string
construction has values of the same kind as the keys.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import json
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from ostrakon import Assoc, HierAssoc

TESTS = ("construct numeric", "construct string", "add", "matrix product", "elementwise product")


def triples(n, seed):
    random = np.random.default_rng(seed)
    return [random.integers(1, n + 1, 8 * n).astype(str) for _ in range(3)]


def operations(make, n):
    """Closures for the five tests over one library; they return the result."""
    row, col, val = triples(n, 1)
    row2, col2, _ = triples(n, 2)
    one = make(row, col, np.ones(8 * n))
    two = make(row2, col2, np.ones(8 * n))
    return {
        "construct numeric": lambda: make(row, col, np.ones(8 * n)),
        "construct string": lambda: make(row, col, val),
        "add": lambda: one + two,
        "matrix product": lambda: one @ two,
        "elementwise product": lambda: one * two,
    }


def seconds(function, rounds):
    taken = []
    for _ in range(rounds):
        gc.collect()
        begun = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):  # D4M.py prints as it computes
            result = function()
        taken.append(time.perf_counter() - begun)
        del result
    return statistics.median(taken)


def load_d4m(folder):
    if not (Path(folder) / "D4M" / "assoc.py").is_file():
        sys.exit(
            f"{folder} holds no D4M.py: git clone https://github.com/Accla/D4M.py, "
            "then give its folder to --d4m"
        )
    sys.path.insert(0, str(folder))
    warnings.simplefilter("ignore")
    import D4M.assoc

    return D4M.assoc.Assoc


def check(ours, theirs):
    """The same entries on a small case, so that what is timed is the same work."""
    mine = operations(ours, 64)
    other = operations(theirs, 64)
    for test in TESTS:
        with contextlib.redirect_stdout(io.StringIO()):
            one, two = mine[test](), other[test]()
        here = {(str(r), str(c)): v for r, c, v in one}
        there = {(str(r), str(c)): v for r, c, v in zip(*two.find(), strict=True)}
        if here != there:
            sys.exit(f"{test}: the two libraries disagree")


def stream(updates, batch):
    """Updates a second into a hierarchical array."""
    random = np.random.default_rng(3)
    # Power-law vertices, as streams of network traffic have them.
    rows = (random.pareto(1.2, updates) * 1000).astype(np.int64) % 1_000_000
    cols = (random.pareto(1.2, updates) * 1000).astype(np.int64) % 1_000_000
    hierarchy = HierAssoc()
    begun = time.perf_counter()
    for start in range(0, updates, batch):
        part = slice(start, start + batch)
        hierarchy.update(rows[part], cols[part], 1)
    rate = updates / (time.perf_counter() - begun)
    assert hierarchy.total().sum() == updates
    return rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--d4m", help="folder of D4M.py")
    parser.add_argument("--scales", default="10,12,14,16,17,18", help="exponents of n")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tests", default=",".join(TESTS))
    parser.add_argument("--stream", type=int, default=0, help="updates for the hierarchical array")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    theirs = load_d4m(options.d4m) if options.d4m else None
    if theirs:
        check(Assoc, theirs)
    if not options.json:
        print(
            f"{'n':>8} {'test':<20} {'ours, s':>10}"
            + (f" {'D4M.py, s':>10} {'ratio':>7}" * bool(theirs))
        )
    for exponent in (int(scale) for scale in options.scales.split(",") if scale):
        n = 2**exponent
        ours = operations(Assoc, n)
        with contextlib.redirect_stdout(io.StringIO()):
            other = operations(theirs, n) if theirs else None
        for test in options.tests.split(","):
            rounds = options.rounds if exponent > 12 else 10 * options.rounds
            mine = seconds(ours[test], rounds)
            line = {"n": n, "test": test, "ours_s": mine}
            text = f"{n:>8} {test:<20} {mine:>10.5f}"
            if other:
                slow = seconds(other[test], min(rounds, 3) if exponent > 12 else rounds)
                line |= {"d4m_s": slow, "ratio": slow / mine}
                text += f" {slow:>10.5f} {slow / mine:>7.1f}"
            print(json.dumps(line) if options.json else text, flush=True)
    if options.stream:
        rate = stream(options.stream, 1 << 17)
        print(
            json.dumps({"stream_updates_s": rate})
            if options.json
            else f"stream: {rate:,.0f} updates/s"
        )


if __name__ == "__main__":
    main()
