# SPDX-License-Identifier: GPL-3.0-or-later
"""The mutants of a C file: which tokens are changed into what, and how a mutant is reported."""

import collections
import os
import re

# Longest first. Each replacement in a token's list gives a mutant.
OPERATORS = {
    "<=": ["<", ">"],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "&&": ["||"],
    "||": ["&&"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "++": ["--"],
    "--": ["++"],
    "<": ["<=", ">="],
    ">": [">=", "<="],
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["*"],
}
WORDS = {
    "true": "false",
    "false": "true",
    "fmin": "fmax",
    "fmax": "fmin",
    "floor": "ceil",
    "ceil": "floor",
    "log": "log1p",
    "log1p": "log",
    "exp": "expm1",
    "expm1": "exp",
    "INFINITY": "NAN",
    "GSL_SUCCESS": "GSL_EDOM",
}
UNTOUCHED = ["->", "<<=", ">>=", "<<", ">>", "..."]
TOKEN = re.compile(
    r"(?P<word>[A-Za-z_]\w*)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[uUlLfF]*)|(?P<op>"
    + "|".join(re.escape(op) for op in sorted(list(OPERATORS) + UNTOUCHED, key=len, reverse=True))
    + r")|(?P<other>\S)"
)
TYPES = {
    "char",
    "int",
    "double",
    "float",
    "void",
    "size_t",
    "uint64_t",
    "uint32_t",
    "unsigned",
    "const",
    "restrict",
    "spec_rule",
    "spec_round",
    "spec_draft",
    "spec_chance",
    "spec_error",
    "spec_moments",
    "gsl_rng",
    "gsl_function",
    "gsl_root_fsolver",
}
NO_STATEMENT = TYPES | {
    "if",
    "for",
    "while",
    "return",
    "else",
    "switch",
    "case",
    "static",
    "struct",
    "typedef",
    "goto",
}


def blank(text, pattern, flags=re.S):
    """The text with matches replaced by spaces, which keeps positions."""
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group(0)), text, flags=flags)


def visible(text):
    """The text without comments, strings, directives and asserts."""
    text = blank(text, r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
    text = blank(text, r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
    text = blank(text, r"\b(?:assert|_Static_assert)\s*\([^;]*;")
    return text


def outside(code, position):
    """Whether a position is outside every function and table."""
    return code.count("{", 0, position) == code.count("}", 0, position)


def mutants_of(path):
    """(position, length, replacement, what) of every mutant of a file."""
    with open(path, encoding="utf-8") as file:
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
            binary = before is not None and (
                before.lastgroup in ("word", "number") or before.group(0) in ")]"
            )
            if before is not None and before.group(0) == "return":
                binary = False
            if value in "*" and (
                not binary or before.group(0) in TYPES or (after and after.group(0) in ",)*")
            ):
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
                    found.append(
                        (token.start(), len(value), str(other), value + " to " + str(other))
                    )
            elif re.fullmatch(r"\d+\.\d*", value):
                found.append((token.start(), len(value), repr(float(value) + 1), value + " plus 1"))
            elif re.fullmatch(r"[\d.]+[eE][+-]?\d+", value):
                found.append(
                    (token.start(), len(value), "(10 * " + value + ")", value + " times 10")
                )
        elif kind == "word" and value in ("if", "while") and after and after.group(0) == "(":
            close, level = i + 1, 0
            while True:
                level += {"(": 1, ")": -1}.get(tokens[close].group(0), 0)
                if level == 0:
                    break
                close += 1
            start, end = after.end(), tokens[close].start()
            found.append((start, end - start, "!(" + text[start:end] + ")", "condition negated"))
        elif kind == "word" and (value in WORDS or re.match(r"gsl_cdf_\w+_[PQ]$", value)):
            other = WORDS.get(value) or value[:-1] + {"P": "Q", "Q": "P"}[value[-1]]
            found.append((token.start(), len(value), other, value + " to " + other))
        elif kind == "word" and value in ("break", "continue"):
            found.append((token.start(), len(value), "", value + " deleted"))
    # Statements that assign or call, and that declare nothing.
    for match in re.finditer(
        r"(?:[;{}]|(?<!\(double)(?<!\(size_t)\))\s*(?=([*(a-z_][^;{}]*);)", code
    ):
        statement = match.group(1)
        if not re.match(
            r"(?:\*|\(\*)?[a-z_][\w.\->\[\]* +]*?(?:\s*[-+*/|]?(?<![<>!])=(?!=)|\()", statement
        ):
            continue
        first = re.match(r"\w*", statement.lstrip("*(")).group(0)
        if first in NO_STATEMENT:
            continue
        if re.match(r"[a-z_]\w*\s+\**[a-z_]", statement) or outside(code, match.start(1)):
            continue
        if re.match(r"\.\w", statement):
            continue
        found.append((match.start(1), len(statement), "", "statement deleted"))
    return text, sorted(set(found))


def function_at(code, position):
    """The name of the function that contains a position, or - outside any."""
    depth = level = 0
    name = inside = "-"
    for token in TOKEN.finditer(code, 0, position):
        value = token.group(0)
        if value in "{}":
            depth += 1 if value == "{" else -1
            inside = name if depth == 1 and value == "{" else inside
        elif value in "()" and depth == 0:
            name = previous.group(0) if value == "(" and level == 0 else name
            level += 1 if value == "(" else -1
        elif value in ";=" and depth == 0:
            name = "-"
        previous = token
    return inside if depth else "-"


def describe(path, text, code, mutant):
    """A mutant as it is reported: its line before and after, with single spaces."""
    position, length, replacement, what = mutant
    number = text.count("\n", 0, position) + 1
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position + length)
    old = " ".join(text[start:end].split())
    new = " ".join((text[start:position] + replacement + text[position + length : end]).split())
    return {
        "path": path,
        "line": number,
        "function": function_at(code, position),
        "what": what,
        "old": old,
        "new": new,
    }


def tokens_of(text):
    """The tokens of C code and where they begin, without comments and continued lines."""
    keep_strings = r'/\*.*?\*/|//[^\n]*|\\\n|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    spaces = lambda m: m.group(0) if m.group(1) else re.sub(r"[^\n]", " ", m.group(0))
    found = list(TOKEN.finditer(re.sub(keep_strings, spaces, text, flags=re.S)))
    return [token.group(0) for token in found], [token.start() for token in found]


def mutated(text, mutant):
    position, length, replacement, _ = mutant
    return text[:position] + replacement + text[position + length :]


def listed_mutants(path, text, code, equivalents):
    """The list's entries for a file, by the tokens of the mutated file.

    Tokens are compared, so that neither a comment nor another line break invalidates an entry.
    """
    tokens, starts = tokens_of(text)
    listed = collections.defaultdict(set)
    for key in equivalents:
        if key[0].split()[0] != path:
            continue
        old, new = tokens_of(key[1])[0], tokens_of(key[2])[0]
        changed = len(os.path.commonprefix([old[:-1], new]))
        for i in range(len(tokens) - len(old) + 1):
            if tokens[i : i + len(old)] == old:
                if function_at(code, starts[i + changed]) == key[0].split()[1]:
                    listed[tuple(tokens[:i] + new + tokens[i + len(old) :])].add(key)
    return listed
