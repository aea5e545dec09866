#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mutation testing: does a test notice each changed token?

A mutant is a file with one token changed: an operator flipped, a boundary moved, a constant off by
one, a condition negated, a statement deleted. A test that fails, crashes or hangs kills it.
Survivors are printed with their line. tests/mutate/equivalent.txt lists those that no test can tell
from the original, with the reason. The source tree is only read. Needs `make tests`.

By default, all mutants of sim/verify/verify*.c and analysis/ run with the tests of their module,
first plainly and then under the sanitizers. With --sample, some mutants of every folder run with
all tests that reach the mutated function (reach.py), the module's own test first.
"""

import argparse
import collections
import concurrent.futures
import glob
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import reach
from mutants import describe, listed_mutants, mutants_of, mutated, tokens_of, visible

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EQUIVALENT = os.path.join(ROOT, "tests", "mutate", "equivalent.txt")
BUILD = os.path.join(ROOT, "build", "release")
LIBRARY = os.path.join(BUILD, "libspeclab.a")
LONGEST_TEST = 120  # seconds of processor time, until a healthy run has said how long it takes
FOLDERS = "base models sim analysis experiments tools api cli".split()
FEWEST = 10  # mutants of a folder in a sample
COMPILING = threading.Lock()  # an object that several mutants need
MOST_SLOW = 4  # of the tests that take longer than reach.SLOWEST: those that enter least
LONGEST = 120  # seconds of tests that a survivor must pass, in their healthy times
PLAIN = ["-O1"]
SANITIZED = [
    "-O1",
    "-g",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-ftrivial-auto-var-init=pattern",
]


def show(said, verdict=""):
    print(f"{said['path']}:{said['line']}: {verdict}{said['what']} in {said['function']}")
    print(f"  - {said['old']}\n  + {said['new']}", flush=True)


def score(count):
    killed, equal, alive = (
        count["killed"] + count["sanitized"],
        count["equivalent"],
        count["survived"],
    )
    return (
        f"killed {killed} of {killed + equal + alive}, "
        f"{count['sanitized']} of them under the sanitizers; "
        f"{equal} equivalent, {alive} survived"
    )


def programs_of(path):
    """The test programs that belong to a module, the quickest first.

    The kernels product_k_avx2 are tested by test_product.
    """
    folder, module = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    words = module.split("_")
    names = ["_".join(words[:n]) for n in range(len(words), 0, -1)]
    tests = [f"tests/{folder}/test_{name}.c" for name in names]
    wanted = [test for test in tests if os.path.exists(os.path.join(ROOT, test))][:1]
    if module.startswith("verify"):
        wanted += sorted(
            os.path.relpath(p, ROOT)
            for p in glob.glob(os.path.join(ROOT, "tests/sim/verify/test_verify*.c"))
        )
        wanted += ["tests/sim/test_losslessness.c"]
    return [p for p in dict.fromkeys(wanted) if os.path.exists(os.path.join(ROOT, p))]


def run(command, **more):
    quiet = {stream: subprocess.DEVNULL for stream in ("stdin", "stdout", "stderr")}
    return subprocess.run(command, cwd=ROOT, **quiet, **more).returncode


class Bench:
    """The test programs of one module.

    A mutant's object precedes the release archive in the link, so its healthy copy is not linked.
    A survivor runs once more with the module and its tests under the sanitizers, as `make sanitize`
    runs them, and with locals filled with a pattern. That shows reads out of bounds, leaks, and
    values never written.
    """

    def __init__(self, scratch, path, objects=None, machine=()):
        def packages(what):
            names = ["gsl", "jansson", "libpcre2-8", "zlib"]
            return subprocess.check_output(["pkg-config", what, *names], text=True).split()

        self.scratch = scratch
        self.flags = [
            "-std=c11",
            "-w",
            "-fopenmp",
            "-ffp-contract=off",
            "-D_GNU_SOURCE",
            '-DSPEC_VERSION="mutant"',
            "-Iinclude",
            "-I.",
        ] + packages("--cflags")
        self.libs = packages("--libs") + ["-lcmocka", "-lm"]
        self.programs = programs_of(path)
        self.support = sorted(
            os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "tests/support/*.c"))
        )
        self.objects, self.limits = {} if objects is None else objects, {}
        self.machine = list(machine)  # the module's instruction set

    def object(self, source, stage):
        """The object of a test source: of the release build, or sanitized, compiled once."""
        if stage == PLAIN:
            return os.path.join(BUILD, os.path.splitext(source)[0] + ".o")
        with COMPILING:
            if source not in self.objects:
                target = os.path.join(self.scratch, source.replace("/", "_") + ".o")
                if run(["gcc"] + self.flags + stage + ["-c", "-o", target, source]) != 0:
                    sys.exit(f"mutate: {source} does not compile")
                self.objects[source] = target
            return self.objects[source]

    def verdict(self, text, name, stages, healthy=False):
        """survived, killed, sanitized (killed by a sanitizer only), or stillborn (no compile)."""
        source, binary = (os.path.join(self.scratch, name + end) for end in (".c", ""))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            for number, stage in enumerate(stages):
                flags = self.flags + self.machine + stage
                if run(["gcc"] + flags + ["-c", "-o", source + ".o", source]) != 0:
                    return "stillborn"
                for program in self.programs:
                    tests = [self.object(one, stage) for one in [program] + self.support]
                    objects = tests + [source + ".o", LIBRARY]
                    if run(["gcc", "-fopenmp"] + stage + ["-o", binary] + objects + self.libs) != 0:
                        return "stillborn"
                    limit = self.limits.get((program, number), LONGEST_TEST)
                    failed, seconds = reach.fails([binary], limit, stage != PLAIN)
                    if failed:
                        return "sanitized" if number else "killed"
                    if healthy:
                        self.limits[program, number] = 2 + 10 * seconds
            return "survived"
        finally:
            for leftover in (source, source + ".o", binary):
                if os.path.exists(leftover):
                    os.unlink(leftover)


def known_equivalents():
    """The list's entries `file function @ old line @ new line @ reason`, with single spaces."""
    known = {}
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding="ascii") as file:
            for number, line in enumerate(file, 1):
                if line.strip() and not line.startswith("#"):
                    parts = [part.strip() for part in line.split(" @ ")]
                    if len(parts) != 4 or len(parts[0].split()) != 2 or not parts[3]:
                        sys.exit(
                            f"{EQUIVALENT}:{number}: write: file function @ old @ new @ reason"
                        )
                    if tuple(parts[:3]) in known:
                        sys.exit(f"{EQUIVALENT}:{number}: listed twice")
                    known[tuple(parts[:3])] = number
    return known


