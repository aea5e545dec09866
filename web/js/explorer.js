// SPDX-License-Identifier: GPL-3.0-or-later
// explorer: section 2, speed-up over alpha, K and c: closed forms, and Monte Carlo beside them.

const K_MOST = 16, LENGTHS = Array.from({length: K_MOST}, (_, i) => i + 1);
const ROUNDS = 1 << 20, ROUNDS_MORE = 1e7, SEED = 42;

const times = x => `${fixed(x, 2)}×`;

/** Monte Carlo of every K on several workers; each K is a simulation of its own. */
class Carlo {
  constructor(show) {
    const n = Math.max(1, Math.min(4, (navigator.hardwareConcurrency || 2) - 1));
    this.labs = Array.from({length: n}, () => new Lab(0));
    this.show = show;
    this.run = 0;
  }

  /** Stops what runs, and simulates these K one after another on each worker. */
  async start(alpha, c, wanted, rounds) {
    const run = ++this.run, queue = [...wanted], began = performance.now();
    const points = new Map();
    let done = 0;
    const serve = async lab => {
      while (queue.length > 0 && run === this.run) {
        const K = queue.shift();
        await lab.ask('simulate_acceptance', {alpha, K, c, rounds, seed: SEED});
        for (let read = {done: false}; !read.done && run === this.run;) {
          read = await lab.ask('next');
          const before = points.get(K);
          done += read.rounds - (before ? before.rounds : 0);
          points.set(K, read);
        }
        if (run === this.run) this.show(points, done / (performance.now() - began) * 1000);
      }
    };
    try {
      await Promise.all(this.labs.map(serve));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    return {points, seconds: (performance.now() - began) / 1000, rounds: done};
  }
}

class Explorer {
  constructor() {
    this.lab = new Latest(new Lab());
    this.points = new Map();
    this.theory = null;
    this.showCurve = figureIn(byId('curve-figure'));
    this.showCommand = commandIn(byId('gain-command'));
    this.carlo = new Carlo((points, rate) => this.showPoints(points, rate));
    bindControl('alpha', 'alpha', x => fixed(x, 2));
    bindControl('k', 'k', x => String(x));
    bindControl('c', 'c', x => fixed(x, 2));
    bindControl('guess', 'guess', x => x > 0 ? fixed(x, 2) : 'off');
    byId('curve-legend').append(legendOf([['closed form', 's-target', 'line'],
      ['Monte Carlo, ± 3 standard errors', 's-draft', 'hollow'], ['no draft', 's-soft', 'dashed'],
      ['drafting during the pass', 's-bonus', 'dashed']]));
    byId('carlo-more').addEventListener('click', () => this.more());
    this.simulate = settled(() => this.carlo.start(this.alpha(), this.c(),
      LENGTHS, ROUNDS), 200);
    onState(changed => {
      if (changed.has('alpha') || changed.has('c')) this.restart();
      else if (changed.has('k') || changed.has('guess')) this.ask();
    });
    this.restart();
  }

  alpha() { return Number(state.alpha); }
  c() { return Number(state.c); }
  K() { return Number(state.k); }

  restart() {
    this.points = new Map();
    this.carlo.run++;
    this.ask();
    this.simulate();
  }

  ask() {
    const alpha = this.alpha(), c = this.c(), K = this.K();
    this.showCommand(commandLine('predict', {alpha, K, c}));
    this.lab.run(async lab => {
      const at = Array.from({length: K_MOST + 1}, (_, k) => [alpha, k, c]);
      const [curve, now] = await Promise.all([lab.ask('numbers', {form: 'speedup', at}),
        lab.ask('formulas', {alpha, K, c})]);
      this.theory = {curve, now, ahead: await this.ahead(lab)};
      this.draw();
    });
  }

  /** Speed-up where the draft works ahead while the target verifies: [[K, speed-up]]. */
  async ahead(lab) {
    if (!(Number(state.guess) > 0)) return [];
    const text = `measure = "ahead"; grid = { K = [${LENGTHS.join(', ')}];
      alpha = ${this.alpha().toFixed(4)}; c = ${this.c().toFixed(4)};
      guess = ${Number(state.guess).toFixed(4)}; };`;
    const table = await lab.ask('run', {text, name: 'ahead'});
    const K = table.columns.indexOf('K'), speedup = table.columns.indexOf('speedup_ahead');
    return table.rows.map(row => [row[K], row[speedup]]);
  }

