#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares speclab with transformers and llama.cpp: runs every check_*.py of this folder.

    tests/peers/peers.py SPECLAB [CHECK...]    all checks, or those with these names (models, ...)
    tests/peers/peers.py --bench SPECLAB       ratios of times, by every bench*.py
Packages and llama.cpp are installed below build/peers, once: 6 GB. PEERS=DIR names a folder that
has them: DIR/venv, DIR/llama_cpp_python-VERSION and its llama.cpp, built in DIR/llama. The lines of
a check are in build/peers/CHECK.log; its last line and those with FAIL are shown."""
import glob
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/verdicts"))
import packages  # noqa: E402

BUILD = "build/peers"
SOURCES = ("llama-cpp-python", "0.3.36")
INSTALLED = [*packages.INSTALLED, "transformers[serving]==5.24.0", "gguf==0.19.0",
             "safetensors==0.8.0", "tokenizers==0.23.3"]
# AMX, which a process must be allowed to use, is left out; speclab does not use it.
FLAGS = "-mno-amx-tile -mno-amx-int8 -mno-amx-bf16" if os.uname().machine == "x86_64" else ""
OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", f"-DCMAKE_C_FLAGS={FLAGS}",
           f"-DCMAKE_CXX_FLAGS={FLAGS}", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF",
           "-DLLAMA_BUILD_TOOLS=ON", "-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_BUILD_APP=OFF",
           "-DLLAMA_USE_PREBUILT_UI=OFF", "-DLLAMA_OPENSSL=OFF"]
LIBRARIES = ("llama/bin/libllama-common.so", "llama", "llama-common")


class Missing(Exception):
    """The checks cannot run here."""


def need(command, *words):
    try:
        subprocess.run([command, *words], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Missing(f"there is no {command}") from error


def unpack_llama():
    """The folder of llama-cpp-python's sources, which have llama.cpp's."""
    archive = packages.download(*SOURCES, BUILD, "peers")
    folder = f"{BUILD}/{SOURCES[0].replace('-', '_')}-{SOURCES[1]}"
    packages.unpack(archive, folder, ("",))
    return folder


def build_llama(folder, made=LIBRARIES[0], *targets):
    """llama.cpp's libraries in build/peers/llama: some ten minutes on two cores."""
    if os.path.exists(os.path.join(ROOT, BUILD, made)):
        return
    print("peers: building llama.cpp", flush=True)
    packages.run("cmake", "-S", f"{folder}/vendor/llama.cpp", "-B", f"{BUILD}/llama", *OPTIONS)
    packages.run("cmake", "--build", f"{BUILD}/llama", "-j", str(os.cpu_count()), "--target",
                 *(targets or LIBRARIES[1:]))


def install():
    """The Python of an environment in which the checks run."""
    given = os.environ.get("PEERS") and os.path.abspath(os.environ["PEERS"])
    need("c++", "--version")
    if given:
        python = os.path.join(given, "venv/bin/python")
        if not os.path.exists(python):
            raise Missing(f"PEERS={given} has no venv/bin/python")
        return python
    if sys.version_info < (3, 11):
        raise Missing("the packages need Python 3.11")
    need("cmake", "--version")
    try:
        python = packages.virtual_environment(f"{BUILD}/venv", INSTALLED, "peers")
        folder = unpack_llama()
    except subprocess.CalledProcessError as error:
        raise Missing("no packages: " + packages.said(error)) from error
    build_llama(folder)
    return os.path.join(ROOT, python)


def run_check(python, path, program):
    """Its last line and its failures; whether it holds."""
    name = os.path.basename(path)[:-len(".py")]
    begun = time.monotonic()
    log = os.path.join(ROOT, BUILD, name + ".log")
    with open(log, "w", encoding="utf-8") as to:
        ran = subprocess.run([python, path, program], stdout=to, stderr=subprocess.STDOUT)
    with open(log, encoding="utf-8", errors="replace") as file:
        lines = [line for line in file.read().split("\n") if line]
    for line in lines[:-1]:
        if "FAIL" in line:
            print(line)
    last = lines[-1] if lines else f"{name}: no line"
    print(f"{last} ({time.monotonic() - begun:.0f} s)", flush=True)
    if ran.returncode != 0:
        print(f"peers: {name} ended with status {ran.returncode}, see {log}", flush=True)
    return ran.returncode == 0


def main(words):
    bench = words[:1] == ["--bench"]
    program, *only = words[1:] if bench else words
    program = os.path.abspath(program)
    kind = "bench" if bench else "peers-check"
    try:
        python = install()
    except Missing as error:
        print(f"{kind}: {error}", file=sys.stderr)
        return 2
    os.makedirs(os.path.join(ROOT, BUILD), exist_ok=True)
    if bench:
        every = sorted(glob.glob(os.path.join(HERE, "bench*.py")))
        return max(subprocess.run([python, path, program]).returncode for path in every)
    checks = sorted(glob.glob(os.path.join(HERE, "check_*.py")))
    checks = [c for c in checks if not only or os.path.basename(c)[len("check_"):-3] in only]
    good = sum(run_check(python, path, program) for path in checks)
    print(f"peers-check: {good} of {len(checks)} checks hold")
    return 0 if good == len(checks) and checks else 1


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
