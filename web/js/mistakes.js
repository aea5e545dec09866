// SPDX-License-Identifier: GPL-3.0-or-later
// mistakes: section 2, two sentences that circulate, and the curves that contradict them.

const WARM = {target: '0.7,0.2,0.08,0.02', draft: '0.6,0.05,0.05,0.3'};
const WARMTHS = Array.from({length: 30}, (_, i) => Number(((i + 1) / 10).toFixed(1)));

/** Acceptance over the temperature of both models. */
class Warmth {
  constructor() {
    this.lab = new Lab();
    this.show = figureIn(byId('warm-figure'));
    this.points = [];
    bindControl('heat', 'heat', x => fixed(x, 1));
    onState(changed => { if (changed.has('heat')) this.draw(); });
    this.ask();
  }

  async ask() {
    const text = `measure = "accept"; grid = { T = [${WARMTHS.map(t => t.toFixed(1)).join(', ')}];
      rule = "token"; target = "probs:${WARM.target}?temperature={T}";
      draft = "probs:${WARM.draft}?temperature={T}"; };`;
    try {
      const table = await this.lab.ask('run', {text, name: 'temperature'});
      const column = table.columns.indexOf('acceptance');
      this.points = table.rows.map((row, i) => [WARMTHS[i], row[column]]);
      this.draw();
    } catch (error) {
      byId('warm-text').textContent = error.message;
    }
  }

  draw() {
    const here = this.points.find(([T]) => Math.abs(T - Number(state.heat)) < 0.01);
    if (!here) return;
    const least = this.points.reduce((a, b) => b[1] < a[1] ? b : a);
    byId('warm-text').textContent = `At temperature ${fixed(here[0], 1)} alpha is `
      + `${fixed(here[1], 3)}. ` + (here[0] < least[0] ? 'Warmer than this, acceptance falls.'
        : `It fell until ${fixed(least[0], 1)}, and rises only as both rows become flat.`);
    this.show({words: 'Acceptance rate over temperature: '
      + this.points.map(p => `${fixed(p[0], 1)}: ${fixed(p[1], 3)}`).join(', ') + '.',
    draw: width => drawChart({height: 230, x: {domain: [0, 3], ticks: [0, 1, 2, 3],
      label: 'temperature'}, y: {domain: [0.5, 1.02], ticks: [0.5, 0.6, 0.7, 0.8, 0.9, 1],
      label: 'acceptance rate, alpha'},
    series: [{kind: 'line', color: 's-target', points: this.points},
      {kind: 'points', color: 'f-target', points: [here]}],
    notes: [{x: here[0], y: here[1], dx: here[0] < least[0] ? 8 : 0, dy: -10,
      text: fixed(here[1], 3), bold: true, anchor: here[0] < least[0] ? 'start' : 'end'}]}, width),
    heads: ['temperature', 'alpha'], rows: this.points.map(p => [fixed(p[0], 1), fixed(p[1], 4)])});
  }
}

/** Accepted over drafted, beside alpha. */
class Ratio {
  constructor() {
    this.lab = new Latest(new Lab());
    this.show = figureIn(byId('ratio-figure'));
    bindControl('ratio', 'ratio', x => String(x));
    onState(changed => { if (changed.has('ratio') || changed.has('alpha')) this.ask(); });
    this.ask();
  }

  ask() {
    const alpha = Number(state.alpha);
    this.lab.run(async lab => {
      const emitted = await lab.ask('numbers', {form: 'emitted_mean',
        at: Array.from({length: K_MOST}, (_, i) => [alpha, i + 1])});
      this.draw(alpha, emitted.map((tokens, i) => [i + 1, (tokens - 1) / (i + 1)]));
    });
  }

  draw(alpha, points) {
    const here = points[Number(state.ratio) - 1];
    byId('ratio-text').textContent = `At alpha ${fixed(alpha, 2)} and K = ${here[0]}, accepted / `
      + `drafted is ${fixed(here[1], 3)}, while the acceptance rate stays ${fixed(alpha, 2)}.`;
    this.show({words: `Accepted over drafted by K, alpha ${fixed(alpha, 2)}: `
      + points.map(p => `${p[0]}: ${fixed(p[1], 3)}`).join(', ') + '.',
    draw: width => drawChart({height: 230, x: {domain: [1, K_MOST], ticks: [1, 4, 8, 12, 16],
      label: 'draft tokens, K'}, y: {domain: [0, 1], ticks: [0, 0.2, 0.4, 0.6, 0.8, 1], label:
      'share of draft tokens'},
    rulers: [{y: alpha, color: 's-target'}],
    series: [{kind: 'line', color: 's-rejected', dash: '7 5', points},
      {kind: 'points', shape: 'square', color: 'f-rejected', points: [here]}],
    notes: [{x: K_MOST, y: alpha, dy: -7, anchor: 'end', text: 'acceptance rate, alpha'},
      {x: here[0], y: here[1], dy: here[0] > 12 ? -12 : 22, bold: true, text: fixed(here[1], 3),
        anchor: here[0] > 14 ? 'end' : here[0] < 2 ? 'start' : 'middle'},
      {x: K_MOST, y: points[K_MOST - 1][1], dy: 20, anchor: 'end',
        text: here[0] > 12 ? '' : 'accepted / drafted'}]}, width),
    heads: ['K', 'accepted / drafted', 'alpha'],
    rows: points.map(p => [String(p[0]), fixed(p[1], 4), fixed(alpha, 2)])});
  }
}
