#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the page in the browsers that are installed: check_page.py PAGE.html SPECLAB.wasm SPECLAB

With SPECLAB_DATA a page with a model is built too, and its text must be that of the program.
Prints a line per check; exits with 1 if one fails.
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback

import browsers

HERE = pathlib.Path(__file__).parent
sys.path.append(str(HERE.parent / 'cli'))
import report_oracle  # noqa: E402
READY = 'return document.documentElement.dataset.ready'
REPORTS = 40
SCRIPTED = {'button', 'input', 'label', 'span'}  # made by the report's own script
TEXT = 'return document.getElementById(arguments[0]).textContent'

DROP = '''
const transfer = new DataTransfer();
transfer.items.add(new File([arguments[1]], arguments[0]));
document.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, cancelable: true}));
'''
DROP_LONG = '''
const transfer = new DataTransfer(), rows = Array.from({length: 200000}, (_, i) => `${i},${i % 7}`);
transfer.items.add(new File(['n,tv\\n' + rows.join('\\n')], 'long.csv'));
document.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, cancelable: true}));
'''
DROP_LARGE = '''
const transfer = new DataTransfer();
transfer.items.add(new File([new Uint8Array(100 << 20)], 'large.csv'));
document.dispatchEvent(new DragEvent('drop', {dataTransfer: transfer, cancelable: true}));
'''
DROP_ON = '''
const transfer = new DataTransfer();
transfer.items.add(new File([arguments[2]], arguments[1]));
document.getElementById(arguments[0]).dispatchEvent(
  new DragEvent('drop', {dataTransfer: transfer, cancelable: true, bubbles: true}));
'''
CHOOSE = '''
const control = document.getElementById(arguments[0]);
control.value = arguments[1];
for (const kind of ['input', 'change']) control.dispatchEvent(new Event(kind, {bubbles: true}));
return control.value === arguments[1];
'''
VALUES = '''
const figure = document.getElementById(arguments[0]), folded = figure.querySelector('details');
folded.open = true;
return [...figure.querySelectorAll('tbody tr')].map(row =>
  [...row.children].map(cell => cell.textContent));
'''


MARKS = '''
const root = document.documentElement, all = [...document.querySelectorAll('*')];
return [root.dataset.acted || '', [...new Set(all.map(one => one.localName))],
        all.flatMap(one => [...one.attributes].map(attribute => attribute.name))
           .filter(name => name.startsWith('on'))];
'''


class Page:
    """The page in one browser."""

    def __init__(self, browser, url):
        self.b, self.url = browser, url

    def open(self, address=''):
        self.b.open('about:blank')
        self.b.open(self.url + address)
        return float(self.b.wait(READY))

    def text(self, name):
        return self.b.run(TEXT, name)

    def choose(self, name, value):
        assert self.b.run(CHOOSE, name, value), '%s has no %s' % (name, value)

    def until(self, name, part):
        self.b.wait('return document.getElementById(%s).textContent.includes(%s)'
                    % (json.dumps(name), json.dumps(part)))

    def options(self, name):
        return self.b.run('return [...document.getElementById(arguments[0]).options]'
                          '.map(o => o.value)', name)


# ---- what must hold ------------------------------------------------------------------------------

def is_ready_within_two_seconds(page):
    milliseconds = min(page.open() for _ in range(3))
    assert milliseconds < 2000, milliseconds
    paint = page.b.run('return (performance.getEntriesByName("first-contentful-paint")[0] || {})'
                       '.startTime || 0')
    assert paint < 1000, paint
    return 'ready %.0f ms, first paint %.0f ms' % (milliseconds, paint)


