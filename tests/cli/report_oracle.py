# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages of `speclab report` from random hostile files, read by parsers of HTML and Markdown.

    report_oracle.py SPECLAB PAGES SEED    in a folder of its own

Fails on an element, an attribute or a block that is not of speclab's own page. Exit 77: cmark-gfm
is missing."""
import csv
import io
import random
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree
from html.parser import HTMLParser

PIECES = [
    "<script>", "</p>", "</pre>", "</td>", "<!--", "-->", "<![CDATA[", "]]>", "&lt;", "&#60;", "&",
    '"', "'", "`", "``", "|", "\\", "*", "**", "_", "~~", "#", "- ", "![a](b)", "[a]: b",
    "[a](javascript:b)", "http://a.b", "www.a.org", "\t", "\r", "\x1b[31m", "\x9b", "\u00e9",
    "\u202e", "\uffff", "x", "1", " ", "$(touch P)", "=", "---", "\n", "\n\n# a", "\n    b",
    "\n<b>", "verdict", "PASS", "FAIL",
    # a browser that takes these for markup leaves a mark on the page
    "<script>document.documentElement.dataset.acted = 1</script>",
    "<img src=x onerror=document.documentElement.dataset.acted=1>",
    "' onfocus=document.documentElement.dataset.acted=1 autofocus '"]
ELEMENTS = set("html head meta title style body main h1 p nav ol li a section h2 strong code div "
               "table caption thead tr th tbody td pre script ul figure object details "
               "summary".split())
NODES = set("document heading text paragraph table table_header table_row table_cell code_block "
            "code strong list item softbreak link".split())


class Page(HTMLParser):
    """The elements of a page, and its attributes that run or load something."""

    def __init__(self, text):
        super().__init__()
        self.found, self.attributes = set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.found.add(tag)
        self.attributes += [(name, value) for name, value in attrs
                            if name.startswith("on") or name in ("href", "src", "data", "srcdoc")]

    def handle_comment(self, data):
        self.found.add(data)


def faults_of_html(page):
    parsed = Page(page)
    faults = list(parsed.found - ELEMENTS)
    ours = r"href=#r\d+|data=data:image/svg\+xml;base64,.*"
    faults += [pair for pair in parsed.attributes
               if not re.fullmatch(ours, "=".join(map(str, pair)))]
    return faults + ["<script"] * (page.count("<script") - 1)


def faults_of_markdown(page):
    found = subprocess.run(
        ["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink", "-e", "strikethrough", "-t",
         "xml"], input=page.encode(), capture_output=True, check=True).stdout
    root = xml.etree.ElementTree.fromstring(
        re.sub(rb"<!DOCTYPE[^>]*>|xmlns=\"[^\"]*\"", b"", found))
    faults = [node.tag for node in root.iter() if node.tag not in NODES]
    faults += [link.get("destination") for link in root.iter("link")
               if not link.get("destination").startswith("mailto:")]
    widths = {len(row) for table in root.iter("table") for row in table}
    return faults + (["a row of another width"] if len(widths) > 1 else [])


def text(chance, most=5):
    return "".join(chance.choice(PIECES) for _ in range(chance.randint(1, most)))


def file_of(chance):
    out = io.StringIO()
    out.write("# experiment: " + text(chance, 8).replace("\n", " ") + "\n")
    out.write(f"# measure: {chance.choice(['prove', 'sweep'])}\n")
    columns = {text(chance, 3): None for _ in range(2)}
    columns[chance.choice(["verdict", "z"])] = None
    table = csv.writer(out)
    table.writerow(columns)
    for _ in range(chance.randint(1, 4)):
        table.writerow([text(chance) for _ in columns])
    return out.getvalue()


def reports(program, pages, seed):
    """Yields (options, name, page) of the reports that the program writes, of two in each."""
    chance = random.Random(seed)
    for _ in range(pages):
        name = re.sub("[/\n]", "", text(chance))[:40] + ".csv"
        with open(name, "w", encoding="utf-8", newline="") as file:
            file.write(file_of(chance))
        for form in [], ["--html"]:
            ran = subprocess.run([program, "report", *form, "--title", text(chance), "--", name],
                                 capture_output=True, check=False)
            if ran.returncode in (0, 1):
                yield form, name, ran.stdout


def main():
    program, pages, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if shutil.which("cmark-gfm") is None:
        print("cmark-gfm is missing")
        sys.exit(77)
    read = 0
    for form, name, page in reports(program, pages, seed):
        read += 1
        faults = (faults_of_html if form else faults_of_markdown)(page.decode())
        faults += re.findall(rb"[\0-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", page)
        if faults:
            sys.exit(f"report {read} of seed {seed}, {name!r}: {faults}")
    if read < pages:
        sys.exit(f"{read} of {2 * pages} pages were written")
    print(f"report: {read} pages")


if __name__ == "__main__":
    main()
