// SPDX-License-Identifier: GPL-3.0-or-later
// chart: curves and points over two axes.

/**
 * A scale from a domain to pixels.
 * @param {number[]} domain first and last value
 * @param {number[]} range first and last pixel
 * @param {boolean} log
 */
function scaleOf(domain, range, log) {
  const from = log ? Math.log(domain[0]) : domain[0], to = log ? Math.log(domain[1]) : domain[1];
  return x => range[0] + ((log ? Math.log(x) : x) - from) / (to - from) * (range[1] - range[0]);
}

/** Round numbers within a domain, about `count` of them. */
function ticksOf([low, high], count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);
  const first = Math.ceil(low / step - 1e-9);
  // By index: of numbers beyond 2^53, the next one may be the same.
  const n = Math.min(Math.floor(high / step - first + 1e-9) + 1, 10 * count) || 0;
  const ticks = Array.from({length: n}, (_, i) => Number(((first + i) * step).toPrecision(12)));
  return ticks.filter((tick, i) => tick >= low - step && tick <= high + step &&
    (i === 0 || tick > ticks[i - 1]));
}

/** Powers of `base` within a domain. */
function powersOf([low, high], base) {
  const ticks = [];
  const last = Math.floor(Math.log(high) / Math.log(base) + 1e-9);
  for (let e = Math.ceil(Math.log(low) / Math.log(base) - 1e-9); e <= last; e++)
    ticks.push(base ** e);
  return ticks;
}

const pathOf = (points, x, y) => points.map(([a, b], i) =>
  `${i ? 'L' : 'M'}${x(a).toFixed(2)} ${y(b).toFixed(2)}`).join('');

function bandOf(points, x, y) {
  const upper = points.map(([a, , high]) => [a, high]);
  const lower = points.map(([a, low]) => [a, low]).reverse();
  return `${pathOf(upper, x, y)}${pathOf(lower, x, y).replace('M', 'L')}Z`;
}

const SHAPES = {
  circle: (x, y) => svg('circle', {cx: x, cy: y, r: 4}),
  diamond: (x, y) => svg('path', {d: `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`}),
  hollow: (x, y) => svg('path', {d: `M${x} ${y - 5}L${x + 5} ${y}L${x} ${y + 5}L${x - 5} ${y}Z`,
    fill: 'var(--panel)', 'stroke-width': 2}),
  ring: (x, y) => svg('circle', {cx: x, cy: y, r: 8, fill: 'none', 'stroke-width': 2.5}),
  square: (x, y) => svg('rect', {x: x - 4, y: y - 4, width: 8, height: 8}),
};

function drawSeries(series, x, y) {
  const inside = ([a, b]) => Number.isFinite(x(a)) && Number.isFinite(y(b));
  const points = series.points.filter(inside);
  if (series.kind === 'band')
    return svg('path', {d: bandOf(points, x, y), class: series.color, 'fill-opacity': 0.16});
  if (series.kind === 'line')
    return svg('path', {d: pathOf(points, x, y), class: `line ${series.color}`,
      'stroke-dasharray': series.dash});
  return svg('g', {class: series.color}, points.map(([a, b, low, high]) => [
    low === undefined ? null : svg('path', {d: `M${x(a)} ${y(low)}V${y(high)}`,
      class: series.stroke, 'stroke-width': 2}),
    SHAPES[series.shape || 'circle'](x(a), y(b)),
  ]).flat());
}

function drawAxes(chart, x, y, box) {
  const xTicks = chart.x.ticks || ticksOf(chart.x.domain, box.width / 80);
  const yTicks = chart.y.ticks || ticksOf(chart.y.domain, box.height / 45);
  const say = (axis, value) => axis.format ? axis.format(value) : String(value);
  return [
    ...yTicks.map(t => svg('path', {class: 'grid', d: `M${box.left} ${y(t)}H${box.right}`})),
    ...yTicks.map(t => svg('text', {x: box.left - 8, y: y(t) + 4, 'text-anchor': 'end',
      class: 'soft'}, say(chart.y, t))),
    ...xTicks.map(t => svg('text', {x: x(t), y: box.bottom + 19, 'text-anchor': 'middle',
      class: 'soft'}, say(chart.x, t))),
    svg('path', {class: 'axis', d: `M${box.left} ${box.bottom}H${box.right}`}),
    svg('text', {x: box.right, y: box.bottom + 37, 'text-anchor': 'end'}, chart.x.label),
    svg('text', {x: box.left, y: box.top - 10}, chart.y.label),
  ];
}

/** A label beside a point: {x, y, text, color, dx, dy, anchor}. */
function drawNote(note, x, y) {
  return svg('text', {x: x(note.x) + (note.dx || 0), y: y(note.y) + (note.dy || 0), class: 'halo',
    'text-anchor': note.anchor || 'start', 'font-weight': note.bold ? 650 : null}, note.text);
}

/**
 * The drawing of a chart:
 *   {x, y: {domain, label, log, ticks, format}, height, series, rulers, areas, notes}
 * A series is {kind: 'line'|'points'|'band', points, color, stroke, shape, dash}. A ruler is a
 * straight line at {x} or {y}; an area fills {y0, y1} over the whole width.
 */
function drawChart(chart, width) {
  const height = chart.height || 300;
  const box = {left: chart.left || 48, right: width - 12, top: 26, bottom: height - 42};
  box.width = box.right - box.left;
  box.height = box.bottom - box.top;
  const x = scaleOf(chart.x.domain, [box.left, box.right], chart.x.log);
  const y = scaleOf(chart.y.domain, [box.bottom, box.top], chart.y.log);
  return canvasOf(width, height,
    (chart.areas || []).map(area => svg('rect', {x: box.left, width: box.width, y: y(area.y1),
      height: Math.max(0, y(area.y0) - y(area.y1)), class: area.color, 'fill-opacity': 0.09})),
    drawAxes(chart, x, y, box),
    (chart.rulers || []).map(ruler => svg('path', {
      class: ruler.color || 's-soft', 'stroke-width': 1.5, 'stroke-dasharray': ruler.dash,
      fill: 'none',
      d: ruler.x === undefined ? `M${box.left} ${y(ruler.y)}H${box.right}`
        : `M${x(ruler.x)} ${box.top}V${box.bottom}`})),
    chart.series.map(series => drawSeries(series, x, y)),
    (chart.notes || []).map(note => drawNote(note, x, y)));
}

/** The key of a chart: entries are [text, class, 'line'|'dashed'|shape|'fill']. */
function legendOf(entries) {
  const sign = (color, kind) => {
    if (kind === 'line' || kind === 'dashed')
      return svg('path', {d: 'M1 6H19', class: `line ${color}`,
        'stroke-dasharray': kind === 'dashed' ? '5 4' : null});
    if (kind === 'fill') return svg('rect', {x: 2, y: 0, width: 16, height: 12, class: color});
    return fill(SHAPES[kind](10, 6), {class: color}, []);
  };
  return h('ul', {class: 'legend'}, entries.map(([text, color, kind]) => h('li', {},
    svg('svg', {viewBox: '0 0 20 12', 'aria-hidden': 'true'}, sign(color, kind)), text)));
}
