#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the site: every link ends at a page and an anchor, every page is reached from the start
page, no page has two anchors of one name, every formula is MathML, nothing is loaded from outside,
and search finds.

    tests/site.py build/site
"""

import json
import pathlib
import sys
from html.parser import HTMLParser

sys.path.append(str(pathlib.Path(__file__).parent / "web"))
import browsers  # noqa: E402

LOADING = {"src", "srcset", "data", "poster", "background", "action"}
LOADS = ("url(http", "@import", 'href="http', "fetch(", "XMLHttp")
EMPTY = {"meta", "br", "hr", "img", "col", "link", "input"}
# What to type, and the page that must come first.
SEARCHES = {"speclab validate": "speclab-validate.html",
            "block verification": "formulas-rules.html#block-verification",
            "roofline hardware": "gallery.html#roofline",
            "speclab_round_run": "c-speclab.html#speclab_round_run"}


class Page(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.path = path
        self.ids, self.links, self.files, self.open, self.complaints = [], [], [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        if self.open:
            self.complain(f"not closed: {self.open}")
        for name in sorted(set(self.ids)):
            if self.ids.count(name) > 1:
                self.complain(f"two anchors #{name}")

    def complain(self, what):
        self.complaints.append(f"{self.path.name}:{self.getpos()[0]}: {what}")

    def handle_starttag(self, tag, attributes):
        if tag == "a" and "a" in self.open:
            self.complain("a link inside of a link")
        if tag not in EMPTY:
            self.open.append(tag)
        if tag in ("iframe", "style"):
            self.complain(f"<{tag}>")
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            elif name == "href" and tag == "a":
                self.links.append((self.getpos()[0], value))
            elif name == "class" and "math" in (value or "").split():
                self.complain("a formula that pandoc cannot convert to MathML")
            elif tag == "mstyle" and name == "mathvariant":
                self.complain("a style of letters that browsers ignore")
            elif name == "href" or name in LOADING:
                self.files.append(value)
            elif name == "style" or name.startswith("on"):
                self.complain(f"<{tag} {name}>")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.complain(f"</{tag}> closes another element")


def check(folder):
    """What is wrong, and the number of pages, links and anchors."""
    pages = {path.name: Page(path) for path in sorted(folder.glob("*.html"))
             if path.name != "lab.html"}  # which tests/web checks
    complaints = [one for page in pages.values() for one in page.complaints]
    reached, new = set(), ["index.html"]
    while new:
        page = pages[new.pop()]
        reached.add(page.path.name)
        for line, link in page.links:
            name, _, anchor = link.partition("#")
            name = name or page.path.name
            if link.startswith("https://"):
                continue
            if not (folder / name).is_file():
                complaints.append(f"{page.path.name}:{line}: there is no {name}")
            elif anchor and anchor not in pages[name].ids:
                complaints.append(f"{page.path.name}:{line}: {name} has no anchor #{anchor}")
            elif name in pages and name not in reached and name not in new:
                new.append(name)
    complaints += [f"{name}: no link leads here" for name in sorted(set(pages) - reached)]
    for page in pages.values():
        complaints += [f"{page.path.name}: loads {file!r}, which is no file of the site"
                       for file in page.files if not (folder / file).is_file()]
    for path in [folder / "style.css", folder / "search.js", *folder.glob("**/*.svg")]:
        complaints += [f"{path.name}: {part}" for part in LOADS if part in path.read_text()]
    index = (folder / "index.js").read_text().removeprefix("siteIndex(").removesuffix(");\n")
    for name, _, sections in json.loads(index):
        complaints += [f"index.js: {name}.html has no anchor #{anchor}" for anchor, _, _ in sections
                       if anchor and anchor not in pages[f"{name}.html"].ids]
    return complaints, len(pages), sum(len(page.links) for page in pages.values())


def search(folder):
    """Types into the box of a page that was opened as a file, and says what is wrong."""
    complaints = []
    with browsers.Chromium() as browser:
        address = folder.resolve().as_uri()
        for words, page in SEARCHES.items():
            browser.open(f"{address}/faq.html")
            browser.click("#search input")
            browser.wait("return typeof sections === 'object' && sections !== null")
            browser.type(words)
            first = browser.wait("return document.querySelector('#found a')?.href")
            if first != f"{address}/{page}":
                complaints.append(f"search: {words!r} finds {first} and not {page} first")
            browser.press("Enter")
            browser.wait("return location.href === arguments[0]", arguments=(first,))
        outside = [url for url in browser.requests() if not url.startswith(address)]
        complaints += [f"the site asks for {url}" for url in outside]
        complaints += browser.complaints()
    return complaints


def main():
    folder = pathlib.Path(sys.argv[1])
    complaints, pages, links = check(folder)
    searched = bool(browsers.Chromium.there())
    if searched:
        complaints += search(folder)
    for complaint in dict.fromkeys(complaints):
        print(f"site: {complaint}", file=sys.stderr)
    if complaints:
        return 1
    print(f"site: {links} links of {pages} pages work, " + (
        "and search finds" if searched else "search is not checked: there is no chromium"))
    return 0


sys.exit(main())
