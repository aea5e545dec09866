// SPDX-License-Identifier: GPL-3.0-or-later
// results_panel: section 6, a dropped result with its provenance, checks, figure and rows.

const SHOWN_ROWS = 500, CURVES_MOST = 7, POINTS_MOST = 2000;
const CURVE_STYLES = [['target', 'circle'], ['rejected', 'diamond'], ['accepted', 'square'],
  ['bonus', 'circle'], ['draft', 'diamond'], ['residual', 'square'], ['ink', 'circle']];
const ROLES = { // columns that are wanted on an axis, best first
  x: ['K', 'rate', 'batch', 'slots', 'c', 'T', 'nodes', 'alpha', 'n', 'tokens', 'load', 'position'],
  y: ['speedup', 'tokens_per_s', 'emitted', 'acceptance', 'alpha_mean', 'tv', 'latency_ms',
    'mean_n_accepted', 'log_e', 'p'],
  by: ['alpha', 'rule', 'K', 'lengths', 'draft', 'rho', 'drafting', 'method', 'name'],
};

const EXAMPLE = `measure = "acceptance"; rounds = 200000;
  grid = { alpha = [0.5, 0.7, 0.8, 0.9, 0.95]; K = [1, 2, 3, 4, 5, 6, 8, 10, 12]; c = 0.1; };`;

class ResultsPanel {
  constructor() {
    this.table = null;
    this.sort = {column: -1, down: false};
    this.show = figureIn(byId('result-figure'));
    byId('result-file').addEventListener('change', event => this.open(event.target.files[0]));
    byId('example').addEventListener('click', () => this.example());
    takeFiles(byId('drop'), files => this.open(files[0]), document);
    for (const id of ['axis-x', 'axis-y', 'axis-by'])
      byId(id).addEventListener('change', () => this.draw());
    byId('filter').addEventListener('input', settled(() => this.list(), 120));
  }

  async open(file) {
    if (!file) return;
    if (file.size > FILE_MOST) {
      this.refuse(file.name, `larger than ${FILE_MOST >> 20} MB, too large for a page`);
      return;
    }
    try {
      this.take(file.name, readResult(file.name, await file.arrayBuffer()));
    } catch (error) {
      this.refuse(file.name, error instanceof Fault ? error.message : 'the file cannot be read');
    }
  }

  async example() {
    const lab = new Lab(20000);
    byId('example').disabled = true;
    try {
      this.take('an experiment, run in this page', await lab.ask('run', {text: EXAMPLE,
        name: 'example'}));
    } catch (error) {
      this.refuse('the example', error.message);
    }
    byId('example').disabled = false;
    lab.stop();
  }

  refuse(name, why) {
    this.table = null;
    byId('result').hidden = true;
    byId('result-fault').textContent = `${name}: ${why}`;
  }

  take(name, table) {
    this.table = table;
    this.sort = {column: -1, down: false};
    byId('result-fault').textContent = '';
    byId('result').hidden = false;
    byId('filter').value = '';
    byId('result-name').textContent = name;
    byId('provenance').textContent = table.provenance || 'none in this file';
    const {checked, failed} = checksOf(table);
    byId('result-checks').textContent = `${whole(table.rows.length)} rows, ${table.columns.length} `
      + `columns. ` + (checked === 0 ? 'No column of this file is a check.'
        : failed === 0 ? `All ${whole(checked)} checked rows hold.`
          : `${whole(failed)} of ${whole(checked)} checked rows fail.`);
    this.menus();
    this.draw();
    this.list();
  }

  values(column) { return this.table.rows.map(row => row[column]); }

  isNumeric(column) {
    return this.values(column).some(v => typeof v === 'number') &&
      this.values(column).every(v => v === null || typeof v === 'number');
  }

  menus() {
    const {columns} = this.table;
    const numeric = columns.map((_, i) => i).filter(i => this.isNumeric(i));
    const several = i => new Set(this.values(i)).size > 1;
    const first = (names, from, without) => {
      const usable = from.filter(i => !without.includes(i));
      const named = names.map(name => usable.find(i => columns[i] === name && several(i)));
      return named.find(i => i !== undefined) ?? usable.find(several) ?? usable[0] ?? -1;
    };
    const x = first(ROLES.x, numeric, []), y = first(ROLES.y, numeric, [x]);
    const by = ROLES.by.map(name => columns.indexOf(name))
      .find(i => i >= 0 && i !== x && i !== y && several(i)) ?? -1;
    const option = i => h('option', {value: i}, columns[i]);
    byId('axis-x').replaceChildren(...numeric.map(option));
    byId('axis-y').replaceChildren(...numeric.map(option));
    byId('axis-by').replaceChildren(h('option', {value: -1}, 'nothing'), ...columns.map((_, i) =>
      option(i)));
    byId('axis-x').value = String(x);
    byId('axis-y').value = String(y);
    byId('axis-by').value = String(by);
  }

