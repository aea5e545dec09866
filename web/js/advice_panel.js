// SPDX-License-Identifier: GPL-3.0-or-later
// advice_panel: section 5, the draft length that logs of an engine call for.

const LOGS_MOST = 256 << 20, LOG_FILES_MOST = 12; // bytes of a file, files of a place

/** A place for logs: a text that is pasted, or else files that are chosen or dropped. */
class LogPlace {
  constructor(id, changed) {
    this.id = id;
    this.text = byId(`${id}-text`);
    this.chosen = byId(`${id}-files`);
    this.text.addEventListener('input', () => {
      this.chosen.value = ''; // what came last counts
      changed();
    });
    this.chosen.addEventListener('change', changed);
    takeFiles(byId(`${id}-place`), files => { this.chosen.files = files; changed(); });
  }

  /** Adds its bytes to `files`, and returns their paths there: names that are new, of one line. */
  async read(files) {
    const logs = [...this.chosen.files];
    if (logs.length === 0 && this.text.value.trim() !== '')
      logs.push(new File([this.text.value], `${this.id}.txt`));
    if (logs.length > LOG_FILES_MOST) throw new Fault(`more than ${LOG_FILES_MOST} files`);
    const paths = [];
    for (const log of logs) {
      if (log.size > LOGS_MOST)
        throw new Fault(`${log.name}: larger than ${LOGS_MOST >> 20} MB, too large for a page`);
      let name = log.name.replace(/[\0-\x1f\x7f/]/g, '_');
      while (name in files) name = `other-${name}`;
      files[name] = new Uint8Array(await log.arrayBuffer());
      paths.push(name.replace(/^-/, './-'));
    }
    return paths;
  }
}

class AdvicePanel {
  constructor() {
    this.lab = new Lab(60000);
    this.run = 0;
    this.showCommand = commandIn(byId('advice-command'));
    const ask = settled(() => this.ask(), 300);
    this.log = new LogPlace('log', ask);
    this.plain = new LogPlace('plain', ask);
    this.options = ['current', 'plain-tokens-per-s', 'round-over-plain'].map(byId);
    for (const control of this.options) control.addEventListener('input', ask);
    ask(); // a browser keeps what was typed before a reload
  }

  /** The options that are set, by their names in a command. */
  given() {
    const wrong = this.options.find(control => !control.checkValidity());
    if (wrong) throw new Fault(`--${wrong.id}: ${wrong.validationMessage}`);
    return Object.fromEntries(this.options.map(control => [control.id, control.value]));
  }

  async ask() {
    const run = ++this.run, files = Object.create(null);
    this.lab.stop();
    let answer = null, fault = '';
    try {
      const file = await this.log.read(files), plain = await this.plain.read(files);
      const given = this.given();
      if (run === this.run && file.length > 0) {
        const {current, 'plain-tokens-per-s': speed, 'round-over-plain': ratio} = given;
        byId('advice-answer').textContent = 'Reading …';
        this.lab.files = files;
        answer = await this.lab.ask('advise', {file, plain, current, plain_tokens_per_s: speed,
          round_over_plain: ratio});
        this.showCommand(commandLine(['advise', ...file.map(shellWord)].join(' '),
          {plain, ...given}));
      }
    } catch (error) {
      fault = error.message;
    }
    if (run === this.run) this.show(answer, fault);
  }

  show(answer, fault) {
    byId('advice-fault').textContent = fault;
    byId('advice').hidden = byId('advice-command').hidden = answer === null;
    byId('advice-answer').textContent = '';
    if (answer === null) return;
    const said = JSON.parse(answer.advice), {columns} = answer;
    byId('advice-answer').textContent = said.answer;
    byId('advice-setting').replaceChildren(...said.setting === '' ? [] : [
      h('h3', {}, 'The setting to paste'),
      h('pre', {class: 'scroll', tabindex: 0}, said.setting)]);
    byId('advice-table').replaceChildren(...advisedTables(answer.rows.map(row =>
      Object.fromEntries(columns.map((name, i) => [name, row[i]])))));
    byId('advice-diagnoses').replaceChildren(...said.diagnoses.map(one => h('li', {},
      h('b', {}, `${one.wrong ? 'Wrong' : 'Note'} (${one.name}): `), one.evidence, ' ',
      h('span', {class: 'soft'}, one.next))));
    byId('advice-report').textContent = answer.text;
  }
}

/** Rows of `speclab advise -f csv` as tables: of lengths, and of batches that differ in theirs. */
function advisedTables(rows) {
  const ratio = (row, name) => {
    const [value, low, high] = ['', '_low', '_high'].map(end => row[name + end]).map(x =>
      Number.isFinite(x) ? fixed(x, 2) : null);
    if (low === null || high === null || low === high) return value ?? low ?? '–';
    return value === null ? `${low} to ${high}` : `${value} [${low}, ${high}]`;
  };
  const isBatch = row => Number.isFinite(row.batch_from);
  const lengths = rows.filter(row => !isBatch(row)), batches = rows.filter(isBatch);
  return [lengths.length > 0 && tableOf(['K', 'tokens/round', 'round/plain', 'speed-up',
    'known from'], lengths.map(row => [String(row.K),
    ...['tokens_per_round', 'round_over_plain', 'speedup'].map(name => ratio(row, name)),
    row.known_from + (row.best ? ', best' : '')])),
  batches.length > 0 && tableOf(['requests in a batch', 'K', 'speed-up'], batches.map(row =>
    [Number.isFinite(row.batch_to) && row.batch_to > 0 ? `${row.batch_from} to ${row.batch_to}`
      : `${row.batch_from} or more`, String(row.K), ratio(row, 'speedup')]))].filter(Boolean);
}