def shows_the_worked_example_to_the_digit(page):
    page.open()
    assert 'target / draft = 0.20 / 0.30 = 0.667' in page.text('decision'), page.text('decision')
    assert 'Rejected' in page.text('decision')
    page.b.click('#forward')
    page.until('decision', 'The correction is “dog”')
    rows = page.b.run('return [...document.querySelectorAll("#residual tbody tr")].map(row =>'
                      '[...row.children].map(cell => cell.textContent))')
    assert rows[0][1:] == ['0.100', '0.000', '0.000', '0.100'], rows
    assert rows[1][1:] == ['0.500', '0.000', '0.000', '0.500'], rows
    page.b.click('#forward')
    page.until('decision', '2 tokens from one pass of the target: 1 accepted, and “dog”')


def steps_by_keys(page):
    page.open()
    page.b.run('document.getElementById("round-panel").focus()')
    page.b.press('Enter')
    page.until('decision', 'The correction')
    page.b.press('Left')
    page.until('decision', 'Is “cat” accepted?')
    page.b.press('Right')
    page.until('decision', 'The correction')


def takes_coins_by_hand(page):
    page.open()
    page.choose('coin', '0.5')
    page.until('decision', 'The coin 0.50 is below 0.667. Accepted.')
    assert '--coins 0.2,0.5,0.8,0.5' in page.text('round-command'), page.text('round-command')


def shows_the_product_that_a_rule_keeps(page):
    for rule, last in (('block', '0.333'), ('block-greedy', '0.417'), ('hsd', '0.417')):
        page.open('#rule=%s&coins=0.2,0.5,0.8,0.4,0.3&at=3' % rule)
        page.until('decision', 'kept, together?')
        rows = page.b.run('return [...document.querySelectorAll("#residual tbody tr")].map(row =>'
                          'row.lastChild.textContent)')
        assert rows[-1] == last and 'chance = ' + last in page.text('decision'), (rule, rows)


def keeps_a_view_in_its_address(page):
    page.open('#rule=block&K=2&coins=0.5,0.5,0.4&at=2')
    assert page.b.run('return document.getElementById("rule").value') == 'block'
    assert '--rule block' in page.text('round-command')
    page.open('#rule=%3Cimg%20src%3Dx%20onerror%3Dthrow%3E&target=9,9')
    assert page.text('round-fault') != ''
    assert page.b.run('return document.querySelectorAll("#round-panel img").length') == 0
    page.open('#alpha=7&k=x&c=-1&guess=9&ratio=99&batch=0&tokens=x&heat=9&length=9')
    page.until('gain', '8.65×')
    page.until('ratio-text', 'At alpha 0.99 and K = 16')
    page.until('warm-text', 'At temperature 3.0')
    page.until('load-text', 'With 1 request')
    assert page.text('load-fault') == ''
    page.open('#words=a&target=1&draft=1&K=1&coins=&at=0')
    page.until('decision', 'The draft draws “a”')


def steps_or_refuses_every_rule_and_drafting(page):
    page.open()
    rules, draftings, refused = page.options('rule'), page.options('drafting'), 0
    for drafting in draftings:
        page.choose('drafting', drafting)
        for rule in rules:
            page.choose('rule', rule)
            page.b.wait('return document.getElementById("round-panel").dataset.shown === %s'
                        % json.dumps('%s %s' % (rule, drafting)))
            fault, tokens = page.b.run(
                'const f = document.getElementById("round-fault").textContent;'
                'document.querySelector("#timeline li:last-child button").click();'
                'return [f, document.getElementById("decision").textContent]')
            if fault:
                assert '\n' not in fault and len(fault) < 300, fault
                assert 'no answer within' not in fault and 'unreachable' not in fault, fault
                refused += 1
            else:
                assert 'from one pass of the target' in tokens, (rule, drafting, tokens)
    return '%d pairs, %d refused in a line' % (len(rules) * len(draftings), refused)


def finds_the_best_K_and_its_speed_up(page):
    page.open()
    page.until('gain', '2.47×')
    rows = page.b.wait(VALUES, arguments=['curve-figure'])
    assert rows[6][:2] == ['6', '2.4696'], rows[6]
    page.until('gain', 'Best K6')
    assert page.text('gain-command').startswith('speclab predict --alpha 0.8 --K 6 --c 0.1')


