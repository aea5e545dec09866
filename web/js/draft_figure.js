// SPDX-License-Identifier: GPL-3.0-or-later
// draft_figure: the text so far and the draft tokens, as a strip or, where they branch, a tree.

const STATUS_WORDS = {context: 'text', drafted: 'drafted', accepted: 'accepted',
  rejected: 'rejected', unused: 'not used', correction: 'correction', bonus: 'bonus',
  target: 'target'};

const CONTEXT_SHOWN = 12; // last tokens of the text

function stripItem(word, status, present) {
  return h('li', {}, h('span', {class: `tok ${status}${present ? ' present' : ''}`}, word),
    h('span', {class: 'tag'}, STATUS_WORDS[status]));
}

/** The strip of a chain: text so far, then draft tokens, then the round's last token. */
function stripOf(round, at, words, context, present) {
  const status = statusAt(round, at), items = [];
  const shown = context.slice(-CONTEXT_SHOWN);
  for (const token of shown) items.push(stripItem(words[token] ?? token, 'context', false));
  if (shown.length > 0) items.push(h('li', {class: 'divide', 'aria-hidden': 'true'}));
  const placeLast = status.last ? status.last.after : null;
  const pushLast = () => items.push(stripItem(words[status.last.token] ?? status.last.token,
    status.last.kind, at >= round.decisions.length - 1));
  if (placeLast === -1 && round.nodes.length === 0) pushLast();
  round.nodes.forEach((node, i) => {
    if (status.nodes[i] === 'hidden') return;
    items.push(stripItem(words[node.token] ?? node.token, status.nodes[i], i === present));
    const rejectedHere = placeLast !== null && node.parent === placeLast && round.nodes.length > 0;
    if (rejectedHere || (placeLast === i && childrenOf(round, i).length === 0)) pushLast();
  });
  return items;
}

/** Places of a tree: x by depth, y by the order of the leaves; the last token is one more node. */
function layOut(nodes) {
  let row = 0;
  const places = [];
  const place = (i, depth) => {
    const children = nodes.map((_, j) => j).filter(j => nodes[j].parent === i);
    const rows = children.map(j => place(j, depth + 1));
    const y = rows.length ? (rows[0] + rows[rows.length - 1]) / 2 : row++;
    if (i >= 0) places[i] = {depth, y};
    else places.root = {depth, y};
    return y;
  };
  place(-1, 0);
  return {places, rows: Math.max(1, row), depth: Math.max(0, ...places.map(p => p.depth))};
}

const MARKS = {accepted: ' ✓', rejected: ' ✕'};

/** The drawing of a tree of draft tokens. */
function drawTree(round, at, words, present, width) {
  const status = statusAt(round, at);
  const nodes = round.nodes.map((node, i) => ({...node, status: status.nodes[i]}));
  if (status.last) nodes.push({token: status.last.token, parent: status.last.after,
    status: status.last.kind});
  const {places, rows, depth} = layOut(nodes);
  const rowHeight = rows > 14 ? 26 : 36, height = rows * rowHeight + 16;
  const column = Math.min(150, (width - 30) / Math.max(1, depth)), box = Math.min(104, column - 26);
  const x = d => d === 0 ? 12 : 30 + (d - 1) * column + 26, y = r => 8 + (r + 0.5) * rowHeight;
  const middle = rowHeight / 2 - 4;
  const links = nodes.map((node, i) => {
    if (node.status === 'hidden') return null;
    const from = node.parent >= 0 ? places[node.parent] : places.root, to = places[i];
    const x0 = from.depth === 0 ? 18 : x(from.depth) + box, x1 = x(to.depth);
    const kept = ['accepted', 'correction', 'bonus', 'target'].includes(node.status);
    const half = (x0 + x1) / 2, y0 = y(from.y), y1 = y(to.y);
    return svg('path', {fill: 'none', class: kept ? 's-ink' : 's-soft',
      'stroke-width': kept ? 2.5 : 1.2, d: `M${x0} ${y0}C${half} ${y0} ${half} ${y1} ${x1} ${y1}`});
  });
  const boxes = nodes.map((node, i) => node.status === 'hidden' ? null
    : drawTreeNode(node, {x: x(places[i].depth), y: y(places[i].y), box, middle,
      present: i === present}, words));
  return canvasOf(width, height, links.filter(Boolean), svg('circle', {cx: 12, cy: y(places.root.y),
    r: 6, class: 'f-ink'}), boxes.filter(Boolean));
}

const TREE_COLORS = {drafted: 'draft', accepted: 'accepted', rejected: 'rejected',
  correction: 'residual', bonus: 'bonus', target: 'target', unused: 'soft'};

function drawTreeNode(node, at, words) {
  const color = TREE_COLORS[node.status], faint = node.status === 'unused';
  const dash = node.status === 'drafted' ? '5 3' : faint ? '2 3' : null;
  return svg('g', {},
    at.present ? svg('rect', {x: at.x - 4, y: at.y - at.middle - 4, width: at.box + 8, rx: 9,
      height: 2 * at.middle + 8, fill: 'none', class: 's-ink', 'stroke-width': 2}) : null,
    svg('rect', {x: at.x, y: at.y - at.middle, width: at.box, height: 2 * at.middle, rx: 6,
      class: `f-${color} s-${color}`, 'fill-opacity': faint ? 0 : 0.16, 'stroke-width': 2,
      'stroke-dasharray': dash}),
    svg('text', {x: at.x + at.box / 2, y: at.y + 4.5, 'text-anchor': 'middle',
      'font-weight': faint ? 400 : 650, class: faint ? 'soft' : null,
      'text-decoration': node.status === 'rejected' ? 'line-through' : null},
    (words[node.token] ?? node.token) + (MARKS[node.status] || '')
      + (['correction', 'bonus'].includes(node.status) ? ` (${node.status})` : '')));
}

/** The state of the draft tokens in words. */
function draftInWords(round, at, words) {
  const status = statusAt(round, at);
  const list = round.nodes.map((node, i) => status.nodes[i] === 'hidden' ? null
    : `${words[node.token] ?? node.token} ${STATUS_WORDS[status.nodes[i]]}`).filter(Boolean);
  if (status.last) list.push(`${words[status.last.token] ?? ''} ${status.last.kind}`);
  return `Draft tokens: ${list.join(', ') || 'none'}.`;
}
