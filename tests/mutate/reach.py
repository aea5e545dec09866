# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests enter which functions, and how to build a library with one changed object.

A test is a file tests/<folder>/test_<module>.c. The library and the program are built once more in
build/reach, with reach.c in them, and each test runs with them. build/reach/reach.jsonl records it.
"""

import concurrent.futures
import glob
import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE, REACH = "build/release", "build/reach"
MODULES = {"libspeclab.so": 0, "speclab": 1 << 25}  # where its bytes begin in the map
SLOWEST = 40  # seconds, with reach.c: one that takes longer is cut off, and runs last
SLEEP = 100  # seconds of wall time that a test may take beyond twenty times its processor time


def sources(folders):
    paths = (glob.glob(f"{folder}/**/*.c", root_dir=ROOT, recursive=True) for folder in folders)
    return sorted(path for found in paths for path in found)


def fails(command, seconds, sanitized=False, **more):
    """Whether a command fails, and its seconds of processor time. Kills what it leaves running.

    Above a limit in such seconds it fails, and far above it in wall time, for those that hang.
    """
    environment = dict(os.environ, OMP_NUM_THREADS="1", MALLOC_PERTURB_="165", **more)
    environment.pop("SPEC_TEST_LONG", None)
    room = "ulimit -v 40000000"
    if sanitized:  # the address sanitizer maps terabytes
        room, environment["ASAN_OPTIONS"] = ":", "hard_rss_limit_mb=8000"
    guard = f"ulimit -c 0; ulimit -t {math.ceil(seconds)}; {room}; ulimit -f 24000000"
    shell = ["/bin/sh", "-c", f'{guard}; exec "$0" "$@"'] + command
    quiet = {stream: subprocess.DEVNULL for stream in ("stdin", "stdout", "stderr")}
    child = subprocess.Popen(shell, cwd=ROOT, env=environment, start_new_session=True, **quiet)
    end = time.monotonic() + SLEEP + 20 * seconds
    try:
        while not (ended := os.wait4(child.pid, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.killpg(child.pid, signal.SIGKILL)
            time.sleep(0.01)
        _, status, used = ended
        child.returncode = os.waitstatus_to_exitcode(status)
        return child.returncode != 0, used.ru_utime + used.ru_stime
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_test(test, folder, seconds, program=None, **more):
    """Whether a test fails with the library and the program of a folder, and its seconds."""
    return fails(
        [program or test.program] + test.arguments,
        seconds,
        LD_LIBRARY_PATH=folder,
        SPECLAB=os.path.join(folder, "speclab"),
        **more,
    )


def commands():
    """The release build's commands: `compile` by source, without -o; `link` by what is linked."""
    shown = ["make", "-n", "-B", "V=1", "CACHE=", "tests", f"{RELEASE}/libspeclab.so"]
    if shutil.which("mpicc"):
        shown.append(f"{RELEASE}/speclab-mpi")
    text = subprocess.check_output(shown, cwd=ROOT, text=True)
    found = types.SimpleNamespace(compile={}, link={})
    for line in text.replace("\\\n", " ").splitlines():
        line = line.removeprefix("OMPI_CC=gcc MPICH_CC=gcc ")
        if not line.startswith(("gcc ", "mpicc ")) or " -o " not in line:
            continue
        words = shlex.split(line)
        at = words.index("-o")
        target = words[at + 1]
        if "-c" in words and target.startswith(RELEASE):
            keep = [w for w in words[:at] + words[at + 2 :] if w not in ("-MMD", "-MP")]
            source = keep.pop()
            if target == f"{RELEASE}/{os.path.splitext(source)[0]}.o":
                found.compile[source] = keep
        elif "-c" not in words:
            found.link[target] = words
    return found


def object_of(path):
    return f"{RELEASE}/{os.path.splitext(path)[0]}.o"


def prepare(tree):
    """Makes a tree that looks like this one to the programs of its build/release. Returns that."""
    folder = os.path.join(tree, RELEASE)
    os.makedirs(os.path.join(folder, "tests"))
    names = [name for name in os.listdir(ROOT) if name not in ("build", ".git")]
    for name in glob.glob("tests/*", root_dir=os.path.join(ROOT, RELEASE)) + ["speclab-mpi"]:
        names.append(f"{RELEASE}/{name}")
    for name in names:
        os.symlink(os.path.join(ROOT, name), os.path.join(tree, name))
    return folder


def relink(found, path, changed, folder, programs):
    """Links in a folder with an object in place of a source's: the library, or the programs.

    The programs are speclab, speclab-mpi and the tests that link the object themselves. Returns the
    new paths of tests.
    """
    moved = {}
    for target, words in found.link.items():
        name = os.path.relpath(target, RELEASE)
        if object_of(path) in words and programs == (name != "libspeclab.so"):
            words = [changed if word == object_of(path) else word for word in words]
        elif programs and name in ("speclab", "speclab-mpi"):  # the archive has the healthy one
            words = words[:1] + [changed] + words[1:]
        elif programs or name != "libspeclab.so":
            continue
        output = os.path.join(folder, name)
        if os.path.islink(output):
            os.unlink(output)
        if name.startswith("tests/"):
            first = os.path.join(folder, *name.split("/")[:2])
            if os.path.islink(first):
                os.unlink(first)
            os.makedirs(os.path.dirname(output), exist_ok=True)
            moved[target] = output
        words = [output if word == target else word for word in words]
        if subprocess.run(words, cwd=ROOT, stderr=subprocess.DEVNULL).returncode != 0:
            sys.exit(f"mutate: {output} does not link")
    return moved


