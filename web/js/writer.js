// SPDX-License-Identifier: GPL-3.0-or-later
// writer: section 4, a real model that writes, round by round.

const TEXT_TOKENS = 200, MODEL_MOST = 256 << 20; // bytes
const ORIGINS = [['draft', 'drafted and accepted'], ['correction', 'correction'],
  ['bonus', 'bonus'], ['target', 'the target’s own']];
const TEXT_DRAFTS = [
  {name: 'its first 4 layers', draft: 'layers?exit=4'},
  {name: 'its first 3 layers', draft: 'layers?exit=3'},
  {name: 'itself in 4 bits', draft: 'quantised?type=q4_0'},
  {name: 'what came before (lookup)', drafting: 'lookup'},
];

class Writer {
  constructor() {
    this.lab = new Lab(60000);
    this.model = null;
    this.running = 0;
    this.showCommand = commandIn(byId('text-command'));
    byId('text-draft').append(...TEXT_DRAFTS.map((d, i) => h('option', {value: i}, d.name)));
    byId('text-legend').append(h('p', {class: 'small'}, ORIGINS.map(([origin, text]) =>
      [h('span', {class: `from-${origin}`}, text), ' \u2003 ']).flat()));
    byId('write').addEventListener('click', () => this.running ? this.stop() : this.write());
    byId('model-file').addEventListener('change', event => this.choose(event.target.files));
    byId('write').disabled = true;
    this.embedded();
  }

  async embedded() {
    const name = byId('model').dataset.name;
    if (name === '') return;
    byId('model-none').hidden = true;
    this.use(name, {[name]: await core.unpack('model')});
  }

  use(name, files) {
    this.lab.files = files;
    this.lab.stop();
    this.model = name.endsWith('.bin') ? `llama2c:${name}` : `gguf:${name}`;
    byId('write').disabled = false;
  }

  /** Files of the reader's own: one model, and for llama2.c its tokenizer. */
  async choose(chosen) {
    const files = {}, fault = byId('text-fault');
    fault.textContent = '';
    for (const file of chosen) {
      if (file.size > MODEL_MOST) {
        fault.textContent = `${file.name}: larger than ${MODEL_MOST >> 20} MB, which is too much `
          + 'for a page';
        return;
      }
      files[file.name] = new Uint8Array(await file.arrayBuffer());
    }
    const model = Object.keys(files).find(name => name !== 'tokenizer.bin');
    if (model === undefined) fault.textContent = 'choose a model as well as its tokenizer.bin';
    else this.use(model, files);
  }

  stop() {
    this.running++;
    this.running = 0;
    this.lab.stop();
    byId('write').textContent = 'Write';
  }

  pair(draft) {
    const warm = Number(byId('text-warm').value);
    return {target: `${this.model}?temperature=${warm}`, draft: draft.draft,
      drafting: draft.drafting, K: Number(byId('text-K').value), rule: 'token',
      prompt: byId('prompt').value, seed: 7, most: TEXT_TOKENS};
  }

  async write() {
    const story = byId('story'), fault = byId('text-fault'), line = byId('story-text');
    const run = this.running = Date.now();
    story.replaceChildren(h('span', {}, byId('prompt').value));
    fault.textContent = line.textContent = '';
    byId('write').textContent = 'Stop';
    try {
      const draft = TEXT_DRAFTS[Number(byId('text-draft').value)], pair = this.pair(draft);
      this.showCommand(commandLine('generate', {target: pair.target, draft: pair.draft,
        drafting: pair.drafting, K: pair.K, prompt: pair.prompt, seed: pair.seed,
        tokens: pair.most}));
      const fast = await this.text(pair, run, token => story.append(token));
      if (run !== this.running) return;
      line.textContent = this.tell(fast, null);
      const plain = await this.text({...pair, K: 0}, run, () => {});
      if (run !== this.running) return;
      line.textContent = this.tell(fast, plain);
    } catch (error) {
      if (!(error instanceof Stopped)) fault.textContent = error.message;
    }
    this.running = 0;
    byId('write').textContent = 'Write';
  }

  /** Writes one text; counts rounds and the origins of tokens, and takes the time. */
  async text(pair, run, show) {
    const decoder = new TextDecoder(), count = {draft: 0, correction: 0, bonus: 0, target: 0};
    let rounds = 0, milliseconds = 0;
    await this.lab.ask('text', pair);
    for (let ending = null; ending === null && run === this.running;) {
      const before = performance.now();
      const part = await this.lab.ask('text_round');
      milliseconds += performance.now() - before;
      ending = part.ending;
      if (part.tokens.length > 0) rounds++;
      for (const token of part.tokens) {
        count[token.origin]++;
        const bytes = Uint8Array.from(token.bytes, c => c.charCodeAt(0));
        show(h('span', {class: `from-${token.origin}`, title: token.origin},
          decoder.decode(bytes, {stream: true})));
      }
    }
    const tokens = Object.values(count).reduce((a, b) => a + b, 0);
    return {rounds, tokens, count, speed: tokens / milliseconds * 1000};
  }

  tell({rounds, tokens, count, speed}, plain) {
    const judged = count.draft + count.correction;
    const first = `${tokens} tokens in ${rounds} rounds: ${fixed(tokens / rounds, 2)} per round. `
      + (judged > 0 ? `Of ${judged} judged draft tokens ${fixed(count.draft / judged * 100, 0)} % `
      + 'were accepted. ' : '');
    if (!plain) return `${first}Now the same without a draft …`;
    const ratio = speed / plain.speed;
    return `${first}Measured here: ${fixed(speed, 0)} tokens per second with the draft, `
      + `${fixed(plain.speed, 0)} without: ${times(ratio)}${ratio < 1 ? ', slower' : ''}.`;
  }
}