  draw() {
    const {columns, rows} = this.table;
    const [x, y, by] = ['axis-x', 'axis-y', 'axis-by'].map(id => Number(byId(id).value));
    const se = columns.indexOf(`${columns[y]}_se`);
    const curves = new Map();
    for (const row of rows) {
      const point = [row[x], row[y]];
      if (!point.every(Number.isFinite)) continue;
      if (se >= 0 && Number.isFinite(row[se]))
        point.push(row[y] - 3 * row[se], row[y] + 3 * row[se]);
      const key = by >= 0 ? String(row[by]) : '';
      if (!curves.has(key)) curves.set(key, []);
      curves.get(key).push(point);
    }
    const shown = [...curves].slice(0, CURVES_MOST).map(([key, points]) =>
      [key, points.slice(0, POINTS_MOST)]);
    byId('result-figure').hidden = shown.length === 0;
    byId('result-legend').replaceChildren();
    if (shown.length === 0) return;
    for (const [, points] of shown) points.sort((a, b) => a[0] - b[0]);
    const all = shown.flatMap(([, points]) => points);
    const range = k => {
      const low = Math.min(...all.map(p => p[k])), high = Math.max(...all.map(p => p[k]));
      const pad = (high - low || Math.abs(high) || 1) * 0.06;
      return low >= 0 && low < high * 0.6 ? [0, high + pad] : [low - pad, high + pad];
    };
    const series = shown.flatMap(([, points], i) => {
      const [color, shape] = CURVE_STYLES[i];
      return [{kind: 'line', color: `s-${color}`, points},
        {kind: 'points', shape, color: `f-${color}`, stroke: `s-${color}`, points}];
    });
    const name = key => by >= 0 ? `${columns[by]} ${key}` : columns[y];
    byId('result-legend').append(legendOf(shown.map(([key], i) => [name(key),
      `f-${CURVE_STYLES[i][0]}`, CURVE_STYLES[i][1]])));
    if (curves.size > CURVES_MOST) byId('result-legend').append(h('p', {class: 'small soft'},
      `The first ${CURVES_MOST} of ${curves.size} curves are drawn.`));
    if ([...curves.values()].some(points => points.length > POINTS_MOST))
      byId('result-legend').append(h('p', {class: 'small soft'},
        `The first ${whole(POINTS_MOST)} points of a curve are drawn.`));
    const wide = [0, 1].map(range), brief = v => String(Number(v.toPrecision(4)));
    this.show({words: `${columns[y]} over ${columns[x]}: ${all.length} points in ${shown.length} `
      + `${shown.length === 1 ? 'curve' : 'curves'}, from `
      + `${brief(Math.min(...all.map(p => p[1])))} to ${brief(Math.max(...all.map(p => p[1])))}.`,
    draw: width => drawChart({height: 340, left: 64, x: {domain: wide[0], label: columns[x],
      format: brief}, y: {domain: wide[1], label: columns[y], format: brief}, series}, width),
    heads: [columns[x], columns[y], by >= 0 ? columns[by] : ''],
    rows: shown.flatMap(([key, points]) => points.slice(0, 200).map(p =>
      [brief(p[0]), brief(p[1]), key]))});
  }

  /** The rows, filtered and sorted. */
  list() {
    const {columns, rows} = this.table, wanted = byId('filter').value.toLowerCase();
    let kept = wanted === '' ? rows.slice() : rows.filter(row => row.some(cell =>
      cell !== null && String(cell).toLowerCase().includes(wanted)));
    const {column, down} = this.sort;
    if (column >= 0) {
      const order = (a, b) => a === null ? 1 : b === null ? -1
        : typeof a === 'number' && typeof b === 'number' ? a - b
          : String(a).localeCompare(String(b), 'en', {numeric: true});
      kept.sort((a, b) => order(a[column], b[column]) * (down && a[column] !== null &&
        b[column] !== null ? -1 : 1));
    }
    byId('result-count').textContent = `${whole(kept.length)} of ${whole(rows.length)} rows`
      + (kept.length > SHOWN_ROWS ? `; the first ${SHOWN_ROWS} are shown.` : '.');
    kept = kept.slice(0, SHOWN_ROWS);
    const head = columns.map((name, i) => h('th', {scope: 'col', 'aria-sort': i !== column ? 'none'
      : down ? 'descending' : 'ascending'}, h('button', {type: 'button', onclick: () => {
      this.sort = {column: i, down: column === i && !down};
      this.list();
    }}, name + (i === column ? (down ? ' ↓' : ' ↑') : ''))));
    const text = cell => cell === null ? '' : typeof cell === 'number'
      ? String(Number(cell.toPrecision(7))) : String(cell).slice(0, 200);
    byId('result-table').replaceChildren(h('div', {class: 'scroll rows', tabindex: 0,
      role: 'region', 'aria-label': 'Rows of the result'}, h('table', {}, h('thead', {},
      h('tr', {}, head)), h('tbody', {}, kept.map(row => h('tr', {}, row.map(cell =>
      h('td', {class: typeof cell === 'string' ? 'left' : null}, text(cell)))))))));
  }
}