def agrees_with_the_closed_forms_within_five_standard_errors(page):
    page.open()
    page.until('carlo', '16\u202f777\u202f216 rounds')
    worst = float(page.b.run('return document.getElementById("carlo").dataset.worst'))
    assert worst < 5, worst
    return 'worst z %.2f; %s' % (worst, page.text('carlo'))


def simulates_ten_million_rounds_within_two_seconds(page):
    page.b.run('document.getElementById("carlo-more").click()')
    seconds = float(page.b.wait('return document.getElementById("carlo").dataset.seconds'))
    assert seconds < 2, seconds
    return page.text('carlo')


def corrects_the_mistakes(page):
    page.open()
    page.until('ratio-text', 'accepted / drafted is 0.416')
    page.until('warm-text', 'Warmer than this, acceptance falls')
    page.choose('heat', '3')
    page.until('warm-text', 'rises only as both rows become flat')
    page.until('load-text', 'K = 6 breaks even at a batch of 3\u202f980')
    page.until('load-text', 'the best K is 12, 3.03×')


def proves_every_lossless_rule(page):
    page.open()
    page.b.run('document.getElementById("know").scrollIntoView()')
    page.b.wait('return document.getElementById("wrong-text").dataset.tv')
    tv = float(page.b.run('return document.getElementById("wrong-text").dataset.tv'))
    assert abs(tv - 0.0996) < 5e-5, tv
    for rule in page.options('right'):
        page.choose('right', rule)
        page.b.wait('const t = document.getElementById("right-text");'
                    'return t.textContent.startsWith(%s) && t.dataset.rule === %s'
                    % (json.dumps(rule), json.dumps(rule)))
        tv = float(page.b.run('return document.getElementById("right-text").dataset.tv'))
        assert tv < 1e-12, (rule, tv)
    return '%d rules' % len(page.options('right'))


def convicts_a_wrong_rule(page):
    page.open()
    page.b.run('document.getElementById("know").scrollIntoView()')
    page.until('law-text', 'resample-target is convicted after')
    return page.text('law-text')


def goes_on_after_a_question_that_takes_too_long(page):
    page.open('#words=a,b,c,d,e,f&target=0.3,0.2,0.2,0.1,0.1,0.1&'
              'draft=0.1,0.1,0.2,0.2,0.3,0.1&length=2&over=4')
    page.b.run('document.getElementById("know").scrollIntoView()')
    page.b.wait('return document.getElementById("law-fault").textContent')
    fault = page.text('law-fault')
    assert 'no answer within 5 s' in fault, fault
    page.choose('length', '1')
    page.choose('over', '1')
    page.b.wait('return document.getElementById("law-fault").textContent === "" &&'
                'document.getElementById("law-text").textContent.includes("convicted")')
    return fault


def reads_results_and_refuses_hostile_files(page):
    page.open()
    page.b.run(DROP, 'good.csv', '\ufeff# speclab 1.0.0\r\n# seed: 42\r\nK,speedup,note,z\r\n'
               '1,1.5,"a ""b"", <script>throw 1</script>",0.3\r\n2,1.75,<img src=x>,-0.2\r\n')
    page.until('result-name', 'good.csv')
    assert page.b.run('return document.querySelectorAll("#result img, #result script").length') == 0
    assert 'a "b", <script>throw 1</script>' in page.text('result-table')
    assert 'All 2 checked rows hold' in page.text('result-checks')
    assert 'seed: 42' in page.text('provenance')
    page.b.run(DROP, 'lines.json', '[{"alpha": 0.5, "K": 1, "z": 7}, {"alpha": 0.6, "K": 2}]')
    page.until('result-name', 'lines.json')
    assert '1 of 1 checked rows fail' in page.text('result-checks')
    for name, content, fault in (
            ('empty.csv', '', 'the file is empty'), ('a.csv', 'K,z\n1\n', 'row 1 has 1 cells'),
            ('b.csv', 'K,z\n"1,2\n', 'a quoted cell has no end'),
            ('c.csv', 'K,z\n', 'no rows'), ('d.json', '{"rows": [', 'the JSON is broken'),
            ('e.csv', 'a\0b,c\n1,2\n', 'the file is binary'),
            ('f.json', '[1, 2]', 'no list of rows'),
            ('g.csv', ','.join('c%d' % i for i in range(600)) + '\n', '600 columns'),
            ('h.json', '[' * 100000, 'the JSON is broken')):
        page.b.run(DROP, name, content)
        page.until('result-fault', name + ': ' + fault)
        assert page.b.run('return document.getElementById("result").hidden')
    page.b.run(DROP_LONG)
    page.until('result-count', '200\u202f000 of 200\u202f000 rows')
    page.until('result-legend', 'The first 2\u202f000 points')
    page.b.run(DROP_LARGE)
    page.until('result-fault', 'large.csv: larger than 32 MB')
    page.b.run('document.getElementById("example").click()')
    page.until('result-checks', 'All 45 checked rows hold')


