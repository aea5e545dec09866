# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables have the numbers of the program's CSV, for every verb and measure."""

import sys
import unittest
from pathlib import Path

import numpy as np
import speclab
from speclab.experiment import text_of

from support import PROGRAM, cells_of, csv_of, program

try:
    import pandas
except ImportError:
    pandas = None

PAIR = ["--target", "zipf?V=20&s=1.2", "--draft", "zipf?V=20"]

# A call of the package, and the program's arguments for the same table.
VERBS = [
    (lambda: speclab.predict(), ["predict"]),
    (lambda: speclab.predict([0.27, 1.0], range(0, 4), "0,0.1"),
     ["predict", "--alpha", "0.27,1", "--K", "0:3", "--c", "0,0.1"]),
    (lambda: speclab.predict(0.7, 3, ops_ratio=0.05),
     ["predict", "--alpha", "0.7", "--K", "3", "--ops-ratio", "0.05"]),
    (lambda: speclab.sweep(rounds=2000, seed=7), ["sweep", "--rounds", "2000", "--seed", "7"]),
    (lambda: speclab.sweep([0.6, 0.9], (2, 5), process="decay?rate=0.9", standard_error=0.02),
     ["sweep", "--alpha", "0.6,0.9", "--K", "2,5", "--process", "decay?rate=0.9",
      "--standard-error", "0.02"]),
    (lambda: speclab.sweep(0.8, 3, target="zipf?V=50", rule=["token", "block"], rounds=2000),
     ["sweep", "--target", "zipf?V=50", "--alpha", "0.8", "--K", "3", "--rule", "token,block",
      "--rounds", "2000"]),
    (lambda: speclab.sweep(K=3, target="zipf?V=50", draft="zipf?V=50&s=2", rounds=1000),
     ["sweep", "--target", "zipf?V=50", "--draft", "zipf?V=50&s=2", "--K", "3", "--rounds",
      "1000"]),
    (lambda: speclab.accept(), ["accept"]),
    (lambda: speclab.accept("zipf?V=9", "zipf?V=9&s=2", rule=["token", "kseq"], n=[1, 2]),
     ["accept", "--target", "zipf?V=9", "--draft", "zipf?V=9&s=2", "--rule", "token,kseq",
      "--n", "1,2"]),
    (lambda: speclab.prove(), ["prove"]),
    (lambda: speclab.prove(rule=["token", "block"]), ["prove", "--rule", "token,block"]),
    (lambda: speclab.prove(drafting=["chain", "tree?n=2&siblings=top"], K=[1, 2], tokens=2),
     ["prove", "--drafting", "chain,tree?n=2&siblings=top", "--K", "1,2", "--tokens", "2"]),
    (lambda: speclab.prove(policy=["fixed", "confidence"]),
     ["prove", "--policy", "fixed,confidence"]),
    (lambda: speclab.prove("probs:0.5,0.3,0.2", "probs:0.2,0.5,0.3", rule="rrsw",
                           drafting="tree?n=2&siblings=without", K=1, tokens=2),
     ["prove", "--target", "probs:0.5,0.3,0.2", "--draft", "probs:0.2,0.5,0.3", "--rule", "rrsw",
      "--drafting", "tree?n=2&siblings=without", "--K", "1", "--tokens", "2"]),
    (lambda: speclab.plan(), ["plan", "--c", "0.1"]),
    (lambda: speclab.plan([0.6, 0.2], nodes=[4, 9], c=0.05, methods=["chain", "sequoia"]),
     ["plan", "--accept", "0.6,0.2", "--nodes", "4,9", "--c", "0.05", "--methods",
      "chain,sequoia"]),
    (lambda: speclab.plan(target=PAIR[1], draft=PAIR[3], nodes=5, rounds=500, positions=500,
                          c=0.1),
     ["plan", *PAIR, "--nodes", "5", "--rounds", "500", "--positions", "500", "--c", "0.1"]),
    (lambda: speclab.serve(0.7, [5, 10], requests=50),
     ["serve", "--alpha", "0.7", "--rate", "5,10", "--requests", "50"]),
    (lambda: speclab.serve(0.7, slots=4, K=[0, 3], prompt=100, requests=20),
     ["serve", "--alpha", "0.7", "--slots", "4", "--K", "0,3", "--prompt", "100", "--requests",
      "20"]),
    (lambda: speclab.serve(rate=5, K=3, lengths=["fixed", "goodput"], max_batch=8, requests=20),
     ["serve", "--rate", "5", "--K", "3", "--lengths", "fixed,goodput", "--batch", "8",
      "--requests", "20"]),
    (lambda: speclab.plan(target=PAIR[1], draft=PAIR[3], nodes=5, rounds=500, positions=500,
                          c=0.2, rule="match"),
     ["plan", *PAIR, "--nodes", "5", "--rounds", "500", "--positions", "500", "--c", "0.2",
      "--rule", "match"]),
]

