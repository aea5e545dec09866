# SPDX-License-Identifier: GPL-3.0-or-later
"""The packages of docs/verdicts.md: a virtual environment, unpacked wheels, compiled samplers."""
import ast
import glob
import hashlib
import os
import re
import subprocess
import sys
import tarfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = "build/verdicts"
INSTALLED = ["torch==2.15.0", "triton==3.9.0", "numpy==2.4.6"]  # and transformers
LLAMA = ["common/sampling.cpp", "src/llama-sampler.cpp"]


def run(*words, **how):
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True, **how)


def said(error):
    lines = (error.stderr or error.stdout or str(error)).strip().split("\n")
    return lines[-1]


def environment(engines):
    """A virtual environment with PyTorch, Triton and transformers: 6 GB."""
    transformers = next(e for e in engines if e.package == "transformers")
    wanted = [*INSTALLED, f"transformers=={transformers.version}"]
    return virtual_environment(f"{BUILD}/venv", wanted, "verdicts")


def virtual_environment(folder, wanted, who):
    """The Python of an environment with these packages, installed once; `who` prints a line."""
    done = os.path.join(ROOT, folder, "+".join(wanted))
    if not os.path.exists(done):
        print(f"{who}: installing " + " ".join(wanted), flush=True)
        run(sys.executable, "-m", "venv", "--clear", folder)
        run(f"{folder}/bin/pip", "install", "-q", "--disable-pip-version-check", *wanted)
        open(done, "w").close()
    return f"{folder}/bin/python"


def download(package, version, build=BUILD, who="verdicts"):
    """The archive of a package, without its dependencies; of llama-cpp-python the sources."""
    folder = f"{build}/archives"
    pattern = os.path.join(ROOT, folder, f"{package.replace('-', '_')}-{version}[-.]*")
    if not glob.glob(pattern):
        print(f"{who}: downloading {package} {version}", flush=True)
        how = ["--no-binary" if package == "llama-cpp-python" else "--only-binary", ":all:"]
        run(sys.executable, "-m", "pip", "download", "-q", "--no-deps",
            "--disable-pip-version-check", *how, "-d", folder, f"{package}=={version}")
    return glob.glob(pattern)[0]


def unpack(archive, to, sources=(".h", ".hpp", ".cpp")):
    """Its text files, as far as they are needed to read and run the sampler; of llama.cpp those
    with these endings."""
    folder = os.path.join(ROOT, to)
    if os.path.isdir(folder):
        return
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as file:
            names = [n for n in file.namelist() if n.endswith((".py", ".cuh", ".h"))]
            file.extractall(folder + ".part", names)
    else:
        with tarfile.open(archive) as file:
            inner = [m for m in file.getmembers() if "/vendor/llama.cpp/" in m.name and m.isfile()
                     and m.name.endswith(sources)]
            for member in inner:
                member.name = member.name.split("/", 1)[1]
            file.extractall(folder + ".part", inner)
    os.rename(folder + ".part", folder)


def date_of(archive):
    """The day of the package's newest file, as its archive says."""
    if archive.endswith(".whl"):
        with zipfile.ZipFile(archive) as file:
            year, month, day = max(i.date_time for i in file.infolist())[:3]
            return f"{year}-{month:02}-{day:02}" if year > 1980 else ""
    return ""


def digest(folder, source):
    """A hash of a file, or of one function or class in it."""
    path, _, name = source.partition(":")
    with open(os.path.join(folder, path)) as file:
        text = file.read()
    if name:
        nodes = ast.walk(ast.parse(text))
        node = next(n for n in nodes if getattr(n, "name", None) == name)
        text = ast.get_source_segment(text, node)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def newest(package):
    try:
        answer = run(sys.executable, "-m", "pip", "index", "versions", package,
                     "--disable-pip-version-check").stdout
    except subprocess.CalledProcessError:
        return None
    return re.search(r"\(([^)]+)\)", answer).group(1)


def sglang_tree(folder):
    library = f"{BUILD}/sglang_tree.so"
    run("c++", "-O2", "-w", "-shared", "-fPIC", "-Iinclude", "-Itests/verdicts/one_thread",
        f"-I{folder}/sglang/kernels/jit/include", "tests/verdicts/sglang_tree.cpp", "-o", library)
    return {"{sglang_tree}": library}


