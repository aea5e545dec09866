#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the manual: every link ends at an anchor, no two places have the same name, every formula
is MathML, and the page loads nothing from outside.

    tests/manual.py build/manual/speclab.html
"""

import sys
from html.parser import HTMLParser

LOADING = {"src", "srcset", "data", "poster", "background", "action"}
EMPTY = {"meta", "br", "hr", "img", "col"}


class Page(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.open, self.complaints = [], [], [], []

    def complain(self, what):
        self.complaints.append(f"line {self.getpos()[0]}: {what}")

    def handle_starttag(self, tag, attributes):
        if tag == "a" and "a" in self.open:
            self.complain("a link inside of a link")
        if tag not in EMPTY:
            self.open.append(tag)
        if tag in ("script", "iframe", "link"):
            self.complain(f"<{tag}>")
        for name, value in attributes:
            if name == "id":
                self.ids.append(value)
            elif name == "href" and tag == "a":
                self.links.append((self.getpos()[0], value))
            elif name == "class" and "math" in (value or "").split():
                self.complain("a formula that pandoc cannot convert to MathML")
            elif name in LOADING and not value.startswith("data:"):
                self.complain(f"<{tag} {name}={value!r}> loads a file")

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.complain(f"</{tag}> closes another element")

    def handle_data(self, data):
        if self.open and self.open[-1] == "style" and ("url(" in data or "@import" in data):
            self.complain("the style loads a file")


def main():
    page = Page()
    with open(sys.argv[1], encoding="utf-8") as file:
        page.feed(file.read())
    page.close()
    if page.open:
        page.complain(f"not closed: {page.open}")
    anchors = set(page.ids)
    page.complaints += [f"two anchors #{name}" for name in sorted(anchors)
                        if page.ids.count(name) > 1]
    for line, link in page.links:
        if link.startswith("#"):
            if link[1:] not in anchors:
                page.complaints.append(f"line {line}: there is no anchor {link}")
        elif not link.startswith("https://"):
            page.complaints.append(f"line {line}: {link} is outside of the page")
    for complaint in page.complaints:
        print(f"manual: {complaint}", file=sys.stderr)
    if page.complaints:
        return 1
    print(f"manual: {len(page.links)} links and {len(anchors)} anchors of the page work")
    return 0


sys.exit(main())