def all_tests():
    """Every test file: its name, and how to run it."""
    found = {}
    programs = glob.glob("tests/**/test", root_dir=os.path.join(ROOT, RELEASE), recursive=True)
    for program in (f"{RELEASE}/{name}" for name in sorted(programs)):  # one for each folder
        listed = subprocess.check_output([program, "--list"], cwd=ROOT, text=True)
        for suite, path in re.findall(r"^(\S+)/\S+ +(\S+?)\.c:\d+", listed, re.M):
            how = {"name": path, "program": program, "arguments": ["--suite", suite]}
            found[path] = types.SimpleNamespace(**how)
    return found


def build():
    """The library and the program, with calls of reach.c at each function's entry."""
    os.makedirs(os.path.join(ROOT, REACH), exist_ok=True)
    for name, offset in MODULES.items():
        macros = [f"-DREACH_SIZE={1 << 25}", f"-DREACH_OFFSET={offset}", "-D_GNU_SOURCE"]
        target = f"{REACH}/{name}.reach.o"
        compile_it = ["gcc", "-O2", "-fPIC", *macros, "-c", "-o", target, "tests/mutate/reach.c"]
        flags = ["make", "GIT=", f"BUILD={REACH}", f"{REACH}/{name}"]
        subprocess.run(compile_it, cwd=ROOT, check=True)
        flags.append("CFLAGS=-O1 -finstrument-functions")
        # From a compiler cache, debug data may name the folder of another tree.
        changes = {"LDLIBS": target, "CCACHE_DISABLE": "1"}
        subprocess.run(flags, cwd=ROOT, check=True, env=dict(os.environ, **changes))


def functions(module, addresses):
    """file:function of each address of a module."""
    out = subprocess.run(
        ["addr2line", "-f", "-e", f"{REACH}/{module}"],
        input="\n".join(map(hex, addresses)),
        cwd=ROOT,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.splitlines()
    places = (os.path.relpath(line.split(":")[0], ROOT) for line in out[1::2])
    return [f"{place}:{name}" for place, name in zip(places, out[::2])]


def ones(data):
    """Where a long text of zeros has ones: find is much faster than a loop or an expression."""
    found, at = [], data.find(1)
    while at >= 0:
        found.append(at)
        at = data.find(1, at + 1)
    return found


def record(test):
    """A test's time, and the bytes of the map that it sets."""
    with tempfile.TemporaryDirectory(prefix="speclab-reach-") as scratch:
        path = os.path.join(scratch, "map")
        with open(path, "wb") as file:
            file.truncate(1 << 26)
        folder = os.path.join(ROOT, REACH)
        _, seconds = run_test(test, folder, SLOWEST, REACH_MAP=path, TMPDIR=scratch)
        with open(path, "rb") as file:
            places = ones(file.read())
    return {"name": test.name, "seconds": seconds, "places": places}


def recorded(jobs):
    """The tests by name, and the names of those that enter a (file, function).

    Function * means any of the file, and file "" has all functions, with none. Only tests whose
    program is newer than the record run.
    """
    build()
    journal, tests = os.path.join(ROOT, REACH, "reach.jsonl"), all_tests()
    known, lock = {}, threading.Lock()
    if os.path.exists(journal):
        with open(journal, encoding="utf-8") as file:
            known = {entry["name"]: entry for entry in map(json.loads, file)}
    library = os.path.getmtime(os.path.join(ROOT, REACH, "libspeclab.so"))

    def one(test):
        made = max(library, os.path.getmtime(os.path.join(ROOT, test.program)))
        if known.get(test.name, {"made": 0})["made"] == made:
            return known[test.name]
        entry = dict(record(test), made=made)
        with lock, open(journal, "a", encoding="utf-8") as file:
            print(json.dumps(entry), file=file)
        return entry

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        found = dict(zip(tests, pool.map(one, tests.values())))
    names = {}
    every = sorted({place for entry in found.values() for place in entry["places"]})
    for module, start in MODULES.items():
        some = [place for place in every if start <= place < start + (1 << 25)]
        names.update(zip(some, functions(module, [place - start for place in some])))
    reached = {}
    for name, entry in found.items():
        tests[name].seconds, tests[name].slow = entry["seconds"], entry["seconds"] > 0.95 * SLOWEST
        tests[name].entered = len(entry["places"])
        tests[name].runs_speclab = any(place >= MODULES["speclab"] for place in entry["places"])
        for place in entry["places"]:
            path, function = names[place].split(":")
            reached.setdefault((path, function), set()).add(name)
            reached.setdefault((path, "*"), set()).add(name)
    if not all(os.path.exists(os.path.join(ROOT, path)) for path, _ in reached):
        sys.exit(f"mutate: {REACH} was built from other sources: remove it")
    for module in MODULES:
        listed = subprocess.check_output(["nm", f"{REACH}/{module}"], cwd=ROOT, text=True)
        for function in re.findall(r"^\w+ [tT] (\w+)", listed, re.M):
            reached.setdefault(("", function), set())
    return tests, reached
