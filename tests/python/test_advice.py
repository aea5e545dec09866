# SPDX-License-Identifier: GPL-3.0-or-later
"""`advise` has the answer, the text and the table of the program, for files and for texts."""

import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import speclab

from support import PROGRAM, cells_of, csv_of, program

LINE = ("INFO 05-01 14:{:02d}:{:02d} [loggers.py:123] Engine 000: Avg prompt throughput: 0.0 "
        "tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: 8 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 4.1%, Prefix cache hit rate: 0.0%\n")
DRAFTS = ("INFO 05-01 14:{:02d}:{:02d} [metrics.py:101] SpecDecoding metrics: Mean acceptance "
          "length: {:.2f}, Accepted throughput: {:.2f} tokens/s, Drafted throughput: {:.2f} "
          "tokens/s, Accepted: {} tokens, Drafted: {} tokens, Per-position acceptance rate: {}, "
          "Avg Draft acceptance rate: {:.1f}%\n")


def log(K, rounds, alpha=0.7, windows=30):
    """Windows of 10 s of vLLM with eight requests; each draft token is accepted with alpha."""
    lines = []
    for w in range(windows):
        n, at = rounds + 7 * (w % 5), (w // 6, 10 * (w % 6))
        passed = [round(n * min(1, alpha + 0.004 * (w % 3 - 1)) ** (k + 1)) for k in range(K)]
        accepted = sum(passed)
        lines.append(LINE.format(*at, (n + accepted) / 10))
        if K > 0:
            rates = ", ".join(f"{m / n:.3f}" for m in passed)
            lines.append(DRAFTS.format(*at, 1 + accepted / n, accepted / 10, K * n / 10, accepted,
                                       K * n, rates, 100 * accepted / (K * n)))
    return "".join(lines)


SERVER, LATER, PLAIN = log(3, 3800), log(3, 3800, 0.6), log(0, 6200)


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in {"server": SERVER, "later": LATER, "plain": PLAIN}.items():
            path = self.folder / f"{name}.log"
            path.write_text(text)
            setattr(self, name, path)


class Answers(Files):
    def test_have_a_verdict_a_length_and_a_table(self):
        advice = speclab.advise(self.server, plain=str(self.plain), K=(0, 3))
        self.assertEqual((advice.verdict, advice.to_K, advice.decides_K), ("measure", 3, 2))
        self.assertTrue(advice.answer.startswith("Keep K = 3 for now: "), advice.answer)
        self.assertIn('"num_speculative_tokens": 2', advice.setting)
        self.assertEqual(np.asarray(advice.table["K"]).tolist(), [0, 1, 2, 3])
        self.assertAlmostEqual(np.asarray(advice.table["speedup"])[3], 1.55, delta=0.01)

    def test_decide(self):
        keep = speclab.advise(self.server, plain=self.plain, K=(3, 3))
        self.assertEqual((keep.verdict, keep.to_K, keep.decides_K), ("keep", 3, None))
        off = speclab.advise(log(3, 1700), plain=self.plain, K=(0, 3))
        self.assertEqual((off.verdict, off.to_K, off.decides_K), ("measure", 0, 1))
        plain = speclab.advise(self.server)
        self.assertEqual((plain.verdict, plain.to_K, plain.decides_K), ("measure", 3, 0))
        nothing = speclab.advise(self.plain)
        self.assertEqual((nothing.verdict, nothing.to_K, nothing.decides_K),
                         ("nothing", None, None))

    def test_have_diagnoses_with_their_evidence(self):
        [wrong, *_] = speclab.advise(log(3, 3800, 1.1)).diagnoses
        self.assertEqual((wrong["name"], wrong["wrong"]), ("all-accepted", True))
        self.assertIn("draft tokens", wrong["evidence"])
        self.assertTrue(wrong["next"])
        notes = speclab.advise(SERVER).diagnoses
        self.assertIn(("per-position", False), [(note["name"], note["wrong"]) for note in notes])

    @unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
    def test_are_those_of_the_program(self):
        server, plain, later = str(self.server), str(self.plain), str(self.later)
        for advice, arguments, code in [
            (speclab.advise(server, plain=plain, K=(0, 3)),
             [server, "--plain", plain, "--K", "0:3"], 3),
            (speclab.advise([server, later], round_over_plain=1.7),
             [server, later, "--round-over-plain", "1.7"], 3),
            (speclab.advise(self.server, plain_tokens_per_s=77.5, current=3, engine="vllm"),
             [server, "--plain-tokens-per-s", "77.5", "--current", "3", "--engine", "vllm"], 3),
            (speclab.advise(before=server, after=later),
             ["--before", server, "--after", later], 1),
        ]:
            with self.subTest(arguments=arguments):
                self.assertEqual(f"{advice!r}\n", program("advise", *arguments, code=code))
                self.assertEqual(cells_of(advice.table), csv_of("advise", *arguments, code=code))


class Texts(Files):
    def test_have_the_answer_of_their_file(self):
        of_files = speclab.advise(self.server, plain=self.plain)
        for server, plain in [(SERVER, PLAIN.encode()), ([SERVER.encode()], [PLAIN])]:
            advice = speclab.advise(server, plain=plain)
            self.assertEqual(advice.answer, of_files.answer)
            self.assertEqual(cells_of(advice.table), cells_of(of_files.table))
            self.assertIn("speclab advise text NEW --plain plain-text", repr(advice))
            self.assertNotIn("/proc", repr(advice))

    def test_are_compared(self):
        advice = speclab.advise(before=SERVER, after=LATER)
        self.assertTrue(advice.answer.endswith("70.0 % before and is 60.0 % after."), advice.answer)

    def test_have_names_in_errors(self):
        with self.assertRaisesRegex(speclab.InputError, "^text-2: no known format: "):
            speclab.advise([SERVER, "no log\n"])
        with self.assertRaisesRegex(speclab.InputError, "^--plain plain-text: has draft tokens"):
            speclab.advise(SERVER, plain=LATER)


class Errors(Files):
    def refused(self, words, *arguments, kind=speclab.InputError, **options):
        with self.assertRaisesRegex(kind, words):
            speclab.advise(*arguments, **options)

    def test_of_files_have_the_line_of_the_program(self):
        missing, words = self.folder / "missing.log", self.folder / "words.log"
        means = self.folder / "means.csv"
        words.write_text("no log at all\n")
        means.write_text("Model,coding,math,Overall\nmine,2.1,2.9,2.5\n")
        for path, kind in [(missing, speclab.FailedError), (words, speclab.InputError),
                           (means, speclab.InputError)]:
            with self.assertRaises(kind) as caught:
                speclab.advise(path)
            self.assertTrue(str(caught.exception).startswith(f"{path}:"))
            if PROGRAM:
                done = subprocess.run([PROGRAM, "advise", path], capture_output=True, text=True)
                self.assertEqual(done.stderr, f"speclab advise: {caught.exception}\n")

    def test_of_arguments_name_them(self):
        self.refused("give either logs, or before and after")
        self.refused("give either logs, or before and after", SERVER, before=SERVER, after=SERVER)
        self.refused("before and after must be given together", SERVER, before=SERVER)
        self.refused("no file is given", [])
        self.refused("is given twice", [self.server, self.server])
        self.refused("K must be .*got 3 to 2", SERVER, K=(3, 2))
        self.refused("K must be .low, high., whole numbers from 0 to 64, got 5", SERVER, K=5)
        self.refused("K must be .*got .0, 1099511627776.", SERVER, K=(0, 2**40))
        self.refused("current must be above 0, got 0", SERVER, current=0)
        self.refused("current must be 1 to 64, got 65", SERVER, current=65)
        self.refused("round_over_plain must be .*got -1", SERVER, round_over_plain=-1)
        self.refused("give only one of", SERVER, plain=PLAIN, round_over_plain=1.4)
        self.refused("did you mean 'vllm'", SERVER, engine="vlm")
        self.refused("", 5, kind=TypeError)


if __name__ == "__main__":
    unittest.main()
