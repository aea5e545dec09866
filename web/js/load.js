// SPDX-License-Identifier: GPL-3.0-or-later
// load: section 2, the speed-up in batches, by the step costs of `speclab serve`.

const ENGINE = 'affine:step=7.093ms,token=21.01us,kv=39.26ns', ENGINE_DRAFT = 'round=2.135ms';
const BATCHES = Array.from({length: 13}, (_, i) => 2 ** i);

class Load {
  constructor() {
    this.lab = new Latest(new Lab());
    this.show = figureIn(byId('load-figure'));
    byId('load-legend').append(legendOf([['this K', 's-target', 'line'],
      [`the best K of each batch, at most ${K_MOST}`, 's-accepted', 'dashed'],
      ['no draft', 's-soft', 'dashed']]));
    const slider = byId('batch-log');
    slider.value = String(Math.round(Math.log2(Number(state.batch) || 1)));
    state.batch = String(2 ** Number(slider.value));
    slider.addEventListener('input', () => setState({batch: 2 ** Number(slider.value)}));
    const say = () => { byId('batch-out').textContent = state.batch; };
    say();
    bindControl('tokens', 'tokens', x => whole(x));
    onState(changed => {
      if (changed.has('batch')) say();
      if (['alpha', 'k', 'batch', 'tokens'].some(name => changed.has(name))) this.ask();
    });
    this.ask();
  }

  ask() {
    const K = Math.max(1, Number(state.k));
    const text = `measure = "break_even";
      grid = { batch = [${BATCHES.join(', ')}]; alpha = ${Number(state.alpha).toFixed(4)};
        context = ${state.tokens}; K = ["0,${LENGTHS.join(',')}"];
        cost = "${ENGINE}"; draft_cost = "${ENGINE_DRAFT}"; };`;
    this.lab.run(async lab => {
      try {
        const table = await lab.ask('run', {text, name: 'load'});
        byId('load-fault').textContent = '';
        this.draw(table, K);
      } catch (error) {
        if (!(error instanceof Stopped)) byId('load-fault').textContent = error.message;
      }
    });
  }

  draw(table, K) {
    const column = name => table.columns.indexOf(name);
    const rows = table.rows.filter(row => row[column('K')] === K);
    const points = rows.map(row => [row[column('batch')], row[column('speedup')],
      row[column('best_K')], row[column('best_speedup')]]);
    const here = points.find(([batch]) => batch === Number(state.batch)) || points[0];
    const even = rows[0][column('break_even_batch')];
    const gains = even === null ? 'gains at large batches alone' : even === 0
      ? 'gains at no batch' : even === Infinity ? 'gains at every batch'
        : `breaks even at a batch of ${whole(even)}`;
    byId('load-text').textContent = `With ${whole(here[0])} `
      + `${here[0] === 1 ? 'request' : 'requests'} K = ${K} gives ${times(here[1])}`
      + `${here[1] < 1 ? ', slower than no draft' : ''}; the best K is ${here[2]}, `
      + `${times(here[3])}. K = ${K} ${gains}.`;
    const top = Math.max(1.2, ...points.map(p => Math.max(p[1], p[3])));
    const low = Math.min(0.5, ...points.map(p => p[1]));
    this.show({words: `Speed-up over the batch, K = ${K}: `
      + points.map(p => `${p[0]}: ${fixed(p[1], 2)}`).join(', ') + '.',
    draw: width => drawChart({height: 270, x: {domain: [1, BATCHES.at(-1)], log: true,
      ticks: width < 420 ? [1, 8, 64, 512, 4096] : BATCHES, label: 'requests in a batch'},
    y: {domain: [low * 0.95, top * 1.08], label: 'speed-up', format: times},
    areas: [{y0: low * 0.95, y1: 1, color: 'f-rejected'}], rulers: [{y: 1, dash: '6 5'}],
    series: [{kind: 'line', color: 's-accepted', dash: '7 5',
      points: points.map(p => [p[0], p[3]])},
      {kind: 'line', color: 's-target', points}, {kind: 'points', color: 'f-target',
        points: [here.slice(0, 2)]}],
    notes: [{x: here[0], y: here[1], text: times(here[1]), dy: 20, dx: -6, bold: true,
      anchor: here[0] < 3 ? 'start' : 'end'}]}, width),
    heads: ['batch', `K = ${K}`, 'best K', 'with best K'],
    rows: points.map(p => [whole(p[0]), fixed(p[1], 4), String(p[2]), fixed(p[3], 4)])});
  }
}