def sample_of(seed, n):
    """For each folder: how many mutants are wanted, and all of its mutants in a random order.

    The order comes from hashes, so that a change elsewhere does not change what is drawn.
    """
    commands = reach.commands()
    order = collections.defaultdict(list)
    for path in reach.sources(FOLDERS):
        if path.endswith(("_neon.c", "_dotprod.c")) or path not in commands.compile:
            continue
        if path.startswith("tools/live/"):  # its tests ask servers, for minutes
            continue
        text, mutants = mutants_of(os.path.join(ROOT, path))
        seen = collections.Counter()
        for mutant in mutants:
            start, end = text.rfind("\n", 0, mutant[0]), text.find("\n", mutant[0] + mutant[1])
            key = (seed, path, mutant[2], mutant[3], text[start:end], mutant[0] - start)
            seen[key] += 1
            digest = hashlib.sha256(repr((key, seen[key])).encode()).digest()
            order[path.split("/")[0]].append((digest, path, mutant))
    total = sum(len(mutants) for mutants in order.values())
    wanted = {f: max(FEWEST, round(n * len(order[f]) / total)) for f in FOLDERS}
    wanted[max(wanted, key=wanted.get)] += n - sum(wanted.values())
    return wanted, {folder: sorted(mutants) for folder, mutants in order.items()}


