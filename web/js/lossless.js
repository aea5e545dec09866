// SPDX-License-Identifier: GPL-3.0-or-later
// lossless: section 3, the exact law of two rules, their sampled laws, and e-values.

const SAMPLED = {first: 64, most: 1 << 21, seed: 42};
const RATE = 1e-6; // of false alarms: its inverse is the capital that convicts
const LOG_E_SHOWN = [-3, 12]; // powers of ten

/** One rule: its law, and the evidence of sampled texts. */
class Witness {
  constructor(color, shape) {
    this.lab = new Lab();
    this.color = color;
    this.shape = shape;
    this.law = null;
    this.trail = []; // {texts, tv, log_e}
    this.run = 0;
  }

  /** Enumerates, then samples batches that double; calls `show` after each. */
  async start(pair, tokens, show) {
    const run = ++this.run;
    this.lab.stop();
    this.law = null;
    this.trail = [];
    this.law = await this.lab.ask('law', {...pair, tokens});
    this.rule = pair.rule;
    show();
    const counts = new Array(this.law.law.length).fill(0);
    for (let batch = 0, texts = 0; texts < SAMPLED.most && run === this.run; batch++) {
      const next = Math.max(SAMPLED.first, Math.min(texts, 1 << 18));
      const sample = await this.lab.ask('sample', {seed: SAMPLED.seed, batch, texts: next});
      if (run !== this.run) return;
      sample.counts.forEach((n, i) => { counts[i] += n; });
      texts += next;
      this.trail.push(await this.lab.ask('evidence', {counts: counts.join(',')}));
      show();
    }
  }
}

/** The mean total variation of n texts of a law from it: sum of sqrt(p (1 - p) / (2 pi n)). */
function chanceAlone(law, n) {
  return law.reduce((sum, p) => sum + Math.sqrt(p * (1 - p) / (2 * Math.PI * n)), 0);
}

class Lossless {
  constructor(names) {
    this.right = new Witness('accepted', 'circle');
    this.wrong = new Witness('rejected', 'diamond');
    this.showRight = figureIn(byId('right-figure'));
    this.showWrong = figureIn(byId('wrong-figure'));
    this.showTv = figureIn(byId('tv-figure'));
    this.showE = figureIn(byId('e-figure'));
    this.showCommand = commandIn(byId('law-command'));
    this.seen = false;
    const plain = n => n.name.split('?')[0];
    const rules = names.filter(n => n.kind === 'rule');
    const option = n => h('option', {}, plain(n));
    byId('right').append(...rules.filter(n => n.claim === 'lossless').map(option));
    byId('wrong').append(...rules.filter(n => n.claim !== 'lossless').reverse().map(option));
    for (const id of ['right', 'wrong', 'length', 'over']) bindControl(id, id);
    byId('law-again').addEventListener('click', () => { SAMPLED.seed++; this.start(); });
    byId('law-legend').append(legendOf([['the lossless rule', 'f-accepted', 'circle'],
      ['the other rule', 'f-rejected', 'diamond'], ['chance alone', 's-soft', 'dashed'],
      ['capital that convicts', 's-ink', 'line']]));
    const again = settled(() => { if (this.seen) this.start(); }, 250);
    onState(changed => {
      const asked = ['right', 'wrong', 'length', 'over', 'words', 'target', 'draft'];
      if (asked.some(name => changed.has(name))) again();
    });
    new IntersectionObserver((entries, observer) => {
      if (!entries.some(entry => entry.isIntersecting)) return;
      observer.disconnect();
      this.seen = true;
      this.start();
    }, {rootMargin: '300px'}).observe(byId('know'));
  }

  start() {
    const pair = {target: `probs:${state.target}`, draft: `probs:${state.draft}`,
      K: Number(state.over)};
    byId('law-fault').textContent = '';
    this.showCommand(commandLine('prove', {target: pair.target, draft: pair.draft,
      drafting: 'chain', K: pair.K, tokens: state.length, rule: `${state.right},${state.wrong}`}));
    for (const [witness, name] of [[this.right, 'right'], [this.wrong, 'wrong']])
      witness.start({...pair, rule: state[name]}, Number(state.length), () => this.draw())
        .catch(error => {
          if (!(error instanceof Stopped)) byId('law-fault').textContent =
            `${state[name]}: ${error.message}`;
        });
  }

