# SPDX-License-Identifier: GPL-3.0-or-later
"""What programs that read the languages of our outputs find in an escaped text.

    escape_oracle.py LANGUAGE FILE    a line for each case: the text and what was written, in hex

Fails on the first text that is not read as itself: as its characters, with a substitute for each
that is forbidden there. Exit 77: the program that reads the language is missing."""
import csv
import io
import re
import shutil
import subprocess
import sys
import unicodedata
import xml.etree.ElementTree
from html.parser import HTMLParser
from urllib.parse import unquote_to_bytes, urlsplit

DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


def is_forbidden(c):
    return (unicodedata.category(c) in ("Cc", "Zl", "Zp")
            or unicodedata.bidirectional(c) in DIRECTIONS or c in "\u200e\u200f\u061c"
            or 0xfdd0 <= ord(c) <= 0xfdef or ord(c) & 0xfffe == 0xfffe)


def shown(raw, substitute, spaces):
    """The text with substitutes; spaces says what becomes of newline, tab and carriage return."""
    text, at = "", 0
    while at < len(raw):
        for n in range(1, 5):
            try:
                c = raw[at:at + n].decode()
            except UnicodeDecodeError:
                continue
            text += spaces.get(c, substitute if is_forbidden(c) else c)
            break
        else:
            n, text = 1, text + substitute
        at += n
    return text


BLANKS = {"\n": " ", "\t": " ", "\r": " "}


def same(found, wanted, raw, written):
    if found != wanted:
        sys.exit(f"{raw!r} was written as {written!r}, read as {found!r}, not {wanted!r}")


