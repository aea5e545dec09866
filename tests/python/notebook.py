# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the cells of a notebook and compares what they print with its outputs.

    notebook.py [--update] FILE.ipynb        --update writes the outputs into the notebook

Plain Python, without Jupyter: a cell's outputs are what it prints and the value of its last
expression, as text and HTML. Text is compared; HTML must be there.
"""

import ast
import contextlib
import io
import json
import sys
from pathlib import Path


def run_cell(source, names):
    """The outputs of a cell, in the notebook's format."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(last, "cell", "eval"), names) if last is not None else None
    outputs = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream",
                        "text": printed.getvalue().splitlines(True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(True)
        outputs.append({"data": data, "metadata": {}, "output_type": "display_data"})
    return outputs


def text_of(outputs):
    """What is compared: printed text, text of values, and which formats they have."""
    return [(output.get("text"), output.get("data", {}).get("text/plain"),
             sorted(output.get("data", {}))) for output in outputs]


def main(arguments):
    update = arguments[0] == "--update"
    path = Path(arguments[-1])
    notebook = json.loads(path.read_text())
    names, wrong = {}, 0
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        outputs = run_cell("".join(cell["source"]), names)
        if update:
            cell["outputs"] = outputs
        elif text_of(outputs) != text_of(cell["outputs"]):
            wrong += 1
            print(f"{path}: cell {number} has other outputs than the notebook:")
            print(json.dumps(text_of(outputs), indent=1))
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
    print(f"notebook: {len(cells) - wrong} of {len(cells)} cells print what {path} says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