def abort_others(library, objects):
    """Links objects; functions that they name and nothing defines print their name and abort."""
    link = ["c++", "-shared", "-Wl,--no-demangle,-z,defs", "-o", library, *objects]
    tried = subprocess.run(link, cwd=ROOT, capture_output=True, text=True)
    aborts = library.replace(".so", "_aborts.c")
    with open(os.path.join(ROOT, aborts), "w") as file:
        file.write("#include <stdio.h>\n#include <stdlib.h>\n")
        for name in sorted(set(re.findall(r"undefined reference to `(\w+)'", tried.stderr))):
            file.write(f'void {name}(void) {{ fputs("{name}\\n", stderr); abort(); }}\n')
    run("cc", "-w", "-fPIC", "-c", aborts, "-o", aborts + ".o")
    run(*link, aborts + ".o")
    return library


def llama(folder):
    """llama.cpp's sampling code behind our adapter, and its examples/speculative."""
    source = f"{folder}/vendor/llama.cpp"
    include = [f"-I{source}/{d}" for d in ("include", "ggml/include", "common", "src")]

    def compiled(file, *flags):
        made = f"{BUILD}/{os.path.basename(file)}.o"
        run("c++", "-std=c++17", "-O1", "-w", "-fPIC", "-Iinclude", *include, *flags, "-c", file,
            "-o", made)
        return made

    shared = [compiled(f"{source}/{name}") for name in LLAMA]
    shared.append(compiled("tests/verdicts/llama_shell.cpp"))
    server = compiled("tools/validate/adapters/llama_cpp.cpp")
    example = [compiled(f"{source}/examples/speculative/speculative.cpp", "-Dmain=example_main"),
               compiled("tests/verdicts/llama_example.cpp")]
    return {"{llama}": abort_others(f"{BUILD}/llama.so", [*shared, server]),
            "{llama_example}": abort_others(f"{BUILD}/llama_example.so", [*shared, *example])}


BUILDS = {"sglang": sglang_tree, "llama-cpp-python": llama}


def prepare(engines):
    """Paths for the braces of commands, and what is known of each package."""
    paths, versions = {}, {}
    try:
        paths["{python}"] = environment(engines)
    except subprocess.CalledProcessError as error:
        print("verdicts: no PyTorch: " + said(error), file=sys.stderr)
    for engine in engines:
        if not engine.package:
            continue
        known = versions[engine.package] = {"version": engine.version}
        try:
            archive = download(engine.package, engine.version)
            folder = f"{BUILD}/{engine.package}"
            unpack(archive, folder)
            paths["{" + engine.package + "}"] = folder
            known["date"] = date_of(archive)
            known["sources"] = {s: digest(os.path.join(ROOT, folder), s) for s in engine.sources}
            if engine.package in BUILDS:
                paths.update(BUILDS[engine.package](folder))
        except subprocess.CalledProcessError as error:
            print(f"verdicts: {engine.package}: {said(error)}", file=sys.stderr)
            continue
        compare(engine, known)
    return paths, versions


def compare(engine, known):
    """Whether the newest version has the same sampler."""
    known["newest"] = newest(engine.package)
    if known["newest"] in (None, engine.version):
        return
    try:
        folder = f"{BUILD}/{engine.package}-{known['newest']}"
        unpack(download(engine.package, known["newest"]), folder)
        now = {}
        for source in engine.sources:
            try:
                now[source] = digest(os.path.join(ROOT, folder), source)
            except (OSError, StopIteration):
                now[source] = "gone"
        known["changed"] = [s for s in engine.sources if now[s] != known["sources"][s]]
    except subprocess.CalledProcessError as error:
        print(f"verdicts: {engine.package} {known['newest']}: {said(error)}", file=sys.stderr)


def fill(sampler, paths):
    """A command with paths in place of braces; None if one is missing."""
    for word in re.findall(r"\{\w[\w-]*\}", sampler):
        if word not in paths:
            return None
        sampler = sampler.replace(word, paths[word])
    return sampler