  draw() {
    const {curve, now, ahead} = this.theory;
    const best = now.best_K, top = Math.max(1.25, ...curve, ...ahead.map(p => p[1]));
    this.drawNumbers(now);
    const here = [this.K(), curve[this.K()]];
    const notes = [{x: here[0], y: here[1], text: times(here[1]), dy: -17, bold: true,
      anchor: here[0] < 2 ? 'start' : here[0] > 14 ? 'end' : 'middle'}];
    const rulers = [{y: 1, dash: '6 5'}];
    if (best <= K_MOST) {
      rulers.push({x: best, color: 's-accepted', dash: '2 4'});
      notes.push({x: best, y: 1, dy: 16, dx: best > 12 ? -6 : 6,
        anchor: best > 12 ? 'end' : 'start', text: `best K = ${best}`});
    }
    const series = [{kind: 'line', color: 's-target', points: curve.map((s, k) => [k, s])},
      {kind: 'points', shape: 'hollow', color: 's-draft', stroke: 's-draft',
        points: [...this.points].map(([K, p]) => [K, p.speedup, p.speedup - 3 * p.speedup_se,
          p.speedup + 3 * p.speedup_se])},
      {kind: 'line', color: 's-bonus', dash: '8 5', points: ahead},
      {kind: 'points', shape: 'ring', color: 's-ink', points: [here]}];
    this.showCurve({words: `Speed-up over K at alpha ${state.alpha} and c ${state.c}: `
      + curve.map((s, k) => `${k}: ${fixed(s, 2)}`).join(', ') + `. Best K: ${fixed(best, 0)}.`,
    draw: width => drawChart({height: 320, x: {domain: [0, K_MOST], label: 'draft tokens, K',
      ticks: width < 420 ? [0, 4, 8, 12, 16] : [0, 2, 4, 6, 8, 10, 12, 14, 16]},
    y: {domain: [Math.min(0.5, ...curve) * 0.98, top * 1.08], label: 'speed-up',
      format: times},
    areas: [{y0: Math.min(0.5, ...curve) * 0.98, y1: 1, color: 'f-rejected'}],
    rulers, series, notes}, width),
    heads: ['K', 'closed form', 'Monte Carlo', 'standard error', 'z'],
    rows: curve.map((s, k) => {
      const p = this.points.get(k);
      return [String(k), fixed(s, 4), p ? fixed(p.speedup, 4) : '–',
        p ? fixed(p.speedup_se, 5) : '–', p ? fixed(this.z(k), 2) : '–'];
    })});
  }

  z(K) {
    const p = this.points.get(K);
    return p.speedup_se > 0 ? (p.speedup - this.theory.curve[K]) / p.speedup_se : 0;
  }

  drawNumbers(now) {
    const even = now.break_even_alpha;
    const pair = (name, value, note) => h('div', {}, h('dt', {}, name),
      h('dd', {}, value, note ? h('small', {}, ` ${note}`) : null));
    byId('gain').replaceChildren(
      pair('Speed-up', times(now.speedup), now.speedup < 1 ? 'slower' : ''),
      pair('Tokens per round', fixed(now.emitted, 2), `of ${now.K + 1}`),
      pair('Best K', fixed(now.best_K, 0), times(now.best_speedup)),
      pair('Faster above alpha', even === null ? '–' : fixed(even, 3),
        even === null ? 'no K gains' : `at K = ${now.K}`));
  }

  showPoints(points, rate) {
    this.points = new Map(points);
    if (!this.theory) return;
    const worst = Math.max(...[...this.points.keys()].map(K => Math.abs(this.z(K))));
    const rounds = [...points.values()].reduce((sum, p) => sum + p.rounds, 0);
    byId('carlo').textContent = `Monte Carlo: ${whole(rounds)} rounds, ${whole(rate / 1e6)} `
      + `million per second. The farthest point is ${fixed(worst, 1)} standard errors from the `
      + 'closed form.';
    byId('carlo').dataset.worst = String(worst);
    this.draw();
  }

  /** Ten million rounds at the present K. */
  async more() {
    const button = byId('carlo-more');
    button.disabled = true;
    const K = Math.max(1, this.K());
    const result = await this.carlo.start(this.alpha(), this.c(), [K], ROUNDS_MORE);
    button.disabled = false;
    const p = result.points.get(K);
    if (!p || !p.done) return;
    byId('carlo').textContent = `${whole(p.rounds)} rounds at K = ${K} in `
      + `${fixed(result.seconds, 2)} s: ${fixed(p.emitted, 5)} ± ${fixed(p.emitted_se, 5)} tokens `
      + `per round, ${fixed(p.speedup, 5)}× speed-up, z = ${fixed(this.z(K), 2)}.`;
    byId('carlo').dataset.seconds = String(result.seconds);
  }
}
