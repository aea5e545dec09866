// SPDX-License-Identifier: GPL-3.0-or-later
// round_panel: section 1, a round decision by decision.

const PRESETS = [
  {name: 'A rejection', coins: '0.2,0.5,0.8,0.75,0.6', at: 4},
  {name: 'All accepted', coins: '0.2,0.9,0.5,0.3,0.55', at: 4},
  {name: 'As one block', rule: 'block', coins: '0.95,0.5,0.1,0.4,0.3', at: 3},
  {name: 'A tree', rule: 'rrsw', drafting: 'tree?widths=2.2&siblings=without', K: 2,
    coins: '', seed: 8, at: 6},
  {name: 'A wrong rule', rule: 'resample-target', coins: '0.2,0.5,0.8,0.75,0.6', at: 5},
];
const PRESET_BEGIN = {rule: 'token', drafting: 'chain', K: 3, seed: 1, context: '',
  words: BEGIN.words, target: BEGIN.target, draft: BEGIN.draft};

class RoundPanel {
  constructor(lab) {
    this.lab = new Latest(lab);
    this.round = null;
    this.playing = 0;
    this.rounds = 0; // before this one, and their tokens: the context's length
    this.showDraft = figureIn(byId('draft-figure'));
    this.showRows = figureIn(byId('rows-figure'));
    this.showCoin = figureIn(byId('coin-figure'));
    this.showCommand = commandIn(byId('round-command'));
    this.controls();
    onState(changed => {
      const asked = ['words', 'target', 'draft', 'rule', 'drafting', 'K', 'seed', 'context',
        'coins'];
      if (asked.some(name => changed.has(name))) this.ask();
      else if (changed.has('at')) this.draw();
      if (changed.has('words') || changed.has('target') || changed.has('draft')) this.editor();
    });
    this.editor();
  }

  // ---- what the reader may do ----

  controls() {
    const on = (id, act) => byId(id).addEventListener('click', act);
    on('back', () => this.step(-1));
    on('forward', () => this.step(1));
    on('play', () => this.play());
    on('next-round', () => this.next());
    on('restart', () => { this.rounds = 0; setState({context: '', coins: '', at: 0, seed: 1}); });
    on('word-more', () => this.resize(1));
    on('word-less', () => this.resize(-1));
    byId('round-panel').addEventListener('keydown', event => this.key(event));
    byId('presets').append(...PRESETS.map(preset => h('button', {type: 'button', 'aria-pressed':
      'false', onclick: () => this.preset(preset)}, preset.name)));
    byId('coin').addEventListener('input', event => {
      const value = Number(event.target.value);
      if (event.target.value !== '' && value >= 0 && value < 1) this.setCoin(value);
    });
    for (const [id, name] of [['rule', 'rule'], ['drafting', 'drafting'], ['K', 'K'],
      ['seed', 'seed']]) {
      byId(id).addEventListener('change', event => {
        if (event.target.checkValidity() && event.target.value !== '') this.fresh({[name]:
          event.target.value});
      });
    }
  }

  /** A change that makes the coins meaningless: the round begins again with coins of the seed. */
  fresh(patch) {
    this.rounds = 0;
    setState({...patch, coins: '', context: '', at: 0});
  }

  preset(preset) {
    const {name, ...patch} = preset;
    this.rounds = 0;
    setState({...PRESET_BEGIN, ...patch});
  }