# Experiments of speclab that take seconds, whose measures others have, too.
SLOW = {
    "advice_decides", "advice_recovers", "block", "block_drafts", "certificates", "dominance",
    "draft_or_verify", "hsd", "lossy_cases", "orders", "policies", "prove_ahead", "prove_cases",
    "prove_copies", "prove_copies_trees", "races", "real_text", "real_text_alpha", "rheo_trees",
    "rules_lossless", "rules_real_text", "serve", "serve_batch_ahead", "serve_claims",
    "serve_context_acceptance", "serve_context_lengths", "serve_coverage", "serve_load",
    "serve_near_capacity", "serve_switching", "sibling_bounds", "temperature", "temperature_rules",
    "traversal", "trees",
}


@unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
class SameNumbersAsTheProgram(unittest.TestCase):
    maxDiff = 2000

    def same(self, table, arguments):
        columns, rows = csv_of(*arguments)
        own_columns, own_rows = cells_of(table)
        self.assertEqual(own_columns, columns)
        self.assertEqual(own_rows, rows)
        self.assertGreater(len(rows), 0)

    def test_of_each_verb(self):
        for call, arguments in VERBS:
            with self.subTest(arguments=arguments):
                self.same(call(), arguments)

    def test_of_each_cheap_experiment(self):
        names = [row[1] for row in csv_of("list", "experiments")[1] if "; needs your" not in row[2]]
        self.assertTrue(SLOW < set(names))
        for name in sorted(set(names) - SLOW):
            with self.subTest(name=name):
                table = speclab.run(name, set={"rounds": 500})
                code = table.attrs["fails"] > 0
                self.assertEqual(cells_of(table), csv_of("run", name, "--rounds", "500", code=code))

    def test_measures_that_no_verb_has(self):
        experiment = {"measure": "distribution", "grid": {"alpha": 0.7, "K": 3}}
        self.same(speclab.run(experiment), ["predict", "--alpha", "0.7", "--K", "3", "-d"])
        experiment = {"measure": "prove_cases", "grid": {
            "rule": "token", "drafting": "chain", "K": 2, "tokens": 3, "cases": 5}}
        table = speclab.run(experiment)
        columns, rows = csv_of("prove", "--rule", "token", "--drafting", "chain", "--cases", "5")
        own = dict(zip(*[cells_of(table)[0], cells_of(table)[1][0]]))
        self.assertEqual([own[name] for name in columns], rows[0])