  draw() {
    this.drawLaw(this.right, this.showRight, byId('right-text'));
    this.drawLaw(this.wrong, this.showWrong, byId('wrong-text'));
    this.drawTv();
    this.drawE();
  }

  textOf(index, law) {
    const words = readWords(state.words), text = [];
    for (let i = 0, left = index; i < law.tokens; i++, left = Math.floor(left / law.vocab))
      text.unshift(words[left % law.vocab] ?? '?');
    return text.join(' ');
  }

  drawLaw(witness, show, line) {
    const {law, rule} = witness;
    if (!law) return;
    const lossless = law.tv < 1e-12;
    line.replaceChildren(h('b', {}, rule), `: total variation ${distance(law.tv)}, `,
      h('b', {class: `verdict ${lossless ? 'yes' : 'no'}`}, lossless ? 'lossless' : 'not lossless'),
      `. ${whole(law.branches)} branches.`);
    Object.assign(line.dataset, {tv: law.tv, rule});
    const n = law.law.length;
    show({words: `${rule}: `
      + (n <= 64 ? law.law.map((p, i) => `${this.textOf(i, law)} ${chance(p)}, target `
        + chance(law.promise[i])).join('; ') : `${n} texts`) + '.',
    draw: width => this.drawMarks(law, witness, width),
    heads: ['text', 'target', 'rule', 'difference'], rows: law.law.slice(0, 4096).map((p, i) =>
      [this.textOf(i, law), fixed(law.promise[i], 5), fixed(p, 5),
        scientific(p - law.promise[i])])});
  }

  /** Bars of the target's law, and a mark at the rule's. */
  drawMarks(law, witness, width) {
    const n = law.law.length, labels = n <= 25, height = labels && law.tokens > 1 ? 260 : 220;
    const bottom = height - (labels ? (law.tokens > 1 ? 66 : 28) : 14), left = 38;
    const step = (width - left) / n;
    const y = scaleOf([0, Math.max(...law.law, ...law.promise) * 1.05], [bottom, 10]);
    const x = i => left + (i + 0.5) * step, mark = Math.min(1, step / 11);
    const ticks = ticksOf([0, Math.max(...law.law, ...law.promise)], 4);
    const label = i => law.tokens > 1
      ? svg('text', {transform: `translate(${x(i) + 4} ${bottom + 8}) rotate(-60)`,
        'text-anchor': 'end', 'font-size': 11}, this.textOf(i, law))
      : svg('text', {x: x(i), y: bottom + 18, 'text-anchor': 'middle'}, this.textOf(i, law));
    return canvasOf(width, height,
      ticks.map(t => [svg('path', {class: 'grid', d: `M${left} ${y(t)}H${width}`}),
        svg('text', {x: left - 6, y: y(t) + 4, 'text-anchor': 'end', class: 'soft'},
          String(t))]).flat(),
      law.promise.map((p, i) => svg('rect', {x: x(i) - step * 0.38, width: step * 0.76, y: y(p),
        height: bottom - y(p), class: 'f-target', 'fill-opacity': 0.3})),
      law.law.map((p, i) => svg('g', {class: `f-${witness.color}`,
        transform: `translate(${x(i)} ${y(p)}) scale(${mark})`}, SHAPES[witness.shape](0, 0))),
      svg('path', {class: 'axis', d: `M${left} ${bottom}H${width}`}),
      labels ? law.law.map((_, i) => label(i)) : null);
  }

  series(value) {
    return [this.right, this.wrong].map(w => [
      {kind: 'line', color: `s-${w.color}`, points: w.trail.map(t => [t.texts, value(t)])},
      {kind: 'points', shape: w.shape, color: `f-${w.color}`,
        points: w.trail.slice(-1).map(t => [t.texts, value(t)])}]).flat();
  }

