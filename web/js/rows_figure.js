// SPDX-License-Identifier: GPL-3.0-or-later
// rows_figure: the rows of draft and target side by side, with their overlap; tops can be dragged.

const ROWS_HEIGHT = 250, ROWS_TOP = 30, ROWS_BOTTOM = 34;

/** The stripes of what the draft has too much. */
function stripes() {
  return svg('defs', {}, svg('pattern', {id: 'stripes', width: 7, height: 7,
    patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
  svg('rect', {width: 7, height: 7, class: 'f-draft', 'fill-opacity': 0.25}),
  svg('rect', {width: 3.2, height: 7, class: 'f-draft'})));
}

/** One word: the overlap in both bars, and above it what one of the two has more. */
function drawWord({x, width, draft, target, y, word, present, gone}) {
  const base = y(0), half = width / 2, both = Math.min(draft ?? 0, target);
  const part = (left, wide, low, high, attributes) => svg('rect', {x: left, width: wide,
    y: y(high), height: Math.max(0, y(low) - y(high)), ...attributes});
  const top = Math.min(y(Math.max(draft ?? 0, target)), base - 2);
  const number = (left, value, color) => svg('text', {x: left, y: y(value) - 6, class: 'halo',
    'text-anchor': 'middle', 'font-size': 12, style: `fill:var(--${color}-ink)`}, chance(value));
  const inside = half > 24;
  return svg('g', {opacity: gone ? 0.4 : null},
    present ? svg('rect', {x: x - 5, y: ROWS_TOP - 24, width: width + 10, rx: 8,
      height: base - ROWS_TOP + 24 + ROWS_BOTTOM - 4, style: 'fill:var(--sunk)'}) : null,
    draft === null ? part(x, width, 0, target, {class: 'bar f-target', 'fill-opacity': 0.8}) : [
      part(x, width, 0, both, {class: 'bar f-accepted', 'fill-opacity': 0.55}),
      part(x, half, both, draft, {class: 'bar', fill: 'url(#stripes)'}),
      part(x + half, half, both, target, {class: 'bar f-residual'}),
      part(x, half, 0, draft, {class: 's-draft', fill: 'none', 'stroke-width': 2,
        'stroke-dasharray': '4 3'}),
      part(x + half, half, 0, target, {class: 's-target', fill: 'none', 'stroke-width': 2}),
    ],
    draft === null ? number(x + half, target, 'target')
      : inside || Math.abs(y(draft) - y(target)) > 12
        ? [number(x + half / 2, draft, 'draft'), number(x + half * 1.5, target, 'target')]
        : svg('text', {x: x + half, y: top - 6, class: 'halo', 'text-anchor': 'middle',
          'font-size': 11}, `${chance(draft)} ${chance(target)}`),
    svg('text', {x: x + half, y: base + 21, 'text-anchor': 'middle', 'font-size': 15,
      'font-weight': present ? 700 : 500}, word));
}

/**
 * The drawing of a pair of rows.
 * @param {Object} pair {words, draft: row or null, target: row, present: token or -1}
 * @param {Function} grab called with ('draft'|'target', token, event, valueAt) by a press
 */
function drawRows(pair, width, grab) {
  const V = pair.words.length, left = 4, step = (width - 2 * left) / V;
  const gap = Math.min(22, step * 0.24), bar = step - gap;
  const most = Math.max(0.4, ...pair.target, ...(pair.draft || []));
  const y = scaleOf([0, most], [ROWS_HEIGHT - ROWS_BOTTOM, ROWS_TOP]);
  const valueAt = pixel => Math.max(0, (ROWS_HEIGHT - ROWS_BOTTOM - pixel) /
    (ROWS_HEIGHT - ROWS_BOTTOM - ROWS_TOP) * most);
  const words = pair.words.map((word, i) => {
    const x = left + i * step + gap / 2;
    const area = (side, from, wide) => svg('rect', {x: from, width: wide, y: 0,
      height: ROWS_HEIGHT - ROWS_BOTTOM, fill: 'transparent', class: 'handle',
      onpointerdown: event => grab(side, i, event, valueAt)});
    return [
      drawWord({x, width: bar, y, word, draft: pair.draft ? pair.draft[i] : null,
        target: pair.target[i], present: i === pair.present,
        gone: pair.present >= 0 && i !== pair.present && pair.dim}),
      grab && pair.draft ? [area('draft', x, bar / 2), area('target', x + bar / 2, bar / 2)] : null,
    ];
  });
  return canvasOf(width, ROWS_HEIGHT, stripes(), words.flat(2).filter(Boolean),
    svg('path', {class: 'axis', d: `M0 ${y(0)}H${width}`}));
}

/** What a pair of rows says, for readers who do not see it. */
function rowsInWords(pair) {
  const list = pair.words.map((word, i) => pair.draft
    ? `${word}: draft ${chance(pair.draft[i])}, target ${chance(pair.target[i])}`
    : `${word}: target ${chance(pair.target[i])}`);
  return `Next-token probabilities. ${list.join('; ')}.`;
}
