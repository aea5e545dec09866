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
    this.view = new RoundView({setCoin: value => this.setCoin(value), goTo: at => this.goTo(at),
      setRow: (side, token, share) => this.setRow(side, token, share)});
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
    if (event.target.closest('input, select, summary, .scroll, code') ||
        event.altKey || event.ctrlKey || event.metaKey) return;
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

  goTo(at) {
    if (!this.round) return;
    this.pause();
    setState({at: Math.max(0, Math.min(at, this.round.decisions.length))});
  }

  step(by) {
    if (this.round) this.goTo(this.at() + by);
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
    if (this.round) this.view.draw(this.round, this.at(), this.rounds);
  }
}