  rows(value, format) {
    const all = new Map();
    [this.right, this.wrong].forEach((w, i) => w.trail.forEach(t => {
      const row = all.get(t.texts) || ['–', '–'];
      row[i] = format(value(t));
      all.set(t.texts, row);
    }));
    return [...all].sort((a, b) => a[0] - b[0]).map(([texts, row]) => [whole(texts), ...row]);
  }

  drawTv() {
    const law = (this.right.law || this.wrong.law).promise;
    const expected = Array.from({length: 32}, (_, i) => SAMPLED.first * 2 ** (i / 2))
      .map(n => [n, chanceAlone(law, n)]).filter(([n]) => n <= SAMPLED.most);
    const low = 10 ** Math.floor(Math.log10(chanceAlone(law, SAMPLED.most) / 2));
    const value = t => Math.max(low, t.tv), x = {domain: [SAMPLED.first, SAMPLED.most], log: true,
      ticks: [100, 1e3, 1e4, 1e5, 1e6], label: 'sampled texts', format: n => scientific(n, 1)
        .replace('1 × ', '')};
    this.axis = x;
    const wrong = this.wrong.law && this.wrong.law.tv > 1e-12 ? this.wrong.law.tv : null;
    const last = w => w.trail.length ? distance(w.trail[w.trail.length - 1].tv) : '–';
    this.showTv({words: `Total variation of sampled texts from the target’s distribution: ${state.right} `
      + `${last(this.right)}, ${state.wrong} ${last(this.wrong)}.`,
    draw: width => drawChart({height: 270, left: 56, x, y: {domain: [low, 1], log: true,
      ticks: powersOf([low, 1], 10), label: 'total variation from the target',
      format: t => String(t)}, series: [{kind: 'line', color: 's-soft', dash: '6 5',
      points: expected}, ...this.series(value)],
    rulers: wrong ? [{y: wrong, color: 's-rejected', dash: '2 4'}] : []}, width),
    heads: ['texts', state.right, state.wrong], rows: this.rows(t => t.tv, distance)});
  }

  drawE() {
    const tens = t => t.log_e / Math.LN10;
    const value = t => Math.max(LOG_E_SHOWN[0], Math.min(LOG_E_SHOWN[1], tens(t)));
    const last = w => w.trail.length ? tens(w.trail[w.trail.length - 1]) : 0;
    const power = x => x === Infinity ? 'infinite' : x > 300 ? 'above 10³⁰⁰'
      : x > -2 && x < 4 ? fixed(10 ** x, 2) : scientific(10 ** x, 1);
    const bar = -Math.log10(RATE);
    const crossed = this.wrong.trail.find(t => tens(t) >= bar);
    byId('law-text').textContent = crossed
      ? `${state.wrong} is convicted after ${whole(crossed.texts)} texts, at a false-alarm rate of `
        + `one in a million. The capital against ${state.right} is ${power(last(this.right))}.`
      : `Nobody is convicted yet. Capital: ${state.right} ${power(last(this.right))}, `
        + `${state.wrong} ${power(last(this.wrong))}.`;
    this.showE({words: `Capital of the bettor: ${state.right} ${power(last(this.right))}, `
      + `${state.wrong} ${power(last(this.wrong))}. One false alarm in a million: `
      + `${scientific(10 ** bar, 1)}.`,
    draw: width => drawChart({height: 270, left: 56, x: this.axis, y: {domain: LOG_E_SHOWN,
      ticks: [-3, 0, 3, 6, 9, 12], label: 'e-value',
      format: t => t === 0 ? '1' : scientific(10 ** t, 1).replace('1 × ', '')},
    areas: [{y0: bar, y1: LOG_E_SHOWN[1], color: 'f-rejected'}],
    rulers: [{y: bar, color: 's-ink'}], series: this.series(value),
    notes: [{x: SAMPLED.most, y: bar, dx: -6, dy: -6, anchor: 'end',
      text: 'one false alarm in a million'}]},
    width),
    heads: ['texts', state.right, state.wrong], rows: this.rows(tens, power)});
  }
}
