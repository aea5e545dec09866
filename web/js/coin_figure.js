// SPDX-License-Identifier: GPL-3.0-or-later
// coin_figure: a bar of length 1 and the coin on it, which can be dragged.

const COIN_HEIGHT = 96, COIN_BAR = {top: 34, height: 34};

/** The parts of the bar: [{from, to, text, style}]. */
function partsOf(decision, words) {
  if (decision.kind === 'accept') {
    const chanceOf = Math.min(1, decision.num / decision.den);
    return [{from: 0, to: chanceOf, text: 'accept', color: 'accepted'},
      {from: chanceOf, to: 1, text: 'reject', color: 'rejected'}];
  }
  const sum = decision.weights.reduce((a, b) => a + b, 0);
  let from = 0;
  return decision.weights.map((weight, i) => {
    const part = {from, to: from + weight / sum, text: words[i] ?? String(i),
      color: PICK_COLORS[decision.role] || 'soft', token: i};
    from = part.to;
    return part;
  }).filter(part => part.to > part.from);
}

const PICK_COLORS = {draft: 'draft', correction: 'residual', bonus: 'bonus', target: 'target'};

function drawPart(part, x, decision) {
  const width = x(part.to) - x(part.from), chosen = part.token === decision.answer;
  const strong = decision.kind === 'accept' ? part.color === 'accepted' : chosen;
  return [
    svg('rect', {x: x(part.from), y: COIN_BAR.top, width: Math.max(0, width - 1.5),
      height: COIN_BAR.height, rx: 4, class: `fill f-${part.color}`,
      'fill-opacity': strong ? 0.75 : 0.22}),
    width > 7.5 * part.text.length + 6 ? svg('text', {x: x((part.from + part.to) / 2),
      y: COIN_BAR.top + 22, 'text-anchor': 'middle', 'font-weight': chosen ? 700 : 500},
    part.text) : null,
  ];
}

/**
 * The drawing of a decision.
 * @param {Function} grab called with (event, valueAt) when the bar is pressed
 */
function drawCoin(decision, words, width, grab) {
  const x = scaleOf([0, 1], [8, width - 8]), bottom = COIN_BAR.top + COIN_BAR.height;
  const parts = partsOf(decision, words);
  const valueAt = pixel => Math.max(0, Math.min(0.9999, (pixel - 8) / (width - 16)));
  const edge = decision.kind === 'accept' ? parts[0].to : null;
  const coin = decision.coin;
  const end = value => value < 0.08 ? 'start' : value > 0.92 ? 'end' : 'middle';
  return canvasOf(width, COIN_HEIGHT,
    parts.map(part => drawPart(part, x, decision)).flat().filter(Boolean),
    [0, 1].map(v => svg('text', {x: x(v), y: bottom + 20, class: 'soft',
      'text-anchor': v ? 'end' : 'start'}, String(v))),
    edge !== null && edge > 0 && edge < 1 ? [
      svg('path', {d: `M${x(edge)} ${COIN_BAR.top - 3}V${bottom + 7}`, class: 's-ink',
        'stroke-width': 1.5}),
      svg('text', {x: x(edge), y: bottom + 20, class: 'halo', 'text-anchor': end(edge),
        'font-weight': 650}, fixed(edge, 3)),
    ] : null,
    coin === null ? null : svg('g', {class: 'marker'},
      svg('path', {d: `M${x(coin)} ${COIN_BAR.top - 2}V${bottom + 2}`, class: 's-ink',
        'stroke-width': 3}),
      svg('path', {d: `M${x(coin) - 8} ${COIN_BAR.top - 14}h16l-8 12z`, class: 'f-ink'}),
      svg('text', {x: x(coin), y: COIN_BAR.top - 19, 'text-anchor': end(coin), class: 'halo',
        'font-weight': 650}, `coin ${chance(coin)}`)),
    coin === null ? null : svg('rect', {x: 0, y: 0, width, height: bottom + 6, fill: 'transparent',
      class: 'coin-area', onpointerdown: event => grab(event, valueAt)}));
}

/** Follows a pointer from a press until it is released: `move(x, y)` in pixels of the drawing. */
function followPointer(event, element, move) {
  event.preventDefault();
  const box = element.getBoundingClientRect();
  const at = e => move(e.clientX - box.left, e.clientY - box.top);
  const end = () => {
    removeEventListener('pointermove', at);
    removeEventListener('pointerup', end);
    removeEventListener('pointercancel', end);
    document.body.classList.remove('dragging');
  };
  document.body.classList.add('dragging');
  addEventListener('pointermove', at);
  addEventListener('pointerup', end);
  addEventListener('pointercancel', end);
  at(event);
}