class Whole:
    """All tests, with a library and a program that contain one mutated object."""

    def __init__(self, scratch, jobs):
        self.scratch = scratch
        self.commands = reach.commands()
        self.tests, self.reached = reach.recorded(jobs)
        self.passes, self.sanitized, self.lock = {}, {}, threading.Lock()
        self.healthy = reach.prepare(os.path.join(scratch, "healthy"))
        for programs in (False, True):
            path = "base/bytes.c"
            reach.relink(self.commands, path, reach.object_of(path), self.healthy, programs)

    def tests_for(self, path, function):
        """Tests that reach a function, the module's own first, then the quickest first."""
        names = self.reached.get((path, function))
        if names is None and ("", function) not in self.reached:
            names = self.reached.get((path, "*"))  # a table, or a function that a macro makes
        own = next((os.path.splitext(program)[0] for program in programs_of(path)), None)
        links = lambda test: reach.object_of(path) in self.commands.link.get(test.program, [])
        some = [t for n, t in self.tests.items() if n in (names or []) or links(t) or n == own]
        ordered = sorted(some, key=lambda test: (test.name != own, test.seconds))
        chosen = [test for test in ordered if test.name == own]
        for test in ordered[len(chosen) :]:
            if not test.slow and sum(one.seconds for one in chosen) + test.seconds <= LONGEST:
                chosen.append(test)
        slow = [test for test in ordered if test.slow and test not in chosen]
        slow.sort(key=lambda test: test.entered)
        return chosen + slow[:MOST_SLOW]

    def object(self, folder, path, text):
        """Compiles a text as the release build compiles a source, without debug data."""
        source, target = os.path.join(folder, "source.c"), os.path.join(folder, "object.o")
        with open(source, "w", encoding="utf-8") as file:
            file.write(f'#line 1 "{path}"\n{text}')
        if run(self.commands.compile[path] + ["-O2", "-g0", "-w", "-o", target, source]) != 0:
            return None
        with open(target, "rb") as file:
            return file.read()

    def sound(self, test):
        """Whether a test passes without a mutation; asked once it has failed with one."""
        with self.lock:
            if test.name not in self.passes:
                limit, above = 5 + 10 * test.seconds, self.scratch
                failed, _ = reach.run_test(test, self.healthy, limit, TMPDIR=above)
                self.passes[test.name] = not failed
                if not self.passes[test.name]:
                    print(f"mutate: {test.name} fails without a mutation, too: left out")
            return self.passes[test.name]

    def verdict(self, path, function, text, broken):
        """A word of judgement, the test that kills the mutant, and the number of tests.

        killed; sanitized (killed by a sanitizer only, in the module's own test); survived;
        unreached (by no test); same (it compiles to the same code); stillborn (no compile).
        """
        tree = tempfile.mkdtemp(dir=self.scratch)
        try:
            folder = reach.prepare(tree)
            code, tests = self.object(folder, path, broken), self.tests_for(path, function)
            if code is None:
                return "stillborn", "-", 0
            changed, moved = os.path.join(folder, "object.o"), None
            reach.relink(self.commands, path, changed, folder, False)
            for test in tests:
                if moved is None and (test.runs_speclab or path.startswith("cli/")):
                    moved = reach.relink(self.commands, path, changed, folder, True)
                limit, program = 5 + 10 * test.seconds, (moved or {}).get(test.program)
                failed, _ = reach.run_test(test, folder, limit, program, TMPDIR=tree)
                if failed and self.sound(test):
                    return "killed", test.name, len(tests)
            if self.object(folder, path, text) == code:
                return "same", "-", len(tests)
            machine = [flag for flag in self.commands.compile[path] if flag.startswith("-m")]
            bench = Bench(self.scratch, path, self.sanitized, machine)
            if tests and bench.programs:
                name = os.path.basename(tree) + "-sanitized"
                if bench.verdict(text, name, [SANITIZED], healthy=True) != "survived":
                    print(f"mutate: {path}: its test fails under the sanitizers: left out")
                elif bench.verdict(broken, name, [SANITIZED]) == "killed":
                    return "sanitized", "-", len(tests)
            return "survived" if tests else "unreached", "-", len(tests)
        finally:
            shutil.rmtree(tree)


def sampled(options, equivalents):
    """Judge a sample of all folders. The results file is the journal of an interrupted run."""
    fields = ("path", "line", "function", "what", "old", "new", "verdict", "killer", "tests")
    wanted, order = sample_of(options.seed, options.sample)
    done = {}
    if os.path.exists(options.results):
        with open(options.results, encoding="utf-8") as file:
            for line in file:
                said = dict(zip(fields, line.rstrip("\n").split("\t")))
                done[tuple(list(said.values())[:6])] = said
    counts, survivors = collections.defaultdict(collections.Counter), []
    with tempfile.TemporaryDirectory(prefix="speclab-mutate-") as scratch:
        bench = Whole(scratch, options.jobs)

        def judge(drawn):
            _, path, mutant = drawn
            text, _ = mutants_of(os.path.join(ROOT, path))
            code = visible(text)
            said = {k: str(v) for k, v in describe(path, text, code, mutant).items()}
            if tuple(said.values()) in done:
                return done[tuple(said.values())]
            broken = mutated(text, mutant)
            if listed_mutants(path, text, code, equivalents).get(tuple(tokens_of(broken)[0])):
                verdict = "equivalent", "-", 0
            else:
                verdict = bench.verdict(path, said["function"], text, broken)
            said.update(zip(fields[6:], map(str, verdict)))
            with open(options.results, "a", encoding="utf-8") as file:
                file.write("\t".join(said[field] for field in fields) + "\n")
            return said

        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            while any(wanted.values()):  # a mutant that does not compile is replaced
                batch = sorted(d for folder in FOLDERS for d in order[folder][: wanted[folder]])
                for folder in FOLDERS:
                    order[folder], wanted[folder] = order[folder][wanted[folder] :], 0
                for said in pool.map(judge, batch):
                    folder = said["path"].split("/")[0]
                    counts[folder][said["verdict"]] += 1
                    wanted[folder] += said["verdict"] == "stillborn"
                    if said["verdict"] in ("survived", "unreached"):
                        show(said, said["verdict"] + ": ")
    total = sum(counts.values(), collections.Counter())
    for folder, count in list(counts.items()) + [("total", total)]:
        alive, killed = count["survived"] + count["unreached"], count["killed"] + count["sanitized"]
        print(
            f"{folder:12} killed {killed} of {killed + alive}, {count['sanitized']} sanitized; "
            f"survived {count['survived']}, not reached {count['unreached']}, "
            f"equivalent {count['equivalent']}, same code {count['same']}"
        )
    return 1 if total["survived"] + total["unreached"] else 0


