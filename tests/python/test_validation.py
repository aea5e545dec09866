# SPDX-License-Identifier: GPL-3.0-or-later
"""`validate` passes samplers that are right, fails wrong ones, and names wrong answers."""

import json
import time
import unittest
import xml.etree.ElementTree as xml

import numpy as np
import speclab

from support import PROGRAM, pick, program, token_rule

try:
    import torch
except ImportError:
    torch = None

FEW = ["plain-4", "zipf-16", "batch-3", "blind-64"]


def rng(seed=1):
    return np.random.default_rng(seed)


def verify_one(generator, wrong=False):
    """The token rule on one draft, in plain Python."""

    def verify(step):
        tokens, K = [], len(step.target) - 1
        drafted = step.token
        if step.scope == "DV":
            drafted = pick(step.draft[:K].astype(float), generator.random(K))
        for k in range(K):
            if generator.random() * step.draft[k, drafted[k]] >= step.target[k, drafted[k]]:
                break
            tokens.append(drafted[k])
        k = len(tokens)
        row = step.target[k].astype(float)
        if k < K and not wrong:
            row = np.maximum(row - step.draft[k], 0)
        tokens.append(pick(row, generator.random(())))
        return tokens if step.scope == "V" else (drafted, tokens)

    return verify


def generate(generator, wrong=False):
    """Texts by speculation from the two models of a request."""

    def write(request):
        text = list(request.context)
        while len(text) < len(request.context) + request.n_tokens:
            draft, target = request.draft(text), request.target(text)
            token = pick(draft.astype(float), generator.random(()))
            if generator.random() * draft[token] >= target[token]:
                row = target.astype(float) if wrong else np.maximum(target - draft.astype(float), 0)
                token = pick(row, generator.random(()))
            text.append(int(token))
        return text[len(request.context):]

    return write


class Verdicts(unittest.TestCase):
    def passes(self, sampler, **options):
        v = speclab.validate(sampler, only=FEW, draws=options.pop("draws", 10**6), **options)
        self.assertIn(v.verdict, ("PASS", "INCONCLUSIVE"), v)
        self.assertGreater(v.report["p"], 1e-6)
        return v

    def fails(self, sampler, **options):
        v = speclab.validate(sampler, draws=10**6, **options)
        self.assertEqual(v.verdict, "FAIL", v)
        return v

    def test_of_a_batched_numpy_sampler(self):
        v = speclab.validate(token_rule(rng()), batched=True, only=["plain-4"], draws=3 * 10**6)
        self.assertEqual(v.verdict, "PASS", v)
        self.passes(token_rule(rng()), batched=True)
        self.fails(token_rule(rng(), residual=False), batched=True)

    def test_of_a_sampler_that_drafts_too(self):
        v = self.passes(token_rule(rng()), batched=True, scope="DV")
        self.assertEqual({r["scope"] for r in v.report["results"]}, {"DV"})
        self.fails(token_rule(rng(), residual=False), batched=True, scope="DV")

    def test_of_a_plain_function(self):
        for scope in ("V", "DV"):
            self.passes(verify_one(rng()), scope=scope, draws=10**5)
            self.fails(verify_one(rng(), wrong=True), scope=scope)

    def test_of_a_sampler_of_texts(self):
        self.passes(generate(rng()), scope="S", draws=10**5)
        self.fails(generate(rng(), wrong=True), scope="S")

    def test_of_a_sampler_that_is_lossy_by_declaration(self):
        v = speclab.validate(token_rule(rng(), residual=False), batched=True, lossy=True,
                             draws=10**6)
        self.assertEqual(v.verdict, "LOSSY")

    @unittest.skipIf(torch is None, "torch is absent")
    def test_of_a_torch_sampler(self):
        generator = torch.Generator().manual_seed(1)

        def verify(batch):
            target, draft = torch.tensor(batch.target), torch.tensor(batch.draft)
            token = torch.tensor(batch.token).long()
            n, K = token.shape
            i, k = torch.arange(n)[:, None], torch.arange(K)
            coin = torch.rand((n, K), generator=generator)
            passed = coin * draft[i, k, token] < target[i, k, token]
            accepted = passed.long().cumprod(1).sum(1)
            j = torch.arange(n)
            row, other = target[j, accepted], draft[j, accepted]
            row = torch.where((accepted < K)[:, None], (row - other).clamp(min=0), row)
            answer = torch.cat([token, torch.zeros((n, 1), dtype=token.dtype)], 1)
            answer[j, accepted] = torch.multinomial(row, 1, generator=generator)[:, 0]
            return answer, accepted + 1

        self.passes(verify, batched=True, draws=10**5)


