#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the module speclab.program: a function for each verb of the program, from its --help.

--help comes from the tables of options, cli/fields.h.

    python/program_verbs.py SPECLAB >program.py
"""
import keyword
import re
import subprocess
import sys
import textwrap

NUMBERS = {"N", "K", "X", "P", "S", "T", "SECONDS"}  # placeholders of a single number
NOT_HERE = {"help", "version", "all", "force", "format", "output"}


def parts_of(text):
    """Usage, summary, blocks of options and the text below them."""
    head, *blocks = text.split("\n\n")
    usage, _, summary = re.match(r"((.*\n(?=  ))*.*)\n((?:.|\n)*)", head).group(1, 2, 3)
    options = [block for block in blocks if re.search(r"^ .*--\w", block, re.M)
               and not block.startswith("  $")]
    return " ".join(usage.split()), " ".join(summary.split()), options


def options_of(blocks):
    """(name, placeholder or "", help) of every option, in the order of --help."""
    for block in blocks:
        for found in re.finditer(r"^  (?:-\w, |    )--([\w-]+)(?:=(\S+))?\s+((?:.*(?:\n {29}.*)*))",
                                 block, re.M):
            name, value, said = found.groups()
            yield name, value or "", " ".join(said.split())


def parameter(name):
    name = name.replace("-", "_")
    return name + "_" if keyword.iskeyword(name) else name


def reading(options):
    """How the answer is read: "both" rows and text, "rows", "json" or "text"."""
    said = {name: text for name, _, text in options}
    if "and print the text" in said.get("output", ""):
        return "both"
    formats = said.get("format", "")
    return "rows" if "csv" in formats else "json" if "json" in formats else "text"


def lists(value, said):
    """Whether several values are one text with commas, instead of an option for each."""
    return value == "LIST" or value.endswith(",...") and "may be repeated" not in said


def function_of(verb, text):
    usage, summary, blocks = parts_of(text)
    options = list(options_of(blocks))
    own = [(name, value, said) for name, value, said in options if name not in NOT_HERE
           or name == "output" and not said.startswith("write ")]
    words = usage.partition("[OPTION...]")[2]
    kinds = {name: "bool = False" if not value else
             f"{'Number' if value in NUMBERS else 'Value'} | None = None"
             for name, value, _ in own}
    arguments = ["*words: Word" if words else "*",
                 *(f"{parameter(name)}: {kind}" for name, kind in kinds.items())]
    given = [f'"{name}": ' + (f"listed({parameter(name)})" if lists(value, said)
                              else parameter(name)) for name, value, said in own]
    width = max((len(name) for name, _, _ in own), default=0) + 2
    doc = [summary[0].upper() + summary[1:] + ("" if summary.endswith("?") else "."), "",
           *(textwrap.fill(said, 95, initial_indent=parameter(name).ljust(width),
                           subsequent_indent=" " * width) for name, _, said in own)]
    body = textwrap.indent("\n".join(doc), "    ").strip()
    body = body.replace("\\", "\\\\").replace('"""', "'''")
    return (f'def {verb}({", ".join(arguments)}) -> Answer:\n'
            f'    """{body}\n    """\n'
            f'    return ask("{verb}", "{reading(options)}", {"words" if words else "()"}, '
            f'{{{", ".join(given)}}})\n')


def main(program):
    def ask(*words):
        return subprocess.run([program, *words], capture_output=True, text=True, check=True,
                              env={"PATH": "", "LC_ALL": "C"}).stdout

    print('# SPDX-License-Identifier: GPL-3.0-or-later\n'
          '"""The verbs of the program, made by python/program_verbs.py from its --help.\n\n'
          'Options have the names and values of the program\'s. None leaves the default.\n"""\n\n'
          'from .answer import Answer, Number, Value, Word, ask, listed\n')
    for verb in re.findall(r"^  ([a-z]+)  ", ask("--help"), re.M):
        if not keyword.iskeyword(verb):
            print("\n" + function_of(verb, ask(verb, "--help")))


if __name__ == "__main__":
    main(sys.argv[1])
