// SPDX-License-Identifier: GPL-3.0-or-later
// The library of speclab.wasm for a script: speclabCore(bytes, files) resolves to an object with
//   ask(name, arguments)   the answer to a question of web/web.h; an Error has `status`
//   x                      the closed forms of speclab.h, such as x.speclab_speedup(0.8, 5, 0.1)
// `bytes` is the module, or a WebAssembly.Module; `files` maps names to Uint8Array, which models
// can name. A plain script without imports, so that it runs from a file and in a worker.

// The system as the library finds it: these files, a clock, and a console; no chance.
function speclabSystem(files) {
  const OK = 0, BADF = 8, NOENT = 44, NOSYS = 52, ROOT = 3;
  const open = new Map();
  let memory = null, next = ROOT + 1, line = '';
  const view = () => new DataView(memory.buffer);
  const bytes = (at, n) => new Uint8Array(memory.buffer, at, n);
  const name = (at, n) => new TextDecoder().decode(bytes(at, n)).replace(/^(\.?\/)+/, '');
  const put = (at, n) => (view().setUint32(at, n, true), OK);

  // Copies into buffers from a position of a file, and returns the position after it.
  function copy(file, buffers, n, from) {
    let at = from;
    for (let i = 0; i < n; i++) {
      const to = view().getUint32(buffers + 8 * i, true);
      const part = file.data.subarray(at, at + view().getUint32(buffers + 8 * i + 4, true));
      bytes(to, part.length).set(part);
      at += part.length;
    }
    return at;
  }
  function stat(at, type, size) {
    bytes(at, 64).fill(0);
    view().setUint8(at + 16, type);
    view().setBigUint64(at + 32, BigInt(size), true);
    return OK;
  }
  const FOLDER = 3, FILE = 4, TERMINAL = 2;
  const calls = {
    environ_get: () => OK,
    environ_sizes_get: (count, size) => put(count, 0) || put(size, 0),
    clock_time_get: (id, precision, at) => {
      view().setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
      return OK;
    },
    fd_prestat_get: (fd, at) => fd === ROOT ? put(at, 0) || put(at + 4, 1) : BADF,
    fd_prestat_dir_name: (fd, at) => (bytes(at, 1)[0] = 47, OK),
    path_open: (fd, follow, at, n, create, rights, inherited, flags, ret) => {
      const data = files[name(at, n)];
      if (!data) return NOENT;
      open.set(next, {data, at: 0});
      return put(ret, next++);
    },
    path_filestat_get: (fd, follow, at, n, ret) => {
      const data = files[name(at, n)];
      return data ? stat(ret, FILE, data.length) : NOENT;
    },
    fd_close: fd => open.delete(fd) ? OK : BADF,
    fd_fdstat_get: (fd, at) => {
      if (!open.has(fd) && fd > ROOT) return BADF;
      bytes(at, 24).fill(0);
      view().setUint8(at, fd === ROOT ? FOLDER : fd > ROOT ? FILE : TERMINAL);
      bytes(at + 8, 16).fill(255);
      return OK;
    },
    fd_filestat_get: (fd, at) => {
      const file = open.get(fd);
      return file ? stat(at, FILE, file.data.length) : stat(at, fd === ROOT ? FOLDER : TERMINAL, 0);
    },
    fd_read: (fd, buffers, n, ret) => {
      const file = open.get(fd);
      if (!file) return BADF;
      const begin = file.at;
      file.at = copy(file, buffers, n, begin);
      return put(ret, file.at - begin);
    },
    fd_pread: (fd, buffers, n, from, ret) => {
      const file = open.get(fd);
      return file ? put(ret, copy(file, buffers, n, Number(from)) - Number(from)) : BADF;
    },
    fd_seek: (fd, offset, whence, ret) => {
      const file = open.get(fd);
      if (!file) return BADF;
      file.at = Number(offset) + [0, file.at, file.data.length][whence];
      view().setBigUint64(ret, BigInt(file.at), true);
      return OK;
    },
    fd_write: (fd, buffers, n, ret) => {
      let written = 0;
      for (let i = 0; i < n; i++) {
        const size = view().getUint32(buffers + 8 * i + 4, true);
        line += new TextDecoder().decode(bytes(view().getUint32(buffers + 8 * i, true), size));
        written += size;
      }
      const lines = line.split('\n');
      line = lines.pop();
      for (const whole of lines) console.log(whole);
      return put(ret, written);
    },
    proc_exit: code => { throw new Error('the module ended with code ' + code); },
  };
  const refused = new Proxy(calls, {get: (known, call) => known[call] || (() => NOSYS)});
  return {imports: {wasi_snapshot_preview1: refused}, begin: instance => {
    memory = instance.exports.memory;
    instance.exports._initialize();
  }};
}

async function speclabCore(source, files = {}) {
  const system = speclabSystem(files);
  const module = source instanceof WebAssembly.Module ? source : await WebAssembly.compile(source);
  const x = (await WebAssembly.instantiate(module, system.imports)).exports;
  system.begin({exports: x});
  const lab = x.web_open(), encoder = new TextEncoder(), decoder = new TextDecoder();
  const failure = (text, status) => Object.assign(new Error(text), {status});
  if (lab === 0) throw failure('out of memory', 2);

  // The answer as text; a trap leaves the instance unusable.
  function text(question) {
    const encoded = encoder.encode(question + '\0');
    try {
      const at = x.malloc(encoded.length);
      if (at === 0) throw failure('out of memory', 2);
      new Uint8Array(x.memory.buffer).set(encoded, at);
      const answer = x.web_ask(lab, at);
      x.free(at);
      const heap = new Uint8Array(x.memory.buffer);
      return decoder.decode(heap.subarray(answer, heap.indexOf(0, answer)));
    } catch (trap) {
      throw trap.status ? trap : failure(String(trap), 4);
    }
  }
  // `text` is the last argument of a question, because it may have several lines. An argument for
  // each value of an array.
  function ask(name, given = {}) {
    const keys = Object.keys(given).filter(key => key !== 'text' && given[key] !== undefined);
    let question = name;
    for (const key of keys)
      for (const value of [given[key]].flat())
        question += '\n' + key + '=' + String(value).replace(/\n/g, ' ');
    if (given.text !== undefined) question += '\ntext=' + given.text;
    const answer = JSON.parse(text(question));
    if (answer.error !== undefined) throw failure(answer.error, answer.status);
    return answer;
  }
  return {ask, text, x};
}
