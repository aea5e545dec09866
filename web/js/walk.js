// SPDX-License-Identifier: GPL-3.0-or-later
// walk: a round as a sequence of decisions, and what each has settled about the draft tokens.

/** The draft tokens from the root to a node, as node numbers. */
function pathTo(round, node) {
  const path = [];
  for (let at = node; at >= 0; at = round.nodes[at].parent) path.unshift(at);
  return path;
}

const depthOf = (round, node) => pathTo(round, node).length;

const childrenOf = (round, node) =>
  round.nodes.map((_, i) => i).filter(i => round.nodes[i].parent === node);

const isTree = round => round.nodes.some((_, i) => childrenOf(round, i).length > 1) ||
  childrenOf(round, -1).length > 1;

/** The last token of a round: what it is called, and after which node it comes. */
function lastToken(round) {
  const after = round.n_accepted > 0 ? round.accepted[round.n_accepted - 1] : -1;
  const whole = childrenOf(round, after).length === 0;
  const kind = round.nodes.length === 0 ? 'target' : whole ? 'bonus' : 'correction';
  return {token: round.tokens[round.tokens.length - 1], kind, after};
}

/** Whether decision number i ends the judgement of a node, as accepted. */
function accepts(round, i, node) {
  const d = round.decisions[i];
  if (d.role === 'test') return d.answer === true && d.node === node;
  if (d.role === 'keep') return d.answer === true && pathTo(round, d.node).includes(node);
  return d.role === 'target' && d.after === round.nodes[node].parent &&
    d.answer === round.nodes[node].token;
}

/**
 * What is known after decision number `at`; the number of decisions stands for the end.
 * Returns {nodes: ['hidden'|'drafted'|'accepted'|'rejected'|'unused'], last: token or null}.
 */
function statusAt(round, at) {
  const n = round.decisions.length, over = at >= n - 1;
  const seen = round.decisions.slice(0, at + 1);
  const verifying = at >= n || seen.some(d => d.phase !== 'draft') ||
    round.decisions.every(d => d.phase !== 'draft');
  const drawn = Math.max(-1, ...seen.filter(d => d.role === 'draft').map(d => d.node));
  const nodes = round.nodes.map((_, node) => {
    if (!verifying && node > drawn) return 'hidden';
    const kept = round.accepted.includes(node);
    const yes = seen.some((_, i) => accepts(round, i, node));
    const no = seen.some(d => !kept && d.answer === false &&
      (d.role === 'test' || d.role === 'keep') && d.node === node);
    if (kept && (yes || at >= n || (over && round.decisions[n - 1].phase !== 'draft')))
      return 'accepted';
    if (no) return 'rejected';
    return over && verifying ? 'unused' : 'drafted';
  });
  return {nodes, last: over && verifying ? lastToken(round) : null};
}

/** The coins of a round with number i of its decisions replaced. */
function coinsWith(round, i, coin) {
  return round.decisions.map((d, j) => j === i ? coin : d.coin).filter(c => c !== null);
}
