# SPDX-License-Identifier: GPL-3.0-or-later
"""Rounds, simulations and texts, and files of rows that are written and read back."""

import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
import speclab

from support import PROGRAM, ROOT, program

try:
    import torch
except ImportError:
    torch = None

TARGET, DRAFT = "probs:0.5,0.2,0.1,0.2", "probs:0.4,0.3,0.2,0.1"
BYTES = f"ngram:{ROOT}/experiments/text/prose.txt?tokens=bytes&order="


class Rounds(unittest.TestCase):
    def test_follow_the_given_coins(self):
        r = speclab.round(TARGET, DRAFT, 1, coins=[0.5, 0.7, 0.6])
        self.assertEqual((r.token.tolist(), r.n_accepted, r.draft.tolist()), ([3], 0, [1]))
        draw, judge, correct = r.decisions
        self.assertEqual((draw.kind, draw.phase, draw.answer, draw.coin), ("pick", "draft", 1, 0.5))
        self.assertEqual((judge.kind, judge.answer, judge.num, judge.den), ("accept", 0, 0.2, 0.3))
        np.testing.assert_allclose(correct.weight, [0.1, 0, 0, 0.1], atol=1e-15)
        self.assertEqual(r.coins_used, 3)
        self.assertEqual([d.role for d in r.decisions], ["draft", "test", "correction"])
        self.assertEqual([(d.node, d.after) for d in r.decisions], [(0, -1), (0, -1), (-1, -1)])

    def test_have_the_rows_of_both_models(self):
        r = speclab.round(TARGET, DRAFT, 3, seed=5)
        np.testing.assert_array_equal(r.target_row, np.tile([0.5, 0.2, 0.1, 0.2], (4, 1)))
        np.testing.assert_array_equal(r.draft_row, np.tile([0.4, 0.3, 0.2, 0.1], (3, 1)))
        self.assertEqual(r.parent.tolist(), [-1, 0, 1])
        self.assertTrue(r.drawn.all())
        self.assertEqual(r.token[:r.n_accepted].tolist(), r.draft[r.node].tolist())

    def test_of_trees_and_of_no_draft(self):
        r = speclab.round(TARGET, DRAFT, 2, rule="rrs", drafting="tree?widths=2.1")
        self.assertEqual(r.parent.tolist(), [-1, -1, 0, 1])
        r = speclab.round(TARGET, K=0, drafting="lookup")
        self.assertEqual((len(r.token), r.draft.size, r.n_accepted), (1, 0, 0))
        r = speclab.round("markov?V=9&order=1", K=3, drafting="lookup", context=[1, 2, 3] * 3)
        self.assertGreater(len(r.draft), 0)
        self.assertEqual(r.draft_row, [None] * len(r.draft))


    def test_of_wrong_numbers_are_refused_by_name(self):
        for name, value in [("seed", -1), ("K", 2**40)]:
            with self.assertRaisesRegex(speclab.InputError, f"^{name} is {value}: "):
                speclab.round(TARGET, DRAFT, **{name: value})
        with self.assertRaisesRegex(TypeError, "^K is 1.5: an integer is required"):
            speclab.round(TARGET, DRAFT, 1.5)


class Simulations(unittest.TestCase):
    def test_end_at_the_limit_near_the_theory(self):
        s = speclab.simulate(alpha=0.8, K=4, rounds=10**6)
        self.assertRegex(repr(s), "^<Simulation of 0 rounds: .*goes on>$")
        groups = list(s)
        self.assertEqual([g.done for g in groups], [False] * (len(groups) - 1) + [True])
        self.assertEqual(groups[-1], s.read())
        self.assertEqual(s.read().rounds, 10**6)
        self.assertRegex(repr(s), "^<Simulation of 1,000,000 rounds: 3.36.*, done>$")
        theory = speclab.formulas.emitted_mean(0.8, 4)
        self.assertLess(abs(s.read().emitted - theory), 5 * s.read().emitted_se)
        self.assertEqual(s.accepted().sum(), 10**6)
        self.assertAlmostEqual((s.accepted() * np.arange(1, 6)).sum() / 1e6, s.read().emitted)

    def test_of_models_depend_on_the_seed_alone(self):
        runs = [speclab.simulate(TARGET, DRAFT, 3, seed=seed).run() for seed in (1, 1, 2)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0].emitted, runs[2].emitted)
        self.assertEqual(runs[0].rounds, 10**6)

    def test_need_a_target_or_alpha(self):
        for options in ({}, {"target": TARGET, "alpha": 0.5}):
            with self.assertRaisesRegex(speclab.InputError, "either a target or alpha"):
                speclab.simulate(**options)


