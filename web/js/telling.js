// SPDX-License-Identifier: GPL-3.0-or-later
// telling: each decision of a round in words.

/** What one decision is about: {chip, title, sum, verdict, good, why}. */
function tell(round, i, words) {
  const d = round.decisions[i];
  const word = token => `“${words[token] ?? token}”`;
  const told = TELLERS[d.role] || TELLERS.other;
  return told({round, d, i, word, node: d.node >= 0 ? round.nodes[d.node] : null});
}

const coinText = d => d.coin === null ? 'no coin is needed' : `the coin is ${chance(d.coin)}`;

/** The numerator and denominator of a test by their names, where they are entries of rows. */
function namesOfTest(round, d, node) {
  const row = round.target[d.after + 1];
  const first = node && row && row[node.token] === d.num ? 'target' : 'what is left of the target';
  const second = node && node.row && node.row[node.token] === d.den ? 'draft'
    : d.den === 1 ? '1' : 'its probability';
  return [first, second];
}

function tellTest({round, d, word, node}) {
  const name = node ? word(node.token) : 'the chosen sibling';
  const ratio = Math.min(1, d.num / d.den);
  const [above, below] = namesOfTest(round, d, node);
  const quotient = below === '1' ? chance(d.num) : `${chance(d.num)} / ${chance(d.den)}`;
  const sum = `${below === '1' ? above : `${above} / ${below}`} = ${quotient}` +
    (below === '1' ? '' : ` = ${fixed(d.num / d.den, 3)}`);
  const why = d.coin === null
    ? (d.answer ? 'The target gives it at least as much as the draft does, so no coin is needed.'
      : 'The chance is 0, so no coin is needed.')
    : `The coin ${chance(d.coin)} is ${d.answer ? 'below' : 'not below'} ${fixed(ratio, 3)}.`;
  return {chip: `test ${name}`, title: `Is ${name} accepted?`, sum, why, good: d.answer,
    verdict: d.answer ? 'Accepted' : 'Rejected', color: d.answer ? 'accepted' : 'rejected'};
}

const TELLERS = {
  draft: ({round, d, word, node}) => ({
    chip: `draw ${word(d.answer)}`, color: 'draft', verdict: word(d.answer),
    title: `Draft token ${node ? depthOf(round, d.node) : round.nodes.length + 1}`,
    sum: `The draft draws ${word(d.answer)}`,
    why: `The bar is the draft’s row. ${d.coin === null ? 'One token has everything' : 'The coin '
      + chance(d.coin) + ' falls into the part of ' + word(d.answer)}.`
      + (node ? '' : ' The length policy then took the token back.'),
  }),

  test: tellTest,

  keep({round, d, word}) {
    const path = d.node >= 0 ? pathTo(round, d.node) : [];
    const name = path.map(i => word(round.nodes[i].token)).join(' ') || 'no draft token';
    const ratio = Math.min(1, d.num / d.den);
    return {
      chip: `keep ${path.length}?`, color: d.answer ? 'accepted' : 'rejected',
      title: path.length > 1 ? `Are ${name} kept, together?` : `Is ${name} kept?`,
      sum: d.den === 1 ? `chance = ${fixed(ratio, 3)}`
        : `${fixed(d.num, 3)} / ${fixed(d.den, 3)} = ${fixed(d.num / d.den, 3)}`,
      why: d.coin === null ? 'This is certain: no coin is needed.'
        : `The coin ${chance(d.coin)} is ${d.answer ? 'below' : 'not below'} ${fixed(ratio, 3)}.`,
      good: d.answer, verdict: d.answer ? 'Kept' : 'Not all of them',
    };
  },

  select: ({d}) => ({
    chip: 'choose a sibling', color: 'ink', title: 'Which sibling is tested first?',
    sum: d.kind === 'accept' ? `${fixed(d.num, 3)} / ${fixed(d.den, 3)}` : 'by the rule’s distribution',
    why: `Siblings compete to be the one that is tested; ${coinText(d)}.`,
    verdict: d.kind === 'accept' ? (d.answer ? 'yes' : 'no') : `number ${d.answer + 1}`,
  }),

  block: ({d}) => ({
    chip: 'part of the residual', color: 'residual', title: 'Which part of the residual?',
    sum: 'A large row is drawn in two steps', why: `First a block of tokens; ${coinText(d)}.`,
    verdict: `block ${d.answer + 1}`,
  }),

  correction({round, d, word}) {
    const row = round.target[d.after + 1];
    const whole = d.weights.every((weight, i) => weight === row[i]);
    return {
      chip: `correct: ${word(d.answer)}`, color: 'residual', title: 'The correction',
      sum: `The correction is ${word(d.answer)}`, verdict: word(d.answer),
      why: whole ? 'Here the token comes from the whole row of the target.'
        : 'After a rejection the token comes from the residual: what the target has more than the '
          + 'draft, divided by its sum.',
    };
  },

  bonus: ({d, word}) => ({
    chip: `bonus: ${word(d.answer)}`, color: 'bonus', title: 'The bonus token',
    sum: `The bonus token is ${word(d.answer)}`, verdict: word(d.answer),
    why: 'Every draft token of the path was accepted. The same pass has already computed the '
      + 'target’s row after the last one, so one more token is free.',
  }),

  target({round, d, word}) {
    const hit = childrenOf(round, d.after).find(i => round.nodes[i].token === d.answer);
    const drafted = hit !== undefined;
    return {
      chip: `target: ${word(d.answer)}`, color: drafted ? 'accepted' : 'target',
      title: 'The target’s own token', sum: `The target draws ${word(d.answer)}`,
      why: drafted ? 'The draft has guessed this token, so the round goes on after it.'
        : 'The draft did not guess this token, so the round ends with it.',
      verdict: drafted ? 'Accepted' : word(d.answer), good: drafted ? true : undefined,
    };
  },

  other: ({d}) => ({
    chip: 'a step of the rule', color: 'ink', title: 'A step of the rule',
    sum: d.kind === 'accept' ? `${fixed(d.num, 3)} / ${fixed(d.den, 3)}` : 'a pick by weights',
    why: `A random choice inside the rule; ${coinText(d)}.`,
    verdict: d.kind === 'accept' ? (d.answer ? 'yes' : 'no') : `number ${d.answer + 1}`,
  }),
};

/** The end of a round in one sentence. */
function tellEnd(round, words) {
  const n = round.tokens.length, last = lastToken(round);
  const names = {correction: 'the correction', bonus: 'the bonus', target: 'from the target'};
  return `${n} ${n === 1 ? 'token' : 'tokens'} from one pass of the target: `
    + `${round.n_accepted} accepted, and “${words[last.token] ?? last.token}”, `
    + `${names[last.kind]}.`;
}