class Inputs(unittest.TestCase):
    def test_are_views_of_the_declared_shapes(self):
        seen = set()
        check = self

        def verify(batch):
            shape = batch.n, batch.n_nodes + 1, batch.vocab
            check.assertEqual(batch.target.shape, shape)
            check.assertEqual(batch.target.dtype, np.float32)
            check.assertFalse(batch.target.flags.owndata or batch.target.flags.writeable)
            check.assertEqual(batch.token.shape, shape[:1] + (batch.n_nodes,))
            for ids in (batch.request, batch.seed, batch.offset):
                check.assertEqual((ids.shape, ids.dtype), ((batch.n,), np.uint64))
            rows = batch.target.sum(axis=2)
            used = np.arange(batch.n_nodes + 1) <= batch.length[:, None]
            check.assertTrue(np.allclose(rows, used, atol=1e-5))
            check.assertEqual(batch.scope, "V")
            seen.add((batch.drawn, batch.draft is None, batch.parent is None, batch.coin is None))
            raise StopIteration

        for only, options, expected in [
            ("plain-4", {}, ("iid", False, True, True)),
            ("fixed-4", {"chains": ["fixed"]}, ("fixed", True, True, True)),
            ("pair-without-4", {"trees": ["without"]}, ("without", False, False, True)),
            ("coins-8", {"coins": True}, ("iid", False, True, False)),
        ]:
            with self.assertRaises(StopIteration):
                speclab.validate(verify, batched=True, only=[only], **options)
            self.assertIn(expected, seen)

    def test_of_samplers_that_filter_have_the_sampling_parameters(self):
        def verify(step):
            raise KeyError(step.sampling)

        with self.assertRaises(KeyError) as caught:
            speclab.validate(verify, sampling=True, only=["top-k-16"])
        self.assertEqual(caught.exception.args[0].top_k, 5)

    def test_may_be_logits(self):
        def verify(batch):
            raise KeyError(float(np.exp(batch.target[0, 0].astype(float)).sum()))

        with self.assertRaises(KeyError) as caught:
            speclab.validate(verify, batched=True, rows="logits", only=["plain-4"])
        self.assertNotEqual(caught.exception.args[0], 0.0)