class Texts(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
    def test_are_those_of_the_program(self):
        own = speclab.generate(BYTES + "5", BYTES + "3", prompt="The ", most=50, K=3)
        said = json.loads(program("generate", "--target", BYTES + "5", "--draft", BYTES + "3", "-p",
                                  "The ", "-n", "50", "-K", "3", "--format", "json"))
        text = said["texts"][0]
        self.assertEqual(str(own), text["text"])
        self.assertEqual(own.token, [token["token"] for token in text["tokens"]])
        self.assertEqual(own.origin, [token["origin"] for token in text["tokens"]])
        self.assertEqual(own.ending, text["ended"])
        self.assertEqual((own.rounds, own.drafted), (said["rounds"], said["drafted"]))

    def test_go_on_round_by_round(self):
        whole = speclab.generate(TARGET, DRAFT, most=9, seed=3, prompt=[1, 2])
        text = speclab.generate(TARGET, DRAFT, most=9, seed=3, prompt=[1, 2], whole=False)
        self.assertEqual((text.token, text.ending), ([], "goes on"))
        while text.round():
            self.assertLessEqual(len(text.token), 9)
        self.assertEqual(text.token, whole.token)
        self.assertFalse(text.round())
        self.assertEqual((text.ending, len(text.token)), ("length", 9))
        self.assertIn("<Text of 9 tokens", repr(text))

    def test_show_the_origin_of_tokens_in_html(self):
        page = speclab.generate(BYTES + "5", BYTES + "3", most=60)._repr_html_()
        self.assertIn('<span title="draft"', page)
        self.assertNotIn("<script", page)


class Rows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name, "mine.rows")
        self.rng = np.random.default_rng(3)

    def read(self, side, place):
        spec = f"rows:{self.file}?at={place}" + (f"&side={side}" if side else "")
        return speclab.round(spec, K=0, drafting="lookup").target_row[0]

    def test_are_read_as_they_were_written(self):
        target, draft, other = self.rng.dirichlet(np.ones(5), (3, 20))
        speclab.rows.write(self.file, target, [draft, other])
        for place in (0, 7, 19):
            for side, rows in (("", target), ("draft", draft), ("draft2", other)):
                np.testing.assert_allclose(self.read(side, place), rows[place], rtol=1e-15)
        exact = np.array([[0.25, 0.5, 0.25], [1.0, 0.0, 0.0]])
        speclab.rows.write(self.file, exact)
        np.testing.assert_array_equal([self.read("", 0), self.read("", 1)], exact)

    @unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
    def test_pass_the_checks_of_the_program_and_have_its_overlap(self):
        target, draft = self.rng.dirichlet(np.ones(5), (2, 30))
        tokens = self.rng.integers(0, 5, 30)
        speclab.rows.write(self.file, target, draft, tokens=tokens, names=["mine", "small"])
        said = json.loads(program("rows", str(self.file), "--format", "json"))[0]
        self.assertEqual((said["positions"], said["tokens"], said["V"]), (30, 30, 5))
        self.assertEqual((said["target"], said["draft"]), ("mine", "small"))
        self.assertAlmostEqual(said["beta_mean"], np.minimum(target, draft).sum(1).mean(), places=9)
        loss = -np.log(target[np.arange(30), tokens]).mean()
        self.assertAlmostEqual(said["target_log_loss"], loss, places=9)

    @unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
    def test_of_logits_are_before_the_next_token(self):
        logits, other = self.rng.normal(size=(2, 2, 9, 6)).astype(np.float32)
        ids = self.rng.integers(0, 6, (2, 9))
        speclab.rows.write_logits(self.file, ids, logits, other, temperature=0.5)
        said = json.loads(program("rows", str(self.file), "--format", "json"))[0]
        self.assertEqual((said["positions"], said["tokens"], said["texts"]), (16, 18, 2))
        rows = np.exp(logits.astype(float) / 0.5)
        rows /= rows.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(self.read("", 8), rows[1, 0], rtol=1e-12)
        seen = np.take_along_axis(rows[:, :-1], ids[:, 1:, None], 2)
        self.assertAlmostEqual(said["target_log_loss"], -np.log(seen).mean(), places=9)

    def test_of_large_vocabularies_leave_out_the_small_ones(self):
        row = np.full(1000, 1e-9)
        row[:2] = 0.4, 0.6 - 998e-9
        speclab.rows.write(self.file, row[None])
        self.assertLess(self.file.stat().st_size, 1000)
        np.testing.assert_allclose(self.read("", 0)[:2], row[:2], rtol=1e-5)
        speclab.rows.write(self.file, row[None], cutoff=0)
        np.testing.assert_allclose(self.read("", 0), row, rtol=1e-12)

    def test_that_are_wrong_are_one_line(self):
        good = np.full((3, 4), 0.25)
        write, logits = speclab.rows.write, speclab.rows.write_logits
        for line, call in [
            ("side 0 must have shape (positions, vocabulary), got (4,)",
             lambda: write(self.file, good[0])),
            ("side 1 must have the target's shape, (3, 4), got (2, 4)",
             lambda: write(self.file, good, good[:2])),
            ("side 0, row 0: sum 0.5, least 0.125: not probabilities",
             lambda: write(self.file, good / 2)),
            ("least -0.25", lambda: write(self.file, good - [[0.5, -0.5, 0, 0]])),
            ("sum nan", lambda: write(self.file, good * np.nan)),
            ("tokens must have shape (3,), a token for each row, got (2,)",
             lambda: write(self.file, good, tokens=[0, 1])),
            ("tokens[1] must be 0 to 3, got 4", lambda: write(self.file, good, tokens=[0, 4, 1])),
            ("one name for each of 2 sides, got 1",
             lambda: write(self.file, good, good, names=["mine"])),
            ("sides must be 1 to 8", lambda: write(self.file, good, [good] * 8)),
            ("cutoff must be 0 to 0.01, got 0.5", lambda: write(self.file, good, cutoff=0.5)),
            ("temperature must be above 0, got 0",
             lambda: logits(self.file, [0, 1, 2], good, temperature=0)),
            ("at least two tokens", lambda: logits(self.file, [0], good[:1])),
            ("logits 1: the largest is inf",
             lambda: logits(self.file, [0, 1, 2], np.where(np.eye(3, 4, -1) > 0, np.inf, good))),
        ]:
            with self.subTest(line=line):
                with self.assertRaises(ValueError) as caught:
                    call()
                self.assertIn(line, str(caught.exception))
                self.assertNotIn("\n", str(caught.exception))
        self.assertFalse(self.file.exists())
        with self.assertRaises(speclab.FailedError):
            write("/no/such/folder/x.rows", good)

    @unittest.skipIf(torch is None, "torch is absent")
    def test_of_torch_may_have_16_bits(self):
        logits = torch.randn(1, 5, 7).to(torch.bfloat16)
        speclab.rows.write_logits(self.file, torch.arange(5)[None], logits)
        np.testing.assert_allclose(self.read("", 2), logits.double().softmax(-1)[0, 2], rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