def advised_logs():
    """The logs that docs/advise.md shows, by their names."""
    text = (HERE / '../../docs/advise.md').read_text()
    return dict(re.findall(r'^```[a-z]+ (\S+)\n(.*?)^```', text, re.M | re.S))


def advises_a_draft_length_from_logs(page):
    logs = advised_logs()
    page.open()
    page.choose('log-text', logs['server.log'])
    page.until('advice-answer', 'Measure plain decoding in vLLM')
    page.choose('plain-text', logs['plain.log'])
    page.until('advice-answer', 'Keep K = 3 for now: it is at most 27 % slower')
    assert '"num_speculative_tokens": 2' in page.text('advice-setting')
    rows = page.b.run('return [...document.querySelectorAll("#advice-table tbody tr")].map(row =>'
                      '[...row.children].map(cell => cell.textContent))')
    assert rows[2] == ['2', '2.33 [2.29, 2.37]', '1.48 [1.08, 1.81]', '1.58 [1.30, 2.14]',
                       'shorter, best'], rows
    assert 'Note (per-position): ' in page.text('advice-diagnoses')
    assert 'Read log.txt: log of a vLLM server' in page.text('advice-report')
    assert page.text('advice-command').startswith('speclab advise log.txt --plain plain.txt')
    page.choose('current', '99')
    page.until('advice-fault', '--current: ')
    page.choose('current', '')
    page.choose('plain-text', '')
    page.choose('log-text', logs['sglang.log'])
    page.until('advice-answer', 'Give the draft length')
    page.choose('current', '3')
    page.choose('round-over-plain', '1.4')
    page.until('advice-answer', 'Keep K = 3 for now: it is at most 40 % slower')
    assert page.text('advice-command').startswith(
        'speclab advise log.txt --current 3 --round-over-plain 1.4'), page.text('advice-command')


def advises_from_files_and_shows_hostile_ones_as_text(page):
    logs, hostile = advised_logs(), '<img src=x onerror=throw 1>'
    page.open()
    page.b.run(DROP_ON, 'log-place', hostile + '.log', logs['server.log'])
    page.until('advice-report', hostile + '.log')
    assert page.b.run('return document.getElementById("result").hidden') # not a result as well
    page.b.run(DROP_ON, 'plain-place', hostile + '.log', logs['plain.log'])
    page.until('advice-answer', 'Keep K = 3 for now')
    page.until('advice-command', 'other-' + hostile)
    page.choose('log-text', 'junk\n%s\n' % hostile)
    page.until('advice-fault', 'log.txt')
    fault = page.text('advice-fault')
    assert '\n' not in fault and page.text('advice-answer') == '', fault
    assert page.b.run('return document.getElementById("advice").hidden')
    page.b.run(DROP_ON, 'log-place', '__proto__',
               logs['server.log'].replace('Drafted: 3000 ', 'Drafted: 3000 ' + hostile))
    page.until('advice-fault', "__proto__:2: Drafted: expected 'tokens', not ' <img")
    page.b.run(DROP_ON, 'log-place', '-', logs['server.log'])
    page.until('advice-report', 'Read ./-: ')
    assert page.b.run('return document.querySelectorAll("#server img").length') == 0
    return fault