class WrongAnswers(unittest.TestCase):
    def refused(self, error, line, sampler, **options):
        with self.assertRaises(error) as caught:
            speclab.validate(sampler, only=["plain-4"], **options)
        self.assertIn(line, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def answering(self, token=None, emitted=None):
        def verify(batch):
            t = np.zeros((batch.n, batch.n_nodes + 1), np.int64)
            n = np.ones(batch.n, np.int64)
            return (t if token is None else token(t)), (n if emitted is None else emitted(n))
        return verify

    def test_of_batches_are_one_line(self):
        for error, line, sampler in [
            (TypeError, "returned nothing: return a tuple (token, n_emitted)", lambda batch: None),
            (TypeError, "returned a tuple of 1: return", lambda batch: (batch.token,)),
            (ValueError, "(n, n_nodes + 1), got (256, 9)",
             self.answering(lambda t: np.zeros((len(t), 9), int))),
            (TypeError, "token must be whole numbers, such as int32, got float64",
             self.answering(lambda t: t * 1.0)),
            (ValueError, "token[1, 0] must be 0 to 3, got 4",
             self.answering(lambda t: t + 4 * (np.arange(len(t)) == 1)[:, None])),
            (ValueError, "token[0, 0] must be 0 to 3, got -1", self.answering(lambda t: t - 1)),
            (TypeError, "n_emitted must be whole numbers, such as int32, got bool",
             self.answering(None, lambda n: n > 0)),
            (ValueError, "n_emitted must have shape",
             self.answering(None, lambda n: n[:1])),
            (ValueError, "n_emitted[0] must be 1 to 4 for a draft of 3 tokens, got 0",
             self.answering(None, lambda n: n - 1)),
            (ValueError, "n_emitted[0] must be", self.answering(None, lambda n: n + 8)),
        ]:
            with self.subTest(line=line):
                self.refused(error, line, sampler, batched=True)

    def test_after_the_emitted_tokens_do_not_matter(self):
        def verify(batch):
            token, emitted = rule(batch)
            token[np.arange(batch.n_nodes + 1) >= emitted[:, None]] = -7
            return token, emitted

        rule = token_rule(rng())
        v = speclab.validate(verify, batched=True, only=["plain-4"], draws=10**5)
        self.assertNotEqual(v.verdict, "FAIL")

    def test_of_single_drafts_and_texts_are_one_line(self):
        self.refused(ValueError, "returned 9 tokens: a draft of 3 gives 1 to 4", lambda s: [0] * 9)
        self.refused(ValueError, "token[0, 0] must be 0 to 3, got 17", lambda step: [17])
        self.refused(TypeError, "the answer must be whole numbers, such as int32, got float64",
                     lambda step: [0.5])
        self.refused(ValueError, "the text must have shape",
                     lambda request: [0], scope="S")
        self.refused(ValueError, "text[0] must be 0 to 3, got 4",
                     lambda request: [4] * request.n_tokens, scope="S")

    def test_of_drafts_are_one_line(self):
        def short(batch):
            return (*self.answering()(batch), np.zeros((batch.n, 1), int))

        def wild(batch):
            return (*self.answering()(batch), np.full((batch.n, batch.n_nodes), -1))

        for line, sampler in [("draft must have shape", short), ("draft[0, 0] must be 0 to", wild)]:
            with self.assertRaises(ValueError) as caught:
                speclab.validate(sampler, batched=True, scope="DV", only=["blind-64"])
            self.assertIn(line, str(caught.exception))
        with self.assertRaisesRegex(TypeError, r"a list: return \(draft, tokens\)"):
            speclab.validate(lambda step: [0], scope="DV", only=["blind-64"])

    def test_and_options_are_named(self):
        for line, options in [
            ("scope: 'X' is none of V, DV, S", {"scope": "X"}),
            ("chains: 'tree' is none of fixed, iid, without", {"chains": ["tree"]}),
            ("no-such-fixture", {"only": ["no-such-fixture"]}),
            ("'no-such-test'", {"only": "no-such-test"}),
            ("eps must be above 0 and below 1, got 2", {"eps": 2.0}),
            ("seed must be a whole number from 0 to 2^64 - 1, got -1", {"seed": -1}),
            ("max_batch is 4294967296", {"max_batch": 2**32}),
        ]:
            with self.assertRaises(speclab.InputError) as caught:
                speclab.validate(token_rule(rng()), batched=True, draws=1000, **options)
            self.assertIn(line, str(caught.exception))


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.good = speclab.validate(token_rule(rng()), batched=True, only=["plain-4"],
                                    draws=3 * 10**6, name="mine")
        cls.bad = speclab.validate(token_rule(rng(), residual=False), batched=True)

    def test_are_read_as_text(self):
        lines = repr(self.good).splitlines()
        self.assertEqual(lines[0], "PASS: no difference seen")
        self.assertTrue(repr(self.bad).startswith(f"FAIL: {self.bad.reason}\n"))
        self.assertIn("mine; scope V", lines[1])
        self.assertIn("first token      a TV of", repr(self.good))
        self.assertRegex(repr(self.bad), r"looks like +residual-from-target")

    def test_are_html_with_a_figure_that_has_its_values_as_text(self):
        for v in (self.good, self.bad):
            page = xml.fromstring(f"<body>{v._repr_html_()}</body>")
            (figure,) = page.iter("{http://www.w3.org/2000/svg}svg")
            self.assertRegex(figure.get("aria-label"), r"\d\.\d+")
        self.assertIn("seen", self.bad.figure())
        self.assertEqual(self.good.figure().count("<circle"), 4)

    def test_have_the_report_of_the_program(self):
        report = json.loads(json.dumps(self.bad.report))
        self.assertEqual(report["verdict"], "FAIL")
        self.assertEqual(report["sampler"]["name"], "verify")
        if PROGRAM:
            own = json.loads(program("validate", "rule:token", "--budget", "1000", "--only",
                                     "plain-4", "--scopes", "V", "--format", "json", code=3))
            self.assertEqual(set(own) - {"together_command"}, set(report))

    def test_depend_on_seed_and_sampler_alone(self):
        def verify(batch):  # a generator for each round, from its seed
            n, K = batch.n, batch.n_nodes
            coin = np.stack([np.random.default_rng([int(s), int(o)]).random(2 * K + 1)
                             for s, o in zip(batch.seed, batch.offset)])
            return token_rule(Coins(coin))(batch)

        runs = [speclab.validate(verify, batched=True, seeded=True, only=["plain-4"], draws=20000,
                                 seed=seed).report for seed in (7, 7, 8)]
        self.assertEqual(runs[0], runs[1])
        self.assertNotEqual(runs[0]["log_e"], runs[2]["log_e"])


class Coins:
    """In place of a generator: the next columns of given uniform numbers."""

    def __init__(self, coin):
        self.coin, self.at = coin, 0

    def random(self, shape):
        width = shape[1] if isinstance(shape, tuple) else 1
        columns = self.coin[:, self.at:self.at + width]
        self.at += width
        return columns if isinstance(shape, tuple) else columns[:, 0]


class Speed(unittest.TestCase):
    def test_of_a_batched_sampler_is_half_a_million_rounds_per_second(self):
        began = time.process_time()
        v = speclab.validate(token_rule(rng()), batched=True, only=["plain-4"], draws=2 * 10**6)
        speed = v.report["rounds"] / (time.process_time() - began)
        # A busy machine halves it; copies of the batch would make it a tenth.
        self.assertGreater(speed, 250_000)


if __name__ == "__main__":
    unittest.main()