def output_of(command, given):
    if shutil.which(command[0]) is None:
        print(f"{command[0]} is missing")
        sys.exit(77)
    ran = subprocess.run(command, input=given, capture_output=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{command}: exit {ran.returncode}: {ran.stderr[-300:]}")
    return ran.stdout


def one_by_one(check):
    def all_of(cases):
        for raw, written in cases:
            check(raw, written)
    return all_of


@one_by_one
def terminal(raw, written):
    same(written.decode(), shown(raw, "?", {"\n": "\n", "\t": "\t"}), raw, written)


@one_by_one
def line(raw, written):
    same(written.decode(), shown(raw, "?", BLANKS), raw, written)


@one_by_one
def in_place(raw, written):
    same(written.decode(), shown(raw, "?", {}), raw, written)


class Page(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text = [], ""

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.tags.append(("comment", data))

    handle_decl = handle_pi = unknown_decl = handle_comment


@one_by_one
def html(raw, written):
    wanted, text = shown(raw, "\ufffd", {"\n": "\n", "\t": "\t"}), written.decode()
    page = Page()
    page.feed(f'<p title="{text}" class=\'{text}\'>{text}</p>')
    page.close()
    same(page.tags, [("p", [("title", wanted), ("class", wanted)])], raw, written)
    same(page.text, wanted, raw, written)
    tree = xml.etree.ElementTree.fromstring(f'<p title="{text}">{text}</p>')
    same(tree.text or "", wanted, raw, written)
    same(tree.get("title"), wanted.replace("\n", " ").replace("\t", " "), raw, written)


def folded(text):
    return " ".join(text.split())


def blocks_of(document):
    """The blocks that GitHub's parser finds, as XML."""
    found = output_of(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e",
                       "strikethrough", "-t", "xml"], document.encode())
    found = re.sub(rb"<!DOCTYPE[^>]*>|xmlns=\"[^\"]*\"", b"", found)
    return list(xml.etree.ElementTree.fromstring(found))


def text_of(node, kinds, raw, written):
    """The text of a node, whose parts must be of these kinds. GitHub makes a link of an e-mail
    address, and no escape prevents that."""
    for part in node.iter():
        if part.tag == "link" and part.get("destination").startswith("mailto:"):
            continue
        if part is not node and part.tag not in kinds:
            sys.exit(f"{raw!r} was written as {written!r}, read as <{part.tag}>")
    return "".join(part.text or "" for part in node.iter() if part.tag in ("text", "code"))


def in_markdown(wrap, check):
    """Between two texts is a line, so that code of one does not continue that of the other."""
    def all_of(cases):
        if check is block_check: # a code block of blanks is none
            cases = [case for case in cases if case[0].strip(b" \t\r\n")]
        blocks = blocks_of("".join(wrap(written.decode()) + "* * *\n\n"
                                   for _, written in cases))
        blocks = [block for block in blocks if block.tag != "thematic_break"]
        if len(blocks) != len(cases):
            for block, (raw, written) in zip(blocks, cases):
                check(block, raw, written)
            sys.exit(f"{len(cases)} texts became {len(blocks)} blocks")
        for block, (raw, written) in zip(blocks, cases):
            check(block, raw, written)
    return all_of


def table_check(kinds):
    def check(block, raw, written):
        same(block.tag, "table", raw, written)
        cells = [cell for row in block for cell in row]
        same(len(cells), 4, raw, written)
        wanted = folded(shown(raw, "\ufffd", BLANKS))
        for cell in (cells[0], cells[3]):
            found = text_of(cell, kinds, raw, written)
            same(folded(found), wanted, raw, written)
    return check


def title_check(block, raw, written):
    same(block.tag, "heading", raw, written)
    found = text_of(block, {"text"}, raw, written)
    same(folded(found), folded(shown(raw, "\ufffd", BLANKS)), raw, written)


def prose_check(block, raw, written):
    same(block.tag, "paragraph", raw, written)
    text_of(block, {"text", "code", "emph", "strong", "strikethrough"}, raw, written)


def block_check(block, raw, written):
    same(block.tag, "code_block", raw, written)
    lines = re.split("\r\n|\r|\n", raw.decode("latin-1"))
    wanted = "\n".join(shown(of.encode("latin-1"), "\ufffd", BLANKS) for of in lines)
    same(folded(block.text), folded(wanted), raw, written)


def link_check(block, raw, written):
    same([part.tag for part in block], ["link"], raw, written)
    to = block[0].get("destination")
    same(urlsplit(to).scheme, "", raw, written)
    same(unquote_to_bytes(to), raw, raw, written)


LATEX = {"\\textbackslash{}": "\\", "\\textasciitilde{}": "~", "\\textasciicircum{}": "^",
         "\\textless{}": "<", "\\textgreater{}": ">", "\\textbar{}": "|", "\\char34{}": '"',
         "\\textasciigrave{}": "`", "{}": "", "~": "\xa0", "$\\pm$": "\xb1", "$\\times$": "\xd7",
         "$\\alpha$": "\u03b1", "$\\beta$": "\u03b2", "$\\rho$": "\u03c1",
         "$\\sqrt{\\,}$": "\u221a", "$-$": "\u2212", "$\\le$": "\u2264", "$\\ge$": "\u2265",
         "\\textemdash{}": "\u2014", "\\textendash{}": "\u2013", "\\dots{}": "\u2026",
         **{"\\" + c: c for c in "{}$&#_%"}}


@one_by_one
def latex(raw, written):
    """LaTeX itself is seldom there: what is written consists of commands with a known sign, and of
    characters that mean nothing to LaTeX and form no ligature."""
    text, at, found = written.decode(), 0, ""
    while at < len(text):
        name = next((name for name in LATEX if text.startswith(name, at)), None)
        if name is None and text[at] in "\\{}$&#_%~^\"`":
            sys.exit(f"{raw!r} was written as {written!r}, with a special {text[at]!r}")
        found += LATEX[name] if name is not None else text[at]
        at += len(name or "x")
    if text.startswith(("[", "*")) or "--" in text or "''" in text or ",," in text:
        sys.exit(f"{raw!r} was written as {written!r}")
    same(found, shown(raw, "?", BLANKS), raw, written)


def gnuplot_with(form):
    def all_of(cases):
        program = b"set print '-'\nset encoding utf8\n" + b"".join(
            form % written + b"\n" for _, written in cases)
        lines = output_of(["gnuplot", "--default-settings", "-"], program).split(b"\n")
        for found, (raw, written) in zip(lines, cases):
            same(found.decode(), shown(raw, "?", {}), raw, written)
        same(len(lines), len(cases) + 1, b"", b"")
    return all_of


def shell(cases):
    script = b"".join(b"printf '%s\\0' " + written + b"\n" for _, written in cases)
    for program in (["sh"], ["bash"], ["zsh"], ["busybox", "sh"]):
        if program[0] in ("zsh", "busybox") and shutil.which(program[0]) is None:
            continue
        words = output_of(program, script).split(b"\0")
        for found, (raw, written) in zip(words, cases):
            if found != b"./" + raw or not raw.startswith(b"-"):
                same(found, raw, raw, written)
        same(len(words), len(cases) + 1, b"", b"")
    for raw, written in cases:
        same(shown(written, "?", {"\n": "\n"}).encode(), written, raw, written)


def csv_(cases):
    rows = b"".join(written + b"," + written + b"\r\n" for _, written in cases).decode("latin-1")
    found = list(csv.reader(io.StringIO(rows, newline=""), strict=True))
    same(len(found), len(cases), b"", b"")
    for row, (raw, written) in zip(found, cases):
        same(row, 2 * [raw.decode("latin-1")], raw, written)


LANGUAGES = {
    "terminal": terminal, "line": line, "in_place": in_place, "html": html, "latex": latex,
    "title": in_markdown("# {}\n\n".format, title_check),
    "cell": in_markdown("| {0} | b |\n| --- | --- |\n| c | {0} |\n\n".format,
                        table_check({"text"})),
    "code": in_markdown("| {0} | b |\n| --- | --- |\n| c | {0} |\n\n".format,
                        table_check({"text", "code"})),
    "prose": in_markdown("**Label.** {}\n\n".format, prose_check),
    "block": in_markdown("{}".format, block_check),
    "link": in_markdown("[x]({})\n\n".format, link_check),
    "gnuplot": gnuplot_with(b"print %s"), "tic": gnuplot_with(b"print gprintf(%s, 1.0)"),
    "shell": shell, "csv": csv_,
}


def main():
    language, path = sys.argv[1:]
    with open(path, encoding="ascii") as file:
        cases = [tuple(bytes.fromhex(part) for part in row.rstrip("\n").split(" "))
                 for row in file]
    LANGUAGES[language](cases)
    print(f"escape: {language}: {len(cases)} texts")


if __name__ == "__main__":
    main()
