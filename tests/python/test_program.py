# SPDX-License-Identifier: GPL-3.0-or-later
"""The functions of speclab.program: every option of --help, and the program's own answers."""

import inspect
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import speclab

from support import PROGRAM, cells_of, csv_of, program

MODEL = "random?dim=32&layers=2&heads=2&ffn=64&vocab=96&context=64"
PAIR = {"target": MODEL, "draft": ["layers?exit=1", "quantised?type=q4_0"], "K": 3, "tokens": 8,
        "texts": 2, "c": [0.1, 0.2]}


@unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
class Functions(unittest.TestCase):
    def test_are_the_verbs_with_all_their_options(self):
        verbs = re.findall(r"^  ([a-z]+)  ", program("--help"), re.M)
        self.assertGreater(len(verbs), 20)
        for verb in verbs:
            if verb == "import":
                continue
            help_ = program(verb, "--help").partition("\n\n")[2]
            options = set(re.findall(r"^ {2}.{4}--([\w-]+)", help_, re.M))
            options -= {"help", "version", "all", "force", "format", "output"}
            function = getattr(speclab.program, verb)
            named = {name.rstrip("_").replace("_", "-")
                     for name in inspect.signature(function).parameters} - {"words", "output"}
            self.assertEqual(named, options - {"output"}, verb)
            self.assertTrue(inspect.getdoc(function), verb)

    def test_have_the_rows_and_the_text_of_the_program(self):
        answer = speclab.pair(**PAIR)
        words = ["pair", f"--target={MODEL}", "--draft=layers?exit=1",
                 "--draft=quantised?type=q4_0", "--K=3", "--tokens=8", "--texts=2", "--c=0.1,0.2"]
        self.assertEqual((answer.text, answer.code), (program(*words), 0))
        columns, rows = cells_of(answer.table)
        self.assertEqual((columns, len(rows)), (csv_of(*words)[0], 6))
        self.assertEqual(np.asarray(answer.table["K"]).tolist(), [1, 2, 3, 1, 2, 3])
        self.assertIn("figure: pair", answer.table.attrs["provenance"])

    def test_give_json_where_there_are_no_rows(self):
        answer = speclab.program.step(K=1, seed=7)
        self.assertEqual((answer.report["seed"], answer.table, answer.text), (7, None, ""))

    def test_draw_a_table_as_svg(self):
        table = speclab.predict(alpha=[0.6, 0.8], K="1:4")
        drawn = speclab.plot(table, x="K", y="speedup", by="alpha", title="A title")
        self.assertIn("<svg", drawn._repr_svg_())
        self.assertIn("A title", drawn.figure)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.svg"
            self.assertIsNone(speclab.plot(table, x="K", y="speedup", output=path).figure)
            self.assertIn("<svg", path.read_text())

    def test_refuse_what_the_program_refuses(self):
        with self.assertRaisesRegex(speclab.InputError, "^speclab served: --text-from: which"):
            speclab.served()
        with self.assertRaisesRegex(speclab.InputError, "K must be .* got '-1'"):
            speclab.pair(**{**PAIR, "K": -1})
        with self.assertRaises(TypeError):
            speclab.pair(no_option=1)
        with self.assertRaisesRegex(TypeError, "or a table, got None"):
            speclab.plot(None)

    def test_are_the_program_as_a_module(self):
        done = subprocess.run([sys.executable, "-m", "speclab", "predict", "--K", "3"],
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.returncode), (program("predict", "--K", "3"), 0))
        done = subprocess.run([sys.executable, "-m", "speclab", "predict", "--K", "x"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    unittest.main()
