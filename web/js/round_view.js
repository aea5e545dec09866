// SPDX-License-Identifier: GPL-3.0-or-later
// round_view: a round at one of its decisions: draft tokens, rows, the coin, and their words.

class RoundView {
  /** @param {Object} acts what a reader does in the drawings: goTo, setCoin, setRow */
  constructor(acts) {
    this.acts = acts;
    this.showDraft = figureIn(byId('draft-figure'));
    this.showRows = figureIn(byId('rows-figure'));
    this.showCoin = figureIn(byId('coin-figure'));
  }

  /** Shows decision number `at` of a round, which `before` rounds precede. */
  draw(round, at, before) {
    this.round = round;
    const decision = round.decisions[at], named = readWords(state.words);
    const words = round.target[0].map((_, i) => named[i] ?? String(i));
    byId('back').disabled = at === 0;
    byId('forward').disabled = at >= round.decisions.length;
    this.drawDraft(at, words, decision, before);
    this.drawTimeline(at, words);
    this.drawPair(words, decision);
    this.drawDecision(at, words, decision);
  }

  drawDraft(at, words, decision, before) {
    const present = decision ? decision.node : -1;
    const context = state.context ? state.context.split(',').map(Number) : [];
    const tree = isTree(this.round);
    byId('strip').hidden = tree;
    byId('draft-figure').hidden = !tree;
    if (!tree) byId('strip').replaceChildren(...stripOf(this.round, at, words, context, present));
    else this.showDraft({words: draftInWords(this.round, at, words),
      draw: width => drawTree(this.round, at, words, present, width),
      heads: ['node', 'token', 'after', 'state'],
      rows: this.round.nodes.map((node, i) => [String(i), words[node.token] ?? String(node.token),
        node.parent < 0 ? 'the text' : String(node.parent),
        STATUS_WORDS[statusAt(this.round, at).nodes[i]] || 'not drawn yet'])});
    const tokens = context.length;
    byId('tally').textContent = before > 0
      ? `${whole(tokens)} tokens in ${whole(before)} ${before === 1 ? 'pass' : 'passes'} `
        + `of the target so far: ${fixed(tokens / before, 2)} per pass.` : '';
  }

  drawTimeline(at, words) {
    const chips = this.round.decisions.map((_, i) => tell(this.round, i, words));
    chips.push({chip: 'the end', color: 'ink'});
    byId('timeline').replaceChildren(...chips.map((told, i) => h('li', {}, h('button', {
      type: 'button', class: i < at ? 'past' : null, 'aria-current': i === at ? 'step' : null,
      style: `--mark:var(--${told.color})`,
      onclick: () => this.acts.goTo(i)},
    told.chip + (i <= at && told.good !== undefined ? (told.good ? ' ✓' : ' ✕') : '')))));
  }

  /** The rows at the position of the decision. */
  drawPair(words, decision) {
    const last = lastToken(this.round), about = decision ? decision.node : -1;
    const after = about >= 0 ? this.round.nodes[about].parent
      : decision ? decision.after : last.after;
    const child = about >= 0 ? about : childrenOf(this.round, after)[0];
    const node = child === undefined ? null : this.round.nodes[child];
    const present = !decision ? last.token : decision.kind === 'pick' ? decision.answer
      : node ? node.token : -1;
    const pair = {words, draft: node ? node.row : null, target: this.round.target[after + 1],
      present};
    const overlap = pair.draft
      ? pair.target.reduce((sum, t, i) => sum + Math.min(t, pair.draft[i]), 0) : null;
    const place = after < 0 ? 'at the beginning'
      : `after “${pathTo(this.round, after).map(i => words[this.round.nodes[i].token]).join(' ')}”`;
    byId('rows-place').textContent = pair.draft
      ? `Next-token probabilities ${place}. Green is the overlap, ${fixed(overlap, 3)}: the chance `
        + 'that the rule “token” accepts.'
      : `The target’s next-token probabilities ${place}.`;
    this.tellSum(pair);
    const element = byId('rows-figure');
    const grab = (side, token, event, valueAt) => followPointer(event,
      element.querySelector('svg').parentElement, (_, y) =>
        this.acts.setRow(side, token, Math.min(1, Math.round(valueAt(y) * 100) / 100) * WHOLE));
    this.showRows({words: rowsInWords(pair), draw: width => drawRows(pair, width, grab),
      heads: ['word', 'draft', 'target', 'overlap', 'target − draft, where positive'],
      rows: words.map((word, i) => {
        const draft = pair.draft ? pair.draft[i] : null, target = pair.target[i];
        return [word, fixed(draft, 3), fixed(target, 3),
          draft === null ? '–' : fixed(Math.min(draft, target), 3),
          draft === null ? '–' : fixed(Math.max(0, target - draft), 3)];
      })});
  }

