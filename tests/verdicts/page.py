# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/verdicts.md, as text made of subjects.py and results.json."""
import os
import shlex
import textwrap

from subjects import ENGINES, PORT_BUDGET, SUBJECTS, port_fixtures, port_words, words_of

HERE = os.path.dirname(os.path.abspath(__file__))
PATH = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs/verdicts.md")

BEGIN = """# Verdicts on samplers that engines run

Which samplers for speculative decoding keep the target's distribution, as they are released? This
page is written by `make verdicts`: it installs the packages from PyPI into a virtual environment
below `build/`, runs `speclab validate` on each sampler, and prints the results. The last run was on
{date}. Packages take 6 GB of disk, and the runs 25 minutes of a busy processor.

* **run**: the released code itself ran, on a CPU. Each section says which functions, and which code
  connects them. A mistake in that code would be ours.
* **port**: the logic as we read it, reimplemented in [ports.py](../tests/verdicts/ports.py).
* **derived**: concluded only from the source; the text says so.

A verdict holds for the named version in the named configuration, on the named fixtures, and is
only about the *distribution of the text*: it says nothing about speed, or about parts of the engine
that were not run. [PASS, FAIL and LOSSY](conformance.md#verdicts): a lossless sampler gets FAIL
with a probability of at most one in a million; PASS means that the TV in the table would have been
found with a probability of .9, in a round's first token or, where a whole loop ran, in its text.
LOSSY is a difference that the software's own documentation announces.
"""


def wrapped(text, first="", rest=""):
    return textwrap.fill(text, 100, initial_indent=first, subsequent_indent=rest,
                         break_long_words=False, break_on_hyphens=False)


def shown(result):
    return result.get("run") or result["port"]


def how(result):
    return "run" if "run" in result else "port"


def e_value(log10_e):
    if log10_e < 4.0:
        return f"{10.0 ** log10_e:.2g}"
    return f"1e{log10_e:.0f}"


def tv(said):
    if said["fixture"]:
        return f"about {said['tv']:.2g} on {said['fixture']}"
    if said["verdict"] == "PASS":
        return f"below {said['detectable_tv']:.2g}"
    return "-"


