// SPDX-License-Identifier: GPL-3.0-or-later
// heat: the speed-up over alpha and K as a map; pointer and arrow keys read its cells.

const HEAT = {columns: 51, rows: K_MOST, left: 34, bottom: 40, top: 24, height: 336};

/** From slower (vermillion) over even (neutral) to faster (blue), as [red, green, blue]. */
function heatColor(speedup, dark) {
  const even = dark ? [46, 52, 58] : [243, 241, 235];
  const far = speedup < 1 ? (dark ? [240, 130, 58] : [213, 94, 0]) : (dark ? [92, 190, 250]
    : [0, 88, 142]);
  const share = speedup < 1 ? Math.min(1, (1 - speedup) / 0.6) : Math.min(1, Math.log(speedup) /
    Math.log(5));
  return even.map((e, i) => Math.round(e + (far[i] - e) * share));
}

class HeatMap {
  constructor() {
    this.lab = new Latest(new Lab());
    this.cells = null;
    this.canvas = h('canvas', {tabindex: 0, role: 'img', id: 'heat-canvas'});
    this.values = h('div', {});
    const folded = h('details', {ontoggle: () => this.table(), class: 'values'},
      h('summary', {}, 'Values as a table'), this.values);
    this.folded = folded;
    byId('heat-figure').append(this.canvas, folded);
    this.cell = null;
    this.canvas.addEventListener('pointermove', event => this.point(event));
    this.canvas.addEventListener('click', event => { this.point(event); this.take(); });
    this.canvas.addEventListener('keydown', event => this.key(event));
    new ResizeObserver(() => this.draw()).observe(byId('heat-figure'));
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    onState(changed => {
      if (changed.has('c')) this.ask();
      else if (changed.has('alpha') || changed.has('k')) this.follow();
    });
    this.ask();
  }

  alphaOf(column) { return column / (HEAT.columns - 1); }

  ask() {
    const c = Number(state.c), at = [];
    for (let K = 1; K <= HEAT.rows; K++)
      for (let i = 0; i < HEAT.columns; i++) at.push([this.alphaOf(i), K, c]);
    this.lab.run(async lab => {
      this.cells = await lab.ask('numbers', {form: 'speedup', at});
      this.follow();
      this.table();
    });
  }

  follow() {
    this.cell = {column: Math.round(Number(state.alpha) * (HEAT.columns - 1)),
      K: Math.max(1, Number(state.k))};
    this.draw();
  }

  value({column, K}) { return this.cells[(K - 1) * HEAT.columns + column]; }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - HEAT.left) / this.step.x);
    const K = HEAT.rows - Math.floor((event.clientY - box.top - HEAT.top) / this.step.y);
    if (column < 0 || column >= HEAT.columns || K < 1 || K > HEAT.rows) return;
    this.cell = {column, K};
    this.draw();
  }

  key(event) {
    const move = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
    if (event.key === 'Enter') this.take();
    if (!move[event.key] || !this.cell) return;
    event.preventDefault();
    const inside = (x, low, high) => Math.max(low, Math.min(high, x));
    this.cell = {column: inside(this.cell.column + move[event.key][0], 0, HEAT.columns - 1),
      K: inside(this.cell.K + move[event.key][1], 1, HEAT.rows)};
    this.draw();
  }

  take() {
    setState({alpha: Math.min(0.99, this.alphaOf(this.cell.column)).toFixed(2), k: this.cell.K});
  }

  draw() {
    const width = Math.round(byId('heat-figure').getBoundingClientRect().width);
    if (!this.cells || width < 50) return;
    const scale = devicePixelRatio || 1, canvas = this.canvas;
    canvas.width = width * scale;
    canvas.height = HEAT.height * scale;
    this.step = {x: (width - HEAT.left - 4) / HEAT.columns,
      y: (HEAT.height - HEAT.top - HEAT.bottom) / HEAT.rows};
    const pen = canvas.getContext('2d');
    pen.scale(scale, scale);
    const style = getComputedStyle(document.documentElement);
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    for (let K = 1; K <= HEAT.rows; K++)
      for (let column = 0; column < HEAT.columns; column++) {
        pen.fillStyle = `rgb(${heatColor(this.value({column, K}), dark).join(' ')})`;
        pen.fillRect(this.x(column), this.y(K), this.step.x + 0.5, this.step.y + 0.5);
      }
    this.drawLines(pen, style, width);
    this.say();
  }

  x(column) { return HEAT.left + column * this.step.x; }
  y(K) { return HEAT.top + (HEAT.rows - K) * this.step.y; }

  /** The line of break-even, the axes, and the cell that is read. */
  drawLines(pen, style, width) {
    const ink = style.getPropertyValue('--ink');
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.beginPath();
    for (let K = 1; K <= HEAT.rows; K++) {
      let column = 0;
      while (column < HEAT.columns && this.value({column, K}) < 1) column++;
      const x = this.x(column);
      if (K === 1) pen.moveTo(x, this.y(K) + this.step.y);
      else pen.lineTo(x, this.y(K) + this.step.y);
      pen.lineTo(x, this.y(K));
    }
    pen.stroke();
    pen.fillStyle = style.getPropertyValue('--soft');
    pen.font = `13px ${getComputedStyle(document.body).fontFamily}`;
    pen.textAlign = 'center';
    for (const a of [0, 0.2, 0.4, 0.6, 0.8, 1])
      pen.fillText(String(a), this.x(a * (HEAT.columns - 1) + 0.5), HEAT.height - 22);
    pen.textAlign = 'right';
    for (const K of [1, 4, 8, 12, 16])
      pen.fillText(String(K), HEAT.left - 7, this.y(K) + this.step.y / 2 + 5);
    pen.fillStyle = ink;
    pen.fillText('acceptance rate, alpha', width - 4, HEAT.height - 4);
    pen.textAlign = 'left';
    pen.fillText('draft tokens, K', HEAT.left, 14);
    pen.lineWidth = 2.5;
    pen.strokeRect(this.x(this.cell.column) - 2, this.y(this.cell.K) - 2, this.step.x + 4,
      this.step.y + 4);
  }

  say() {
    const text = `At alpha ${fixed(this.alphaOf(this.cell.column), 2)} and K = ${this.cell.K}: `
      + `${times(this.value(this.cell))}.`;
    byId('heat-cell').textContent = text;
    this.canvas.setAttribute('aria-label', 'Speed-up by alpha and K, from orange, slower, to '
      + `blue, faster; the line is break-even. ${text} Arrow keys read other cells.`);
  }

  table() {
    if (!this.folded.open || !this.cells) return;
    const columns = [0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 48, 50];
    this.values.replaceChildren(tableOf(['K', ...columns.map(c => fixed(this.alphaOf(c), 2))],
      Array.from({length: HEAT.rows}, (_, i) => [String(i + 1),
        ...columns.map(column => fixed(this.value({column, K: i + 1}), 2))])));
  }
}