class Run(unittest.TestCase):
    TEXT = 'measure = "predict"; grid = { alpha = [0.5, 0.8]; K = 3; };'

    def test_takes_a_text_a_dict_a_file_and_a_name(self):
        as_text = cells_of(speclab.run(self.TEXT))
        as_dict = {"measure": "predict", "grid": {"alpha": np.array([0.5, 0.8]), "K": np.int64(3)}}
        self.assertEqual(cells_of(speclab.run(as_dict)), as_text)
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "mine.cfg")
            file.write_text(self.TEXT)
            table = speclab.run(file)
        self.assertEqual(cells_of(table), as_text)
        self.assertIn("experiment: mine\n", table.attrs["provenance"])
        self.assertEqual(len(speclab.run("speedup_table", set={"rounds": 100})), 40)

    def test_overrides_and_seed_change_the_rows(self):
        experiment = {"measure": "acceptance", "rounds": 1000, "grid": {"alpha": 0.8, "K": 3}}
        table = speclab.run(experiment, set={"K": [1, 2]}, seed=2**64 - 1)
        self.assertEqual(np.asarray(table["K"]).tolist(), [1, 2])
        self.assertIn("seed: 18446744073709551615", table.attrs["provenance"])
        other = speclab.run(experiment, set={"K": [1, 2]}, seed=1)
        self.assertNotEqual(cells_of(other), cells_of(table))

    def test_attrs_tell_provenance_and_checks(self):
        attrs = speclab.sweep(0.8, 4, rounds=10**5).attrs
        self.assertTrue(attrs["provenance"].startswith(f"speclab {speclab.version()}\n"))
        self.assertEqual((attrs["holds"], attrs["fails"]), (1, 0))

    def test_columns_have_the_type_of_their_cells(self):
        table = speclab.accept(rule="token")
        self.assertEqual(table["n"].dtype, np.int64)
        self.assertEqual(table["acceptance"].dtype, np.float64)
        self.assertEqual(np.asarray(table["rule"]).tolist(), ["token"])
        self.assertTrue(np.isnan(np.asarray(table["acceptance_se"])).all())

    def test_prints_columns_with_and_without_pandas(self):
        table = speclab.predict(alpha=[0.25, 0.5], K=1)
        text = table[["alpha", "K"]].head(1).round(1).to_string(index=False)
        self.assertEqual(text.split(), ["alpha", "K", "0.2", "1"])

    def test_makes_a_dataframe_where_pandas_is_installed(self):
        table = speclab.predict()
        self.assertIs(type(table), speclab.Table if pandas is None else pandas.DataFrame)

    def test_looks_for_pandas_once(self):
        class Finder:
            looked = 0

            def find_spec(self, name, path, target=None):
                self.looked += name == "pandas"

        speclab.predict()
        finder = Finder()
        sys.meta_path.insert(0, finder)
        self.addCleanup(sys.meta_path.remove, finder)
        speclab.predict()
        self.assertEqual(finder.looked, 0)

    def test_errors_are_one_line_that_names_the_input(self):
        for experiment, line in [
            ('measure = "predictt"; grid = { K = 3; };', "predict"),
            ({"measure": "predict", "grid": {"alpha": 0.5, "KK": 3}}, "KK"),
            ({"measure": "predict", "grid": {"alpha": float("nan")}},
             "alpha must be a finite number"),
            ({"measure": "predict", "grid": {"alpha": object()}}, "must be a finite number"),
            ("no_such_experiment", "neither the text"),
        ]:
            with self.assertRaises(speclab.InputError) as caught:
                speclab.run(experiment)
            self.assertIn(line, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
        with self.assertRaisesRegex(speclab.InputError, "seed must be a whole number"):
            speclab.run(self.TEXT, seed=-1)
        with self.assertRaises(FileNotFoundError):
            speclab.run(Path("no/such/file.cfg"))

    def test_a_point_that_is_too_large_is_a_row(self):
        experiment = {"measure": "prove", "grid": {
            "rule": "token", "draft": "chain:probs:0.5,0.5", "target": "probs:0.4,0.6",
            "K": [8, 1], "tokens": [1]}}
        table = speclab.run(experiment, limit=100)
        self.assertEqual(np.asarray(table["verdict"]).tolist(), ["too large", "lossless"])
        self.assertEqual(table.attrs["holds"], 1)

    def test_progress_counts_points(self):
        heard = []
        speclab.sweep(0.8, "1:4", rounds=1000, progress=lambda done, total: heard.append(
            (done, total)))
        self.assertEqual(heard[-1], (4, 4))


class Names(unittest.TestCase):
    def test_have_their_claims_and_are_those_of_specs(self):
        rules = dict(zip(*(np.asarray(speclab.names("rule")[column]).tolist()
                           for column in ("name", "claim"))))
        self.assertEqual(rules["token"], "lossless")
        self.assertEqual(rules["resample-target"], "wrong")
        self.assertGreater(len(speclab.names()), len(rules))
        with self.assertRaisesRegex(speclab.InputError, "there is no list of 'rules'"):
            speclab.names("rules")

    def test_of_a_draft_that_no_rule_supports_is_refused(self):
        with self.assertRaisesRegex(speclab.InputError, "no draft strategy is named 'nope'"):
            speclab.prove(drafting=["chain", "nope"])
        with self.assertRaisesRegex(speclab.InputError, "reads the tokens of a chain"):
            speclab.prove(drafting=["chain", "tree?n=2"], policy=["fixed", "confidence"])


class Texts(unittest.TestCase):
    def test_of_dicts_read_back_as_they_were(self):
        text = text_of({"measure": "predict", "title": 'a "b" \\ c\nd', "grid": {
            "alpha": (0.5, 1e-300), "K": range(2)}, "points": [{"c": 0.25}, {"c": 1}]})
        self.assertEqual(text, 'measure = "predict";\ntitle = "a \\"b\\" \\\\ c\\nd";\n'
                               "grid = { alpha = ( 0.5, 1e-300 ); K = ( 0, 1 ); };\n"
                               "points = ( { c = 0.25; }, { c = 1; } );\n")
        self.assertEqual(len(speclab.run(text)), 8)


class ATable(unittest.TestCase):
    TABLE = speclab.Table({"K": np.array([1, 10]), "emitted": np.array([1.8, np.nan]),
                           "rule": np.array(["a<b", None], object)}, {"provenance": "here"})

    def test_is_read_by_column(self):
        self.assertEqual(self.TABLE.columns, ["K", "emitted", "rule"])
        self.assertEqual(self.TABLE.shape, (2, 3))
        self.assertEqual(list(self.TABLE), ["K", "emitted", "rule"])
        self.assertEqual(self.TABLE.to_dict()["K"], [1, 10])
        self.assertEqual(self.TABLE[["rule", "K"]].to_dict(), {"rule": ["a<b", None], "K": [1, 10]})
        self.assertEqual(self.TABLE.head(1).to_dict(),
                         {"K": [1], "emitted": [1.8], "rule": ["a<b"]})
        self.assertEqual(self.TABLE.round().to_dict()["emitted"][0], 2.0)
        self.assertEqual(self.TABLE[["K"]].head(1).round(1).attrs, self.TABLE.attrs)

    def test_prints_aligned_columns_and_html(self):
        self.assertEqual(repr(self.TABLE),
                         " K  emitted  rule\n 1      1.8   a<b\n10      nan      ")
        self.assertEqual(self.TABLE.to_string(index=False), str(self.TABLE))
        self.assertIn("<td>a&lt;b</td>", self.TABLE._repr_html_())
        hostile = speclab.Table({"a\x1b[31m": np.array(["b\x9b\u202e"], dtype=object)}, {})
        self.assertEqual(str(hostile), "a?[31m\n   b??")

    @unittest.skipIf(pandas is None, "pandas is absent")
    def test_becomes_a_dataframe(self):
        frame = self.TABLE.to_pandas()
        self.assertEqual(frame.attrs, {"provenance": "here"})
        self.assertEqual(list(frame["K"]), [1, 10])


class Formulas(unittest.TestCase):
    @unittest.skipUnless(PROGRAM, "SPECLAB is not the path of the program")
    def test_are_those_of_the_program(self):
        columns, rows = csv_of("predict", "--alpha", "0.27,1", "--K", "0:3", "--c", "0.1")
        f = speclab.formulas
        for row in rows:
            of = dict(zip(columns, row))
            alpha, K, c = float(of["alpha"]), int(of["K"]), float(of["c"])
            own = {"emitted": f.emitted_mean(alpha, K), "emitted_var": f.emitted_variance(alpha, K),
                   "speedup": f.speedup(alpha, K, c), "ops_factor": f.ops_factor(alpha, K, c),
                   "best_K": f.best_K(alpha, c), "best_speedup": f.best_speedup(alpha, c),
                   "break_even_alpha": f.break_even_alpha(K, c)}
            for name, value in own.items():
                self.assertEqual(text_of_number(value), of[name].replace("nan", ""), (name, of))

    def test_broadcast_over_arrays(self):
        f = speclab.formulas
        alpha, K = np.array([[0.5], [0.8]]), np.array([1, 2, 3])
        speedups = f.speedup(alpha, K, 0.1)
        self.assertEqual(speedups.shape, (2, 3))
        self.assertEqual(speedups[1, 2], f.speedup(0.8, 3, 0.1))
        self.assertIsInstance(f.speedup(0.8, 3, 0.1), float)
        law = f.accepted_probability(0.7, 4, np.arange(5))
        self.assertAlmostEqual(law.sum(), 1.0, places=14)
        self.assertAlmostEqual((law * np.arange(1, 6)).sum(), f.emitted_mean(0.7, 4), places=14)
        self.assertEqual(f.memory_factor(0.0, 4), 1.0)
        self.assertAlmostEqual(f.speedup_from_emitted(f.emitted_mean(0.7, 4), 4, 0.2),
                               f.speedup(0.7, 4, 0.2), places=14)

    def test_are_nan_outside_the_domain(self):
        f = speclab.formulas
        values = [f.emitted_mean(1.5, 3), f.emitted_variance(0.5, 2.5), f.emitted_variance(0.5, -1),
                  f.emitted_variance(0.5, 2**40)]
        self.assertTrue(np.isnan(values).all(), values)


def text_of_number(value):
    return "" if np.isnan(value) else f"{value:.10g}"


if __name__ == "__main__":
    unittest.main()
