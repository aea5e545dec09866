# SPDX-License-Identifier: GPL-3.0-or-later
"""Interrupts, exceptions of callbacks, forks, threads, and libraries of another version."""

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
import traceback
import unittest
from pathlib import Path

import numpy as np
import speclab

from support import cells_of, python, token_rule

# Each prints "ready" when the call is under way, and is interrupted then.
ENDLESS = {
    "a run": """
        speclab.sweep(0.8, 4, rounds=10**12, progress=lambda done, total: ready())""",
    "a run of many points, which keeps finished ones": """
        def heard(done, total):
            if done >= 1: ready()
        try:
            speclab.sweep("0.01:0.99:0.01", 4, standard_error=1e-4, progress=heard)
        except KeyboardInterrupt as error:
            assert len(error.table) >= 1
            raise""",
    "a simulation": """
        for estimates in speclab.simulate("zipf?V=9", "zipf?V=9&s=2", rounds=10**9):
            ready()""",
    "a text": """
        text = speclab.generate("markov?V=50&order=1&seed=3", "markov?V=50&order=1&seed=4", most=0,
                                whole=False)
        while text.round():
            ready()""",
    "a validation": """
        def verify(batch):
            ready()
            return token_rule(np.random.default_rng(1))(batch)
        speclab.validate(verify, batched=True, draws=10**9)""",
    "a sampler that sleeps": """
        def verify(batch):
            ready()
            time.sleep(10000)
        speclab.validate(verify, batched=True)""",
    "a sampler that never returns": """
        def verify(batch):
            ready()
            while True: pass
        speclab.validate(verify, batched=True)""",
}
PRELUDE = f"""
import sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
import numpy as np, speclab
from support import token_rule
said = False
def ready():
    global said
    if not said: print("ready", flush=True)
    said = True
"""


class CtrlC(unittest.TestCase):
    def test_ends_every_call(self):
        for name, code in ENDLESS.items():
            with self.subTest(name=name):
                began = time.monotonic()
                status, _, err = python(PRELUDE + code.replace("\n        ", "\n"),
                                        signal=signal.SIGINT)
                self.assertEqual(status, -signal.SIGINT)
                self.assertEqual(err.splitlines()[-1].split(":")[0], "KeyboardInterrupt", err)
                self.assertLess(time.monotonic() - began, 20)

    def test_ends_a_call_whichever_thread_gets_it(self):
        status, _, err = python(PRELUDE + """
import signal, threading
def heard(done, total):
    if not said: signal.pthread_kill(threading.get_ident(), signal.SIGINT)
    ready()
speclab.sweep(0.8, 4, rounds=10**12, progress=heard)
""")
        self.assertEqual(status, -signal.SIGINT)
        self.assertEqual(err.splitlines()[-1].split(":")[0], "KeyboardInterrupt", err)

    def test_leaves_the_library_usable(self):
        _, out, err = python(PRELUDE + """
def verify(batch):
    ready()
    while True: time.sleep(0.01)
try:
    speclab.validate(verify, batched=True)
except KeyboardInterrupt:
    print(len(speclab.predict()))
""", signal=signal.SIGINT)
        self.assertEqual(out, "1\n", err)


    def test_lets_simulations_and_texts_go_on(self):
        simulation = speclab.simulate(alpha=0.8, K=4)
        text = speclab.generate("zipf?V=9", "zipf?V=9&s=2", whole=False)
        for opened in (simulation, text):
            opened._stop[0] = 1  # as an interrupted call leaves it
        self.assertGreater(simulation.next().rounds, 0)
        self.assertTrue(text.round())


class Odd(Exception):
    pass


class Exceptions(unittest.TestCase):
    def test_of_a_sampler_arrive_unchanged_with_their_traceback(self):
        thrown = Odd("no more coffee")

        def sampler(batch):
            raise thrown

        for scope in ("V", "DV", "S"):
            try:
                speclab.validate(sampler, scope=scope, batched=True)
                self.fail("no exception")
            except Odd as caught:
                self.assertIs(caught, thrown)
                frames = traceback.extract_tb(caught.__traceback__)
                self.assertIn("raise thrown", [frame.line for frame in frames])

    def test_of_a_progress_callback_end_the_call(self):
        def heard(*_):
            raise Odd

        with self.assertRaises(Odd):
            speclab.sweep(0.8, 4, rounds=10**12, progress=heard)
        with self.assertRaises(Odd):
            speclab.validate(token_rule(np.random.default_rng(1)), batched=True, progress=heard)

    def test_of_exit_end_the_call_too(self):
        def sampler(batch):
            sys.exit(3)

        with self.assertRaises(SystemExit):
            speclab.validate(sampler)

    def test_have_the_class_of_their_cause(self):
        with self.assertRaises(ValueError):
            speclab.round("zipf?V=0")
        with self.assertRaises(speclab.Error):
            speclab.generate("no_such_file.gguf")


