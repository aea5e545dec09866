#!/usr/bin/env python3
"""Break one thing at a time in sim/verify*.c and analysis/*.c, and see whether a test notices.

A mutant is a file with one token changed: an operator flipped, a boundary moved, a constant off by one, a condition negated, a
statement deleted. It is compiled against the release library in a scratch folder, with the tests of its own module, and run. A test
that fails, crashes or hangs kills it. What survives is printed with its line; what cannot be told from the original by any test stands,
with the reason, in tests/mutate/equivalent.txt. The tree is only read. Needs `make build/release/libspeclab.a`.
"""

import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EQUIVALENT = os.path.join(ROOT, "tests", "mutate", "equivalent.txt")
LIBRARY = os.path.join(ROOT, "build", "release", "libspeclab.a")
TIMEOUT = 20  # seconds; a run of one module's tests takes one or two

# Longest first. A token is replaced by each of its list.
OPERATORS = {
    "<=": ["<", ">"], ">=": [">", "<"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+=": ["-="], "-=": ["+="], "*=": ["/="], "/=": ["*="], "++": ["--"], "--": ["++"],
    "<": ["<=", ">="], ">": [">=", "<="], "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["*"],
}
UNTOUCHED = ["->", "<<=", ">>=", "<<", ">>", "..."]
TOKEN = re.compile(
    r"(?P<word>[A-Za-z_]\w*)|(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*)|(?P<op>"
    + "|".join(re.escape(op) for op in sorted(list(OPERATORS) + UNTOUCHED, key=len, reverse=True)) + r")|(?P<other>\S)")
TYPES = {"char", "int", "double", "float", "void", "size_t", "uint64_t", "uint32_t", "unsigned", "const", "restrict", "spec_rule",
         "spec_round", "spec_draft", "spec_chance", "spec_error", "spec_moments", "gsl_rng", "gsl_function", "gsl_root_fsolver"}


def blank(text, pattern, flags=re.S):
    """The text with matches turned to spaces, so that positions stay."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=flags)


def visible(text):
    """The text without comments, strings, directives, asserts and tables of text."""
    def hide(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', hide, text, flags=re.S)
    text = blank(text, r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
    text = blank(text, r"\b(?:assert|_Static_assert)\s*\([^;]*;")
    return text


def mutants_of(path):
    """(position, length, replacement, what) of every mutant of a file."""
    with open(path, encoding="ascii") as file:
        text = file.read()
    code = visible(text)
    tokens = [m for m in TOKEN.finditer(code)]
    depth = 0
    found = []
    for i, token in enumerate(tokens):
        kind, value = token.lastgroup, token.group(0)
        before = tokens[i - 1] if i else None
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        if value == "{":
            depth += 1
        elif value == "}":
            depth -= 1
        line = code.rfind("\n", 0, token.start()) + 1
        if depth == 0 and not code[line:].startswith(("static const", "enum", "const")):
            continue
        if kind == "op" and value in OPERATORS:
            binary = before is not None and (before.lastgroup in ("word", "number") or before.group(0) in ")]")
            if before is not None and before.group(0) == "return":
                binary = False
            if value in "*" and (not binary or before.group(0) in TYPES or (after and after.group(0) in ",)*")):
                continue
            if value == "-" and not binary:
                found.append((token.start(), 1, "", "sign"))
                continue
            if value in "+" and not binary:
                continue
            for other in OPERATORS[value]:
                found.append((token.start(), len(value), other, value + " to " + other))
        elif kind == "number":
            if re.fullmatch(r"\d+", value):
                for other in {int(value) + 1, max(0, int(value) - 1)} - {int(value)}:
                    found.append((token.start(), len(value), str(other), value + " to " + str(other)))
            elif re.fullmatch(r"\d+\.\d*", value):
                found.append((token.start(), len(value), repr(float(value) + 1), value + " plus 1"))
        elif kind == "word" and value in ("if", "while") and after and after.group(0) == "(":
            close, level = i + 1, 0
            while True:
                level += {"(": 1, ")": -1}.get(tokens[close].group(0), 0)
                if level == 0:
                    break
                close += 1
            start, end = after.end(), tokens[close].start()
            found.append((start, end - start, "!(" + text[start:end] + ")", "condition negated"))
        elif kind == "word" and value in ("break", "continue"):
            found.append((token.start(), len(value), "", value + " deleted"))
    # Statements that assign or call, and that declare nothing.
    for match in re.finditer(r"(?<=[;{})])(\s*)((?:[*(]|[a-z_])[\w.\[\]>*()\s,+-]*?(?:[-+*/|]?=(?!=)|\()[^;{}]*);", code):
        statement = match.group(2)
        if not re.match(r"(?:\*|\(\*)?[a-z_][\w.\->\[\]* +]*?(?:\s*[-+*/|]?=(?!=)|\()", statement):
            continue
        first = re.match(r"\w*", statement.lstrip("*(")).group(0)
        if first in TYPES | {"if", "for", "while", "return", "else", "switch", "case", "static", "struct", "typedef", "goto"}:
            continue
        if re.match(r"[a-z_]\w*\s+\**[a-z_]", statement) or code.count("{", 0, match.start(2)) == code.count("}", 0, match.start(2)):
            continue
        if re.match(r"\.\w", statement):
            continue
        found.append((match.start(2), len(statement), "", "statement deleted"))
    return text, sorted(set(found))


def describe(path, text, mutant):
    position, length, replacement, what = mutant
    number = text.count("\n", 0, position) + 1
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position + length)
    old = " ".join(text[start:end].split())
    new = " ".join((text[start:position] + replacement + text[position + length:end]).split())
    return {"path": path, "line": number, "what": what, "old": old, "new": new}


def programs_of(path):
    """The test programs that belong to a module."""
    folder, module = os.path.dirname(path), os.path.splitext(os.path.basename(path))[0]
    wanted = [f"tests/{folder}/test_{module}.c"]
    if module.startswith("verify"):
        wanted += ["tests/sim/test_losslessness.c"] + sorted(
            os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "tests/sim/test_verify*.c")))
    return [p for p in dict.fromkeys(wanted) if os.path.exists(os.path.join(ROOT, p))]


def run(command, **more):
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


class Bench:
    """One scratch folder: the test programs compiled once, a mutant compiled and linked before each run."""

    def __init__(self, scratch, path):
        libraries = ["gsl", "libconfig", "jansson"]
        self.path, self.scratch = path, scratch
        self.flags = ["-std=c11", "-O1", "-w", "-fopenmp", "-ffp-contract=off", "-D_GNU_SOURCE", '-DSPEC_VERSION="mutant"', "-Iinclude",
                      "-I."] + subprocess.check_output(["pkg-config", "--cflags"] + libraries, text=True).split()
        self.libs = subprocess.check_output(["pkg-config", "--libs"] + libraries, text=True).split() + ["-lcmocka", "-lm"]
        self.tests = []
        self.support = []
        for source in sorted(glob.glob(os.path.join(ROOT, "tests/support/*.c"))):
            self.support.append(self.compile(os.path.relpath(source, ROOT)))
        for source in programs_of(path):
            self.tests.append(self.compile(source))
        # The library without this module: the archive must not offer a second, healthy copy.
        self.library = os.path.join(scratch, "libwithout.a")
        shutil.copy(LIBRARY, self.library)
        subprocess.run(["ar", "d", self.library, os.path.splitext(os.path.basename(path))[0] + ".o"], check=True)

    def compile(self, source):
        target = os.path.join(self.scratch, source.replace("/", "_") + ".o")
        done = run(["gcc"] + self.flags + ["-c", "-o", target, source])
        if done.returncode != 0:
            sys.exit(f"mutate: {source} does not compile:\n" + done.stdout.decode(errors="replace"))
        return target

    def verdict(self, text, name):
        """survived, killed, or stillborn (does not compile)."""
        source, binary = (os.path.join(self.scratch, name + end) for end in (".c", ""))
        with open(source, "w", encoding="ascii") as file:
            file.write(text)
        try:
            if run(["gcc"] + self.flags + ["-c", "-o", source + ".o", source]).returncode != 0:
                return "stillborn"
            for test in self.tests:
                linked = run(["gcc", "-fopenmp", "-o", binary, test] + self.support + [source + ".o", self.library] + self.libs)
                if linked.returncode != 0:
                    return "stillborn"
                try:
                    environment = dict(os.environ, OMP_NUM_THREADS="1")
                    environment.pop("SPEC_TEST_LONG", None)
                    if run([binary], timeout=TIMEOUT, env=environment).returncode != 0:
                        return "killed"
                except subprocess.TimeoutExpired:
                    return "killed"
            return "survived"
        finally:
            for leftover in (source, source + ".o", binary):
                if os.path.exists(leftover):
                    os.unlink(leftover)


def known_equivalents():
    """Lines `file | old line | new line | reason`, spaces collapsed."""
    known = {}
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding="ascii") as file:
            for line in file:
                if line.strip() and not line.startswith("#"):
                    path, old, new, reason = (part.strip() for part in line.split(" @ "))
                    known[path, old, new] = reason
    return known


def main():
    parser = argparse.ArgumentParser(description="Mutation score of sim/verify*.c and analysis/*.c.")
    parser.add_argument("--file", action="append", help="only this source (repeat for more)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument("--max", type=int, default=0, help="at most this many of a file, evenly spread")
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    options = parser.parse_args()

    paths = options.file or sorted(
        os.path.relpath(p, ROOT) for pattern in ("sim/verify*.c", "analysis/*.c") for p in glob.glob(os.path.join(ROOT, pattern)))
    if not options.list and not os.path.exists(LIBRARY):
        sys.exit("mutate: build the library first: make build/release/libspeclab.a")
    equivalents, met = known_equivalents(), set()
    total = killed = equal = 0
    for path in paths:
        text, mutants = mutants_of(os.path.join(ROOT, path))
        if options.max and len(mutants) > options.max:
            mutants = [mutants[i * len(mutants) // options.max] for i in range(options.max)]
        if options.list:
            for mutant in mutants:
                said = describe(path, text, mutant)
                print(f"{path}:{said['line']}: {said['what']}\n  - {said['old']}\n  + {said['new']}")
            continue
        if not mutants:
            continue
        if not programs_of(path):
            print(f"{path}: no test program, {len(mutants)} mutants not run", flush=True)
            continue
        with tempfile.TemporaryDirectory(prefix="speclab-mutate-") as scratch:
            bench = Bench(scratch, path)
            if bench.verdict(text, "healthy") != "survived":
                sys.exit(f"mutate: {path}: the tests fail without a mutation")

            def judge(numbered):
                number, mutant = numbered
                position, length, replacement, _ = mutant
                return mutant, bench.verdict(text[:position] + replacement + text[position + length:], f"mutant{number}")

            file_total = file_killed = 0
            with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
                for mutant, verdict in pool.map(judge, enumerate(mutants)):
                    if verdict == "stillborn":
                        continue
                    said = describe(path, text, mutant)
                    key = (path, said["old"], said["new"])
                    if verdict == "survived" and key in equivalents:
                        equal += 1
                        met.add(key)
                        continue
                    file_total += 1
                    if verdict == "killed":
                        file_killed += 1
                    else:
                        print(f"{path}:{said['line']}: survived: {said['what']}\n  - {said['old']}\n  + {said['new']}", flush=True)
            print(f"{path}: killed {file_killed} of {file_total}", flush=True)
            total += file_total
            killed += file_killed
    if options.list:
        return 0
    if total:
        print(f"killed {killed} of {total}, {100 * killed / total:.1f} % ({equal} equivalent, tests/mutate/equivalent.txt)")
    return 0 if killed == total else 1


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