def judged(path, jobs, equivalents):
    """Run the mutants of one file: counts of verdicts, and the list's lines without a match."""
    text, mutants = mutants_of(os.path.join(ROOT, path))
    code = visible(text)
    if not mutants:
        return collections.Counter(), []
    if not programs_of(path):
        sys.exit(f"mutate: {path} has no test program")
    count, unmet = collections.Counter(), {key for key in equivalents if key[0].split()[0] == path}
    listed = listed_mutants(path, text, code, equivalents)
    shows = sys.stderr.isatty()
    with tempfile.TemporaryDirectory(prefix="speclab-mutate-") as scratch:
        bench = Bench(scratch, path)
        if bench.verdict(text, "healthy", [PLAIN, SANITIZED], healthy=True) != "survived":
            sys.exit(f"mutate: {path}: the tests fail without a mutation")

        def judge(numbered):
            number, mutant = numbered
            broken = mutated(text, mutant)
            return mutant, bench.verdict(broken, f"mutant{number}", [PLAIN, SANITIZED])

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for number, (mutant, verdict) in enumerate(pool.map(judge, enumerate(mutants)), 1):
                if shows:
                    print(
                        f"\r{path}: {number} of {len(mutants)} ",
                        end="",
                        file=sys.stderr,
                        flush=True,
                    )
                said = describe(path, text, code, mutant)
                keys = listed.get(tuple(tokens_of(mutated(text, mutant))[0]))
                if verdict == "survived" and keys:
                    verdict = "equivalent"
                    unmet -= keys
                count[verdict] += 1
                if verdict == "survived":
                    show(said, verdict + ": ")
    if shows:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return count, sorted(equivalents[key] for key in unmet)


def main():
    parser = argparse.ArgumentParser(
        description="Mutation score of sim/verify/verify*.c and analysis/, or of a sample of all."
    )
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants of all folders")
    parser.add_argument("--seed", type=int, default=42, help="draws another sample (42)")
    parser.add_argument(
        "--results",
        default=os.path.join(BUILD, "mutants.tsv"),
        help="verdicts of a sample; those already there are kept (build/release/mutants.tsv)",
    )
    parser.add_argument("--file", action="append", help="only this source (repeat for more)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    options = parser.parse_args()

    paths = options.file or sorted(
        os.path.relpath(p, ROOT)
        for pattern in ("sim/verify/verify*.c", "analysis/**/*.c")
        for p in glob.glob(os.path.join(ROOT, pattern), recursive=True)
    )
    if options.list:
        for path in paths:
            text, mutants = mutants_of(os.path.join(ROOT, path))
            for mutant in mutants:
                said = describe(path, text, visible(text), mutant)
                show(said)
        return 0
    if not os.path.exists(LIBRARY):
        sys.exit("mutate: build the library and the tests first: make tests")
    if run(["gcc"] + SANITIZED + ["-fsyntax-only", "-xc", "/dev/null"]) != 0:
        SANITIZED.remove("-ftrivial-auto-var-init=pattern")  # before gcc 12
    equivalents = known_equivalents()
    if options.sample:
        return sampled(options, equivalents)
    idle = [
        number
        for key, number in equivalents.items()
        if not os.path.exists(os.path.join(ROOT, key[0].split()[0]))
    ]
    total = collections.Counter()
    for number, path in enumerate(paths, 1):
        began = time.monotonic()
        count, unmet = judged(path, options.jobs, equivalents)
        total += count
        idle += unmet
        print(
            f"{number:2}/{len(paths)} {path}: {score(count)} ({time.monotonic() - began:.0f} s)",
            flush=True,
        )
    for number in sorted(idle):
        print(
            f"tests/mutate/equivalent.txt:{number}: warning: matches no mutant that survives",
            flush=True,
        )
    print(score(total) + " (tests/mutate/equivalent.txt)")
    return 0 if not total["survived"] and not idle else 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