  key(event) {
    if (event.target.closest('input, select, summary, .scroll, code') || event.altKey || event.ctrlKey || event.metaKey) return;
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key] ||
      (event.key === 'Enter' && event.target.tagName !== 'BUTTON' ? 1 : 0);
    if (move === 0) return;
    event.preventDefault();
    this.step(move);
  }

  at() {
    const at = Math.trunc(Number(state.at)) || 0;
    return Math.max(0, Math.min(at, this.round.decisions.length));
  }

  step(by) {
    if (!this.round) return;
    this.pause();
    setState({at: Math.max(0, Math.min(this.at() + by, this.round.decisions.length))});
  }

  play() {
    if (this.playing) { this.pause(); return; }
    if (!this.round) return;
    if (this.at() >= this.round.decisions.length) setState({at: 0});
    byId('play').textContent = 'Pause';
    this.playing = setInterval(() => {
      if (this.at() >= this.round.decisions.length) this.pause();
      else setState({at: this.at() + 1});
    }, 1300);
  }

  pause() {
    clearInterval(this.playing);
    this.playing = 0;
    byId('play').textContent = 'Play';
  }

  /** The next round: its context is the text with the tokens of this one. */
  next() {
    if (!this.round) return;
    this.pause();
    const context = state.context ? state.context.split(',') : [];
    this.rounds++;
    setState({context: [...context, ...this.round.tokens].slice(-64).join(','), coins: '',
      at: 0, seed: Number(state.seed) + 1});
    byId('seed').value = state.seed;
  }

  setCoin(value) {
    const coins = coinsWith(this.round, this.at(), value).map(c => String(Number(c.toFixed(4))));
    setState({coins: coins.join(',')});
  }

  setRow(side, token, share) {
    const V = readWords(state.words).length;
    setState({[side]: writeShares(setShare(readShares(state[side], V), token, share))});
  }

  resize(by) {
    const words = readWords(state.words), V = words.length + by;
    if (V < WORDS_MIN || V > WORDS_MAX) return;
    const more = ['bird', 'ran', 'fish', 'red', 'down', 'mat'].find(w => !words.includes(w)) || '?';
    const sized = by > 0 ? [...words, more] : words.slice(0, V);
    const row = side => {
      const shares = readShares(state[side], words.length);
      return writeShares(by > 0 ? setShare([...shares, 0], V - 1, side === 'target' ? 100 : 50)
        : shareOut(shares.slice(0, V), WHOLE));
    };
    this.fresh({words: sized.join(','), target: row('target'), draft: row('draft')});
  }

  /** The table of number fields: words, draft and target. */
  editor() {
    const host = byId('row-editor'), words = readWords(state.words);
    byId('word-less').disabled = words.length <= WORDS_MIN;
    byId('word-more').disabled = words.length >= WORDS_MAX;
    if (host.contains(document.activeElement)) return;
    const field = (side, i) => h('input', {type: 'number', min: 0, max: 1, step: 0.01,
      value: readShares(state[side], words.length)[i] / WHOLE,
      'aria-label': `${side} probability of ${words[i]}`,
      onchange: event => {
        const value = Number(event.target.value);
        if (value >= 0 && value <= 1) this.setRow(side, i, value * WHOLE);
        event.target.blur();
        this.editor();
      }});
    const name = i => h('input', {type: 'text', value: words[i], maxlength: 16, size: 8,
      'aria-label': `word ${i + 1}`, onchange: event => {
        const changed = words.with(i, event.target.value.replaceAll(',', ' ').trim() || '?');
        event.target.blur();
        setState({words: changed.join(',')});
      }});
    host.replaceChildren(tableOf(['word', 'draft', 'target'],
      words.map((_, i) => [name(i), field('draft', i), field('target', i)])));
  }

  // ---- questions and answers ----

  question() {
    return {target: `probs:${state.target}`, draft: `probs:${state.draft}`, K: Number(state.K),
      rule: state.rule, drafting: state.drafting, coins: state.coins, seed: Number(state.seed),
      context: state.context};
  }

  ask() {
    for (const id of ['rule', 'drafting', 'K', 'seed']) byId(id).value = state[id];
    const question = this.question();
    this.showCommand(commandLine('step', {target: question.target, draft: question.draft,
      K: question.K, rule: question.rule, drafting: question.drafting, coins: question.coins,
      seed: question.seed, context: question.context, names: state.words}));
    this.lab.run(async lab => {
      try {
        this.round = await lab.ask('round', question);
        byId('round-fault').textContent = '';
      } catch (error) {
        if (error instanceof Stopped) return;
        this.round = null;
        byId('round-fault').textContent = error.message;
      }
      byId('round-panel').dataset.shown = `${question.rule} ${question.drafting}`;
      this.draw();
    });
  }

  draw() {
    byId('round-view').hidden = !this.round;
    for (const button of byId('presets').children) {
      const preset = PRESETS.find(p => p.name === button.textContent);
      const {name, at, ...wanted} = {...PRESET_BEGIN, ...preset};
      button.setAttribute('aria-pressed', String(Object.entries(wanted).every(([key, value]) =>
        state[key] === String(value))));
    }
    if (!this.round) return;
    const at = this.at(), decision = this.round.decisions[at], named = readWords(state.words);
    const words = this.round.target[0].map((_, i) => named[i] ?? String(i));
    byId('back').disabled = at === 0;
    byId('forward').disabled = at >= this.round.decisions.length;
    this.drawDraft(at, words, decision);
    this.drawTimeline(at, words);
    this.drawPair(words, decision);
    this.drawDecision(at, words, decision);
  }

  drawDraft(at, words, decision) {
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
    byId('tally').textContent = this.rounds > 0
      ? `${whole(tokens)} tokens in ${whole(this.rounds)} ${this.rounds === 1 ? 'pass' : 'passes'} `
        + `of the target so far: ${fixed(tokens / this.rounds, 2)} per pass.` : '';
  }

  drawTimeline(at, words) {
    const chips = this.round.decisions.map((_, i) => tell(this.round, i, words));
    chips.push({chip: 'the end', color: 'ink'});
    byId('timeline').replaceChildren(...chips.map((told, i) => h('li', {}, h('button', {
      type: 'button', class: i < at ? 'past' : null, 'aria-current': i === at ? 'step' : null,
      style: `--mark:var(--${told.color})`,
      onclick: () => { this.pause(); setState({at: i}); }},
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
        this.setRow(side, token, Math.min(1, Math.round(valueAt(y) * 100) / 100) * WHOLE));
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
      x => this.setCoin(valueAt(x)));
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

  /** Block verification keeps the product of the ratios, cut off at 1 after each token. */
  tellProducts(words) {
    if (!state.rule.startsWith('block') && state.rule !== 'hsd') return;
    let product = 1;
    const rows = [];
    for (let i = childrenOf(this.round, -1)[0]; i !== undefined; i = childrenOf(this.round, i)[0]) {
      const node = this.round.nodes[i], target = this.round.target[node.parent + 1][node.token];
      const draft = node.row ? node.row[node.token] : 1;
      product = Math.min(1, product * target / draft);
      rows.push([words[node.token] ?? String(node.token), `${chance(target)} / ${chance(draft)}`,
        fixed(target / draft, 3), fixed(product, 3)]);
    }
    byId('residual').append(h('p', {class: 'small soft'}, 'The running product of the ratios, at '
      + 'most 1 after each token. The last is the chance that the whole block is kept.'),
    tableOf(['token', 'target / draft', 'ratio', 'product'], rows));
  }
}

/** Fills the menus of rules and draftings. */
function fillMenus(names) {
  const option = name => h('option', {value: name, title: ''}, name);
  const rules = names.filter(n => n.kind === 'rule');
  const groups = [['lossless', 'lossless'], ['lossless at temperature 0', 'lossless, greedy'],
    ['lossy', 'lossy on purpose'], ['wrong', 'wrong on purpose']];
  const plain = n => n.name.split('?')[0];
  const menu = byId('rule');
  menu.replaceChildren(...groups.map(([claim, label]) => h('optgroup', {label},
    rules.filter(r => r.claim === claim).map(r => option(plain(r))))));
  const draftings = ['chain', 'greedy', 'tree?widths=2.2&siblings=iid',
    'tree?widths=2.2&siblings=without', 'tree?widths=3.1.1&siblings=without',
    'tree?widths=2.2&siblings=top', 'tree?widths=2.2&siblings=hub',
    'tree?widths=2.2&siblings=greedy', 'dynamic?top=2&nodes=5&depth=3', 'gumbel?seed=1',
    'minhash?seed=1', 'lookup?max=2', 'recycle?k=2&nodes=6', 'suffix?max=4'];
  byId('drafting').replaceChildren(...draftings.map(option));
  for (const id of ['rule', 'drafting']) {
    if (![...byId(id).options].some(o => o.value === state[id])) byId(id).append(option(state[id]));
    byId(id).value = state[id];
  }
  const tellRule = () => {
    const rule = rules.find(r => plain(r) === state.rule.split('?')[0]);
    byId('rule-summary').textContent = rule ? `${plain(rule)}: ${rule.summary}`
      + `${rule.reference ? ` [${rule.reference}]` : ''}.` : '';
  };
  onState(changed => { if (changed.has('rule')) tellRule(); });
  tellRule();
}