  /** Where the probability of one word comes from, under the token rule and a chain. */
  tellSum(pair) {
    const {present, draft, target, words} = pair;
    const applies = draft && present >= 0 && state.rule === 'token' && state.drafting === 'chain';
    const both = applies ? Math.min(draft[present], target[present]) : 0;
    byId('rows-sum').textContent = applies ? `“${words[present]}” comes out with chance `
      + `${chance(both)} (drafted and accepted) + ${chance(target[present] - both)} (drawn after a `
      + `rejection) = ${chance(target[present])}, the target’s.` : '';
  }

  drawDecision(at, words, decision) {
    const text = byId('decision'), coin = byId('coin-row');
    coin.hidden = byId('coin-figure').hidden = !decision;
    byId('residual').replaceChildren();
    if (!decision) {
      text.replaceChildren(h('h3', {}, 'The round is over'), h('p', {class: 'sum'},
        tellEnd(this.round, words)));
      return;
    }
    const told = tell(this.round, at, words);
    const tone = told.good === undefined ? '' : told.good ? ' yes' : ' no';
    text.replaceChildren(
      h('p', {class: 'soft small'}, `Decision ${at + 1} of ${this.round.decisions.length}`),
      h('h3', {}, told.title), h('p', {class: 'sum'}, told.sum),
      h('p', {}, told.why, told.good === undefined ? null
        : h('span', {class: `verdict${tone}`}, ` ${told.verdict}.`)));
    const sure = decision.coin === null;
    byId('coin').disabled = sure;
    if (document.activeElement !== byId('coin')) byId('coin').value = sure ? ''
      : Number(decision.coin.toFixed(4));
    const grab = (event, valueAt) => followPointer(event,
      byId('coin-figure').querySelector('svg').parentElement,
      x => this.acts.setCoin(valueAt(x)));
    const parts = partsOf(decision, words);
    this.showCoin({words: `${told.title} ${told.sum}. ${told.why}`,
      draw: width => drawCoin(decision, words, width, grab), heads: ['part', 'from', 'to'],
      rows: parts.map(part => [part.text, fixed(part.from, 3), fixed(part.to, 3)])});
    if (decision.role === 'correction') this.tellResidual(decision, words);
    if (decision.role === 'keep') this.tellProducts(words);
  }

  /** The weights of the correction, and the same divided by their sum. */
  tellResidual(decision, words) {
    const sum = decision.weights.reduce((a, b) => a + b, 0);
    byId('residual').append(h('p', {class: 'small soft'}, 'The weights, and divided by their sum '
      + `${fixed(sum, 3)}:`), tableOf(['',
      ...decision.weights.map((_, i) => words[i] ?? String(i))],
    [['weight', ...decision.weights.map(w => fixed(w, 3))],
        ['chance', ...decision.weights.map(w => fixed(w / sum, 3))]]));
  }

  /** The running product of the ratios, where a rule judges a chain as one block by it. */
  tellProducts(words) {
    const first = this.round.decisions.find(d => d.role === 'keep');
    const isFirst = ({value}) => Math.abs(value - first.num / first.den) < 1e-12;
    const capped = productsOf(this.round, 1), free = productsOf(this.round, Infinity);
    const products = [capped, free].find(list => list.length > 0 && isFirst(list.at(-1)));
    if (!products) return;
    byId('residual').append(h('p', {class: 'small soft'}, 'The running product of the ratios'
      + `${products === capped ? ', at most 1 after each token' : ''}. The last, at most 1, is the `
      + 'chance that the whole block is kept.'),
    tableOf(['token', 'target / draft', 'ratio', 'product'], products.map(p =>
      [words[p.token], `${chance(p.target)} / ${chance(p.draft)}`, fixed(p.target / p.draft, 3),
        fixed(p.value, 3)])));
  }
}

/** The product of target / draft along a chain, at most `most` after each token. */
function productsOf(round, most) {
  const products = [];
  let value = 1;
  for (let i = childrenOf(round, -1)[0]; i !== undefined; i = childrenOf(round, i)[0]) {
    const {token, parent, row} = round.nodes[i], target = round.target[parent + 1][token];
    const draft = row ? row[token] : 1;
    value = Math.min(most, value * target / draft);
    products.push({token, target, draft, value});
  }
  return products;
}