def fits_into_360_pixels(page):
    page.b.size(360, 800)
    page.open()
    page.choose('log-text', advised_logs()['server.log'])
    page.until('advice-answer', 'Measure plain decoding')
    time.sleep(0.5)
    width = page.b.run('return [document.documentElement.scrollWidth, innerWidth]')
    page.b.size(1200, 900)
    assert width[0] <= width[1], width


def is_accessible_in_both_schemes(page):
    script = (HERE / 'accessibility.js').read_text()
    for scheme in ('light', 'dark') if isinstance(page.b, browsers.Chromium) else ('light',):
        if isinstance(page.b, browsers.Chromium):
            page.b.scheme(scheme)
        page.open()
        page.b.run('document.getElementById("know").scrollIntoView()')
        page.choose('log-text', advised_logs()['server.log'])
        page.until('advice-answer', 'Measure plain decoding')
        page.b.run('document.getElementById("example").click()')
        page.until('result-checks', 'checked rows')
        page.until('law-text', 'convicted')
        faults = page.b.run(script)
        assert not faults, '%s: %s' % (scheme, '; '.join(faults[:8]))


def makes_no_request_and_no_complaint(page):
    if not isinstance(page.b, browsers.Chromium):
        return 'seen in Chromium alone'
    complaints = page.b.complaints()
    requests = [url for url in page.b.requests() if not url.split('#')[0].endswith('.html')]
    assert not complaints, complaints
    assert not requests, requests


CHECKS = [is_ready_within_two_seconds, shows_the_worked_example_to_the_digit, steps_by_keys,
          takes_coins_by_hand, shows_the_product_that_a_rule_keeps, keeps_a_view_in_its_address,
          steps_or_refuses_every_rule_and_drafting, finds_the_best_K_and_its_speed_up,
          agrees_with_the_closed_forms_within_five_standard_errors,
          simulates_ten_million_rounds_within_two_seconds, corrects_the_mistakes,
          proves_every_lossless_rule, convicts_a_wrong_rule,
          goes_on_after_a_question_that_takes_too_long,
          reads_results_and_refuses_hostile_files, advises_a_draft_length_from_logs,
          advises_from_files_and_shows_hostile_ones_as_text, fits_into_360_pixels,
          is_accessible_in_both_schemes]


def writes_the_text_of_the_program(page, program, folder):
    page.open()
    page.b.wait('return !document.getElementById("write").disabled') # the model is unpacked
    page.b.run('document.getElementById("write").click()')
    page.b.wait('return document.getElementById("story-text").textContent.includes("without:")', 90)
    verb, words = page.b.run('return document.querySelector("#text-command code").textContent'
                             ).split(' ', 1)
    assert verb == 'speclab'
    native = subprocess.run('%s %s' % (program, words), shell=True, cwd=folder, check=True,
                            capture_output=True).stdout.decode()
    story = page.b.run('return [...document.querySelectorAll("#story [class]")]'
                       '.map(token => token.textContent).join("")')
    assert story and native.strip('\n') == story.strip('\n'), (native, story)
    return page.text('story-text')


