#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Validates the samplers of engines (subjects.py), and writes results.json and docs/verdicts.md.

    tests/verdicts/verdicts.py SPECLAB             everything, in a virtual environment below build/
    tests/verdicts/verdicts.py --only NAMES SPECLAB        these again; others keep their results
    tests/verdicts/verdicts.py --ports SPECLAB             the ports again; the others keep theirs
    tests/verdicts/verdicts.py --check SPECLAB     offline: ports and reproducers give their results
    tests/verdicts/verdicts.py --text              the document again, from results.json
"""
import datetime
import json
import math
import os
import subprocess
import sys
import tempfile

import packages
import page
from subjects import ENGINES, SUBJECTS, port_words, words_of

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "results.json")


PORTS = {}  # results of this process, since subjects share ports


def port_of(program, subject):
    words = port_words(subject)
    key = (*words, subject.lossy)
    if key not in PORTS:
        PORTS[key] = validate(program, words, subject.lossy)
    return PORTS[key]


def validate(program, words, lossy):
    """One run of the program; the numbers that the document shows."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [program, "validate", *words, "--report", report]
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if ran.returncode not in (0, 1, 3):
            raise RuntimeError(ran.stderr.strip().split("\n")[-1])
        with open(report) as file:
            said = json.load(file)
    power = said["power"].get("first") or said["power"]["text"]
    failed = next((r for r in said["results"] if r["failed"]), None)
    verdict = said["verdict"]
    return {
        "verdict": "LOSSY" if verdict == "FAIL" and lossy else verdict,
        "log10_e": round(said["log_e"] / math.log(10.0), 2),
        "p": float(f"{said['p']:.2g}"),
        "rounds": said["rounds"],
        "draws": said["draws"],
        "fixtures": sum(1 for r in said["results"] if not r["skipped"]),
        "fixture": failed and failed["fixture"],
        "tv": float(f"{failed['tv']:.2g}") if failed and failed["tv"] else None,
        "detectable_tv": power["worst_tv"] and float(f"{power['worst_tv']:.2g}"),
    }


def run_reproducer(name, python):
    ran = subprocess.run([python, os.path.join(HERE, "reproducers", name)],
                         capture_output=True, text=True)
    return ran.stdout.strip() if ran.returncode == 0 else None


def version_of(subject):
    return next(engine.version for engine in ENGINES if engine.title == subject.engine)


def needs_packages(name):
    with open(os.path.join(HERE, "reproducers", name)) as file:
        return "import torch" in file.read()


def run_all(program, only):
    with open(RESULTS) as file:
        old = json.load(file)
    paths, versions = packages.prepare(ENGINES)
    results = {"date": datetime.date.today().isoformat(), "packages": versions, "subjects": {}}
    for subject in SUBJECTS:
        if only and subject.name not in only:
            continue
        result = {"version": version_of(subject), "port": port_of(program, subject)}
        sampler, why = packages.fill(subject.sampler, paths), None
        if sampler is None:
            why = "its package could not be installed"
        elif sampler:
            try:
                result["run"] = validate(program, words_of(subject, sampler), subject.lossy)
            except RuntimeError as error:
                why = str(error)
        if why:
            result["why_port"] = why
        if subject.reproducer:
            own = sys.executable
            python = paths.get("{python}", own) if needs_packages(subject.reproducer) else own
            result["printed"] = run_reproducer(subject.reproducer, python)
        results["subjects"][subject.name] = result
        shown = result.get("run", result["port"])
        print(f"verdicts: {subject.name}: {shown['verdict']}" + (f" (port: {why})" if why else ""),
              flush=True)
        save(results, old)


def save(results, old):
    """Results so far, and earlier ones of subjects still to come."""
    known = {**old["subjects"], **results["subjects"]}
    known = {subject.name: known[subject.name] for subject in SUBJECTS if subject.name in known}
    merged = {**results, "subjects": known}
    with open(RESULTS, "w") as file:
        json.dump(merged, file, indent=1)
        file.write("\n")
    if len(known) == len(SUBJECTS):
        write_text(merged)


def write_text(results):
    with open(page.PATH, "w") as file:
        file.write(page.text(results))


def run_ports(program):
    with open(RESULTS) as file:
        results = json.load(file)
    for subject in SUBJECTS:
        results["subjects"][subject.name]["port"] = port_of(program, subject)
    save(results, results)


def check(program):
    """Ports and reproducers without packages, and the document, against results.json."""
    with open(RESULTS) as file:
        results = json.load(file)
    bad = []
    if sorted(results["subjects"]) != sorted(subject.name for subject in SUBJECTS):
        bad.append("subjects.py and results.json name other subjects: make verdicts")
    for subject in SUBJECTS:
        recorded = results["subjects"].get(subject.name)
        if recorded is None:
            continue
        if recorded["version"] != version_of(subject):
            bad.append(f"{subject.name} was run with {recorded['version']}: "
                       f"make verdicts ONLY={subject.name}")
        port = port_of(program, subject)
        if port != recorded["port"]:
            bad.append(f"{subject.name}: the port gives {port}, not {recorded['port']}")
        name = subject.reproducer
        if name and not needs_packages(name):
            printed = run_reproducer(name, sys.executable)
            if printed != recorded["printed"]:
                bad.append(f"{name} prints {printed!r}, recorded is {recorded['printed']!r}")
    with open(page.PATH) as file:
        if not bad and file.read() != page.text(results):
            bad.append("docs/verdicts.md is not what tests/verdicts/verdicts.py --text writes")
    for line in bad:
        print(f"verdicts: {line}", file=sys.stderr)
    if not bad:
        print(f"verdicts: {len(PORTS)} ports of samplers give their recorded verdicts")
    return 1 if bad else 0


def main(words):
    if words == ["--text"]:
        with open(RESULTS) as file:
            write_text(json.load(file))
        return 0
    if not words or not os.access(words[-1], os.X_OK):
        print(__doc__, file=sys.stderr)
        return 2
    program = os.path.abspath(words[-1])
    if words[0] == "--check":
        return check(program)
    if words[0] == "--ports":
        return run_ports(program)
    run_all(program, words[1].split(",") if words[0] == "--only" else None)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
