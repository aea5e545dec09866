// SPDX-License-Identifier: GPL-3.0-or-later
// state: what the reader has set, kept in the address after '#', so that a view can be linked.

const BEGIN = {
  words: 'the,cat,sat,dog', target: '0.5,0.2,0.1,0.2', draft: '0.4,0.3,0.2,0.1',
  rule: 'token', drafting: 'chain', K: '3', seed: '1', context: '',
  coins: '0.2,0.5,0.8,0.75,0.6', at: '4',
  alpha: '0.8', k: '6', c: '0.1', guess: '0', batch: '8', tokens: '512',
  heat: '0.5', ratio: '8', right: 'token', wrong: 'resample-target', length: '2', over: '2',
};

const state = {...BEGIN};
const listeners = [];

/** Calls `act(changed names)` after each change. */
function onState(act) {
  listeners.push(act);
}

/** Changes values; the address follows a little later, without a new entry of the history. */
function setState(patch) {
  const changed = Object.keys(patch).filter(name => state[name] !== String(patch[name]));
  for (const name of changed) state[name] = String(patch[name]);
  if (changed.length === 0) return;
  writeAddress();
  for (const act of listeners) act(new Set(changed));
}

const writeAddress = settled(() => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(state))
    if (value !== BEGIN[name]) query.set(name, value);
  const text = query.toString();
  if (text || location.hash.includes('='))
    history.replaceState(null, '', text ? `#${text}` : location.pathname + location.search);
}, 250);

/** Reads the address; unknown names and overlong values are left alone. */
function readAddress() {
  if (!location.hash.includes('=')) return;
  for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
    if (Object.hasOwn(BEGIN, name) && value.length <= 400) state[name] = value;
}

/** Joins a control with a value of the state, in both directions. A control knows its limits, so
 * that a value of the address which it does not take is replaced. */
function bindControl(id, name, show) {
  const control = byId(id), output = byId(`${id}-out`);
  control.value = state[name];
  state[name] = control.value || BEGIN[name];
  const read = () => {
    if (document.activeElement !== control || control.type === 'range') control.value = state[name];
    if (output) output.textContent = show ? show(Number(state[name])) : state[name];
  };
  control.addEventListener('input', () => {
    if (control.value !== '' && control.checkValidity()) setState({[name]: control.value});
  });
  onState(changed => { if (changed.has(name)) read(); });
  read();
}