def reads_results_of_the_program(page, program, folder):
    """The page shows as many rows as the program's file has."""
    page.open()
    for name, command in (
            ('sweep.csv', 'sweep --rounds 20000'), ('serve.json', 'serve --rate 2 --requests 200'),
            ('bench.csv', 'bench --target zipf?V=9 --draft zipf?V=9 --K 1,2 --texts 2 --tokens 9'),
            ('bench.json', 'bench --target zipf?V=20 --draft zipf?V=20 --texts 2 --tokens 20'),
            ('validate.json', 'validate rule:token --budget 200k'),
            ('prove.csv', 'prove --rule token,block,resample-target')):
        path = os.path.join(folder, name)
        subprocess.run([program, *command.split(), '-o', path], capture_output=True)
        with open(path) as file:
            content = file.read()
        page.b.run(DROP, name, content)
        page.until('result-name', name)
        rows = page.text('result-count')
        if name.endswith('.csv'):
            lines = [line for line in content.splitlines() if not line.startswith('#')]
            assert rows.startswith('%d of' % (len(lines) - 1)), rows
            assert content.splitlines()[0][2:] in page.text('provenance')
        assert page.b.run('return document.querySelectorAll("#result-table tbody tr").length') > 0


def with_model(folder, module, program):
    """The address of a page with stories260K in it, if the outside data are there; else None."""
    data = os.environ.get('SPECLAB_DATA')
    if not data:
        print('skipped the page with a model: SPECLAB_DATA is not set')
        return None
    model, page = os.path.join(folder, 'stories260K.gguf'), os.path.join(folder, 'page.html')
    subprocess.run([program, 'quantize', 'llama2c:%s/stories260K/stories260K.bin' % data, model],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([HERE / '../../web/build', page, module, model], check=True)
    return pathlib.Path(page).as_uri()


def check(kind, url, story, program, folder):
    failed = 0
    with kind() as browser:
        page = Page(browser, url)
        todo = [(one.__name__, lambda one=one: one(page)) for one in CHECKS]
        todo.append(('reads_results_of_the_program',
                     lambda: reads_results_of_the_program(page, program, folder)))
        if story:
            other = Page(browser, story)
            todo.append(('writes_the_text_of_the_program',
                         lambda: writes_the_text_of_the_program(other, program, folder)))
        todo.append(('makes_no_request_and_no_complaint',
                     lambda: makes_no_request_and_no_complaint(page)))
        seed = random.randrange(1 << 32)
        todo.append(('reports_have_the_markup_of_speclab_alone',
                     lambda: reports_have_the_markup_of_speclab_alone(browser, program, folder,
                                                                      seed)))
        for name, act in todo:
            begun = time.monotonic()
            try:
                note = act() or ''
                word = 'ok'
            except Exception:
                failed += 1
                word, note = 'FAILED', traceback.format_exc(limit=-1).strip().replace('\n', ' | ')
            print('%-6s %s: %s (%.1f s) %s' % (word, kind.name, name.replace('_', ' '),
                                              time.monotonic() - begun, note), flush=True)
    return failed


def reports_have_the_markup_of_speclab_alone(browser, program, folder, seed):
    """Reports of hostile files: the browser runs none of their text, and makes no element of it."""
    os.chdir(folder)
    opened = 0
    for form, name, text in report_oracle.reports(program, REPORTS, seed):
        if not form:
            continue
        report = pathlib.Path(folder, 'report.html')
        report.write_bytes(text)
        browser.open(report.as_uri())
        acted, elements, handlers = browser.run(MARKS)
        strange = set(elements) - report_oracle.ELEMENTS - SCRIPTED
        assert not acted and not strange and not handlers, (seed, name, acted, strange, handlers)
        opened += 1
    assert opened > REPORTS // 2, opened
    return '%d reports' % opened


def main(page, module, program):
    there = [kind for kind in (browsers.Chromium, browsers.Firefox) if kind.there()]
    for kind in (browsers.Chromium, browsers.Firefox):
        if kind not in there:
            print('web: skipped: %s is not installed' % kind.name)
    url, program = pathlib.Path(page).resolve().as_uri(), os.path.abspath(program)
    with tempfile.TemporaryDirectory() as folder:
        story = with_model(folder, module, program) if there else None
        failed = sum(check(kind, url, story, program, folder) for kind in there)
    return 1 if failed else 0


if __name__ == '__main__':
    if len(sys.argv) != 4:
        sys.exit('usage: check_page.py PAGE.html SPECLAB.wasm SPECLAB')
    sys.exit(main(*sys.argv[1:]))