def summary(results):
    """One line per sampler."""
    columns = ["engine", "configuration", "verdict", "as", "instead"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for engine in ENGINES:
        for subject in of(engine):
            result = results["subjects"][subject.name]
            verdict = f"[{shown(result)['verdict']}](#{subject.name})"
            name = f"{engine.title} {engine.release}".strip()
            row = [name, subject.setting, verdict, how(result), subject.instead]
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def of(engine):
    return [subject for subject in SUBJECTS if subject.engine == engine.title]


def numbers(engine, results):
    columns = ["sampler", "verdict", "TV", "e-value", "tokens", "fixtures"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for subject in of(engine):
        result = results["subjects"][subject.name]
        said = shown(result)
        lines.append(f"| <a id=\"{subject.name}\"></a>{subject.name} | {said['verdict']} | "
                     f"{tv(said)} | {e_value(said['log10_e'])} | {said['draws']:,} | "
                     f"{fixtures(subject, result)} |")
    return "\n".join(lines)


def fixtures(subject, result):
    names = subject.only if "run" in result else port_fixtures(subject)
    return names.replace(",", ", ") or f"all {shown(result)['fixtures']} in its scope"


def command(subject, result):
    sampler = subject.sampler
    if "run" not in result:
        words = port_words(subject)
    else:
        for name, path in NAMES.items():
            sampler = sampler.replace(name, path)
        words = words_of(subject, sampler)
    pairs = [words[:1]] if len(words) % 2 else []  # a library is alone, before the options
    pairs += [words[i:i + 2] for i in range(len(words) % 2, len(words), 2)]
    lines, line = [], "speclab validate"
    for pair in pairs:
        option = " ".join(shlex.quote(word) for word in pair)
        if len(line) + len(option) > 96:
            lines.append(line + " \\")
            line = "   "
        line += " " + option
    return "\n".join([f"# {subject.name}", *lines, line])


NAMES = {
    "{python}": "build/verdicts/venv/bin/python",
    "{vllm}": "build/verdicts/vllm",
    "{sglang}": "build/verdicts/sglang",
    "{sglang_tree}": "build/verdicts/sglang_tree.so",
    "{llama}": "build/verdicts/llama.so",
    "{llama_example}": "build/verdicts/llama_example.so",
}


def version(engine, known):
    """The version and its day; whether a newer one has the same sampler."""
    date = f" of {known['date']}" if known.get("date") else ""
    text = f"{engine.package} {engine.version}{date}. "
    newest = known.get("newest")
    if newest == engine.version:
        text += "It was the newest version on the day of the run. "
    elif newest and known.get("changed"):
        changed = ", ".join(f"`{source}`" for source in known["changed"])
        text += f"The newest version was {newest}; {changed} changed since, so run it again. "
    elif newest:
        text += f"The newest version was {newest}; it has the same sampler, to the letter. "
    return text


def notes(engine, results):
    """What is wrong, what to set instead, and programs that show it."""
    out = []
    for subject in of(engine):
        if not subject.wrong:
            continue
        setting = subject.setting.split("](")[0].lstrip("[")
        out.append(wrapped(f"**{subject.name}** ({setting}). {subject.wrong} "
                           f"Instead: {subject.instead}."))
        if subject.reproducer:
            with open(os.path.join(HERE, "reproducers", subject.reproducer)) as file:
                program = file.read().split("\n", 1)[1]  # without the line of its licence
            out.append(f"```python\n{program}```")
            printed = results["subjects"][subject.name]["printed"]
            out.append(wrapped(f"It prints `{printed}`.") if printed else "It was not run here.")
    return out


def section(engine, results):
    parts = [f"## {engine.title}"]
    known = results["packages"].get(engine.package, {})
    parts.append(wrapped((version(engine, known) if engine.package else "") + engine.how))
    parts.append(numbers(engine, results))
    for subject in of(engine):
        why = results["subjects"][subject.name].get("why_port")
        if why:
            parts.append(wrapped(f"{subject.name} is a port, since on this machine {why}."))
    commands = [command(s, results["subjects"][s.name]) for s in of(engine)]
    parts.append("```sh\n" + "\n".join(commands) + "\n```")
    return "\n\n".join(parts + notes(engine, results))


def ports(results):
    """The verdicts that the offline check repeats."""
    lines = ["| port | fixtures | verdict | TV | e-value | tokens |", "|---|---|---|---|---|---|"]
    seen = set()
    for subject in SUBJECTS:
        key = (*port_words(subject), subject.lossy)
        if key in seen:
            continue
        seen.add(key)
        said = results["subjects"][subject.name]["port"]
        row = [subject.port, port_fixtures(subject).replace(",", ", "), said["verdict"], tv(said),
               e_value(said["log10_e"]), f"{said['draws']:,}"]
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


PORTS = """## Ports

The same logic in plain Python, with the same verdicts. `make verdicts-check`, a part of `make
check`, repeats these runs and the programs above that need no package, offline. It fails if a
number differs or if this page does not match the results. A line is
`speclab validate --exec 'python3 tests/verdicts/ports.py PORT' --only FIXTURES --budget {budget}`.
"""

AGAIN = """## Another version, another sampler

Versions are in [subjects.py](../tests/verdicts/subjects.py); change one there, and run
`make verdicts`. `make verdicts ONLY=vllm-grammar,sglang-block` runs only these samplers.
[Adapters](conformance.md#adapters) of the same kind connect your own build.
"""


def text(results):
    begin = BEGIN.format(date=results["date"])
    parts = [begin.rstrip(), "## Summary", summary(results)]
    parts += [section(engine, results) for engine in ENGINES]
    parts += [PORTS.format(budget=PORT_BUDGET).rstrip(), ports(results), AGAIN.rstrip()]
    return "\n\n".join(parts) + "\n"
