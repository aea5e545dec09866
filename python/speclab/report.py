# SPDX-License-Identifier: GPL-3.0-or-later
"""A report of `validate` as text and HTML."""

from __future__ import annotations

import math
from html import escape
from typing import Any

# The kinds of tokens for which a difference is looked for, as the report names them.
PLACES = {"first": "first token", "later": "later positions", "text": "text",
          "correction": "corrections", "bonus": "bonus tokens"}


def lines_of(report: dict[str, Any]) -> list[tuple[str, str]]:
    """What was tested, and how sure it is: a name and a sentence for each line."""
    plan, results = report["plan"], report["results"]
    tested = sum(1 for result in results if result["rounds"] > 0)
    lines = [
        ("sampler", f'{report["sampler"]["name"]}; scope {", ".join(report["sampler"]["scopes"])}'),
        ("tested", f'{tested} fixtures; {report["rounds"]:,} rounds, {report["draws"]:,} tokens; '
                   f'seed {plan["seed"]}'),
        ("evidence", f'e = {_exp(report["log_e"])}, where {_exp(report["log_e_fail"])} is a FAIL; '
                     f'p = {report["p"]:.2g} over all tests'),
        ("false alarm", "a lossless sampler gets FAIL with a probability of at most "
                        f'{plan["false_alarm_rate"]:g}'),
    ]
    if "each_request" in report:
        lines.append(("each request", report["each_request"]["reason"]))
    if report["verdict"] not in ("FAIL", "DEPENDENT"):
        lines += [(PLACES[place], _power(of, plan["power"]))
                  for place, of in report["power"].items()]
    case = report["reproducer"]
    if case is not None:
        lines.append(("found by", f'fixture {case["fixture"]}, scope {case["scope"]}, '
                                  f'test {case["hard"] or case["test"]}'))
    lines += [("looks like", f'{hint["mistake"]} ({hint["where"]})')
              for hint in report["hints"][:1]]
    return lines


def _power(of: dict[str, Any], power: float) -> str:
    if of["worst_tv"] is None:
        return f'no guarantee ({of["reached"]} fixtures)'
    return (f'a TV of {of["worst_tv"]:.2g} is found with a chance of {power:g} '
            f'on {of["covered"]} of {of["reached"]} fixtures')


def _exp(log: float | str) -> str:
    return f"{math.exp(log):.3g}" if isinstance(log, (int, float)) and log < 700 else "inf"


def text_of(report: dict[str, Any]) -> str:
    """The report as lines of text. The reason of a PASS repeats what they say of each place."""
    passed = report["verdict"] == "PASS"
    reason = report["reason"].split(";")[0] if passed else report["reason"]
    head = [f'{report["verdict"]}: {reason}']
    return "\n".join(head + [f"  {name:<16} {said}" for name, said in lines_of(report)])


def html_of(report: dict[str, Any]) -> str:
    """The report as an HTML table."""
    rows = "".join(f'<tr><th style="text-align:left">{escape(name)}</th>'
                   f'<td style="text-align:left">{escape(said)}</td></tr>'
                   for name, said in lines_of(report))
    return (f'<p><strong>{escape(report["verdict"])}</strong>: {escape(report["reason"])}</p>'
            f"<table>{rows}</table>")