class Forks(unittest.TestCase):
    def in_child(self, work):
        """What the child returns, as text; a child that hangs is killed."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            signal.alarm(30)
            try:
                os.write(write, str(work()).encode())
            except BaseException as error:
                os.write(write, f"{type(error).__name__}: {error}".encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            said = answer.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        return said

    def test_give_the_child_a_library_of_its_own(self):
        here = speclab.sweep(0.8, 4, rounds=10**5)
        self.assertEqual(self.in_child(lambda: cells_of(speclab.sweep(0.8, 4, rounds=10**5))),
                         str(cells_of(here)))

    def test_refuse_the_parents_objects_in_the_child(self):
        simulation = speclab.simulate(alpha=0.8, K=4)
        text = speclab.generate("zipf?V=9", "zipf?V=9&s=2", whole=False)
        simulation.next()
        text.round()
        self.assertIn("ForkedError: this process was forked", self.in_child(simulation.next))
        self.assertIn("ForkedError: this process was forked", self.in_child(text.round))
        self.assertTrue(self.in_child(lambda: simulation.read().rounds).isdigit())
        simulation.next()


class Threads(unittest.TestCase):
    def test_may_run_several_calls_at_once(self):
        expected = cells_of(speclab.sweep([0.5, 0.8], [2, 4], rounds=10**5))
        seen, verdicts = [], []

        def sweep():
            seen.append(cells_of(speclab.sweep([0.5, 0.8], [2, 4], rounds=10**5)))

        def validate(seed):
            sampler = token_rule(np.random.default_rng(seed))
            verdicts.append(speclab.validate(sampler, batched=True, draws=10**5).verdict)

        threads = [threading.Thread(target=sweep) for _ in range(4)]
        threads += [threading.Thread(target=validate, args=[seed]) for seed in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(seen, [expected] * 4)
        self.assertEqual(verdicts, ["INCONCLUSIVE"] * 2)

    def test_number_changes_no_result(self):
        expected = cells_of(speclab.sweep(0.8, [2, 4], rounds=10**5))
        try:
            for n in (1, 3):
                speclab.threads(n)
                self.assertEqual(cells_of(speclab.sweep(0.8, [2, 4], rounds=10**5)), expected)
            with self.assertRaisesRegex(speclab.InputError, "threads must be 0 to 1024, got -1"):
                speclab.threads(-1)
        finally:
            speclab.threads(0)

    def test_share_no_simulation(self):
        simulation = speclab.simulate("zipf?V=1000", "zipf?V=1000&s=2", K=8, rounds=10**6)
        refused = 0
        for _ in range(60):  # on a busy machine a batch may end before the other thread runs
            other = threading.Thread(target=simulation.next)
            other.start()
            while other.is_alive() and not refused:
                try:
                    simulation.next()
                except speclab.InputError as error:
                    self.assertIn("one thread at a time", str(error))
                    refused += 1
            other.join()
            if refused:
                break
        self.assertEqual(refused, 1)


class AnotherLibrary(unittest.TestCase):
    def import_with(self, before, after):
        """The last line of an import with changed declarations."""
        header = Path(speclab.__file__).with_name("header.py")
        self.assertIn(before, header.read_text())
        status, _, err = python(f"""
import sys, types
header = types.ModuleType("speclab.header")
exec(open({str(header)!r}).read().replace({before!r}, {after!r}), header.__dict__)
sys.modules["speclab.header"] = header
import speclab
""")
        self.assertEqual(status, 1)
        return err.splitlines()[-1]

    def test_with_another_version_is_refused(self):
        number = speclab.version().split()[0]
        line = self.import_with(f'VERSION = "{number}"', 'VERSION = "9.9.9"')
        self.assertRegex(line, "^ImportError: speclab 9.9.9 .*found .*libspeclab.so.1 of version "
                               f"{number}.*: type pip install speclab=={number}")

    def test_with_another_abi_is_refused(self):
        line = self.import_with("SPECLAB_ABI = 1", "SPECLAB_ABI = 7")
        self.assertRegex(line, r"^ImportError: speclab .*\(ABI 7\) found .*\(ABI 1\): type pip")

    def test_that_is_broken_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(Path(speclab.__file__).parent, Path(folder, "speclab"))
            Path(folder, "speclab", "libspeclab.so.1").write_bytes(b"not a library")
            status, _, err = python(f"import sys; sys.path.insert(0, {folder!r}); import speclab")
        self.assertEqual(status, 1)
        self.assertRegex(err.splitlines()[-1],
                         "^ImportError: speclab .* cannot load its library .*: type pip install")


if __name__ == "__main__":
    unittest.main()
