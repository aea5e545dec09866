// SPDX-License-Identifier: GPL-3.0-or-later
// lab: speclab's C code in workers. Each worker has an instance and answers one question at a time.

const TIME_LIMIT = 5000; // milliseconds, for what users type

/** The compiled code and the source of workers, as bytes and text inside the page. */
const core = {
  module: null, source: '', files: {},

  /** The bytes of an element whose text is base64 of gzip. */
  async unpack(id) {
    const text = atob(byId(id).textContent.trim());
    const packed = Uint8Array.from(text, character => character.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  },

  async load() {
    const blob = new Blob([byId('worker-code').textContent], {type: 'text/javascript'});
    core.source = URL.createObjectURL(blob);
    core.module = await WebAssembly.compile(await core.unpack('wasm'));
  },
};

/** The worker was told to stop before it answered. */
class Stopped extends Error {}

class Lab {
  /** @param {number} limit milliseconds for an answer; 0: none */
  constructor(limit = TIME_LIMIT) {
    this.limit = limit;
    this.files = {};
    this.worker = null;
    this.waiting = new Map();
    this.number = 0;
  }

  start() {
    this.worker = new Worker(core.source);
    this.worker.onmessage = ({data}) => this.settle(data);
    this.worker.onerror = event => this.fail(new Error(event.message || 'the worker failed'));
    this.worker.postMessage({module: core.module, files: this.files});
  }

  settle({number, answer, error, status}) {
    const asked = this.waiting.get(number);
    if (!asked) return;
    this.waiting.delete(number);
    clearTimeout(asked.timer);
    if (error === undefined) asked.resolve(answer);
    else asked.reject(new Error(error));
    if (status === 4) this.stop(); // a trap leaves the instance in an unknown state
  }

  fail(error) {
    const asked = [...this.waiting.values()];
    this.waiting.clear();
    if (this.worker) this.worker.terminate();
    this.worker = null;
    for (const question of asked) {
      clearTimeout(question.timer);
      question.reject(error);
    }
  }

  /** Ends what is running. The next question starts a new instance. */
  stop() {
    this.fail(new Stopped('stopped'));
  }

  /**
   * Asks the C code a question.
   * @param {string} name of a function of web/web.h
   * @param {Object} args
   * @returns {Promise<Object>} rejected with an Error of one line
   */
  ask(name, args = {}) {
    if (!this.worker) this.start();
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      const timer = this.limit ? setTimeout(() => this.fail(new Error(
        `no answer within ${this.limit / 1000} s; ask for fewer tokens, or a smaller K or tree`)),
      this.limit) : 0;
      this.waiting.set(number, {resolve, reject, timer});
      this.worker.postMessage({number, name, args});
    });
  }
}

/** One question at a time, and of those that wait only the last: for sliders and menus. */
class Latest {
  constructor(lab) {
    this.lab = lab;
    this.running = false;
    this.next = null;
  }

  /** Runs `work(lab)`; work that had not yet begun when newer work came never begins. */
  run(work) {
    this.next = work;
    if (!this.running) this.loop();
  }

  async loop() {
    this.running = true;
    try {
      while (this.next) {
        const work = this.next;
        this.next = null;
        await work(this.lab);
      }
    } finally {
      this.running = false;
    }
  }
}
