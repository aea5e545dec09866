// SPDX-License-Identifier: GPL-3.0-or-later
// command: the speclab command that computes what a panel shows.

/** A word of a shell command, in quotes where it needs them. */
function shellWord(text) {
  return /^[\w.,:=+/@%-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `speclab VERB --option value ...`; options that are undefined or empty are left out, and one
 * with an array comes once for each value. */
function commandLine(verb, options) {
  const words = ['speclab', verb];
  for (const [name, values] of Object.entries(options))
    for (const value of [values].flat())
      if (value !== undefined && value !== '') words.push(`--${name}`, shellWord(String(value)));
  return words.join(' ');
}

/** Fills `host` with a command line and a button that copies it; hidden until there is a line.
 * Returns a setter of the line. */
function commandIn(host) {
  const code = h('code', {tabindex: 0, 'aria-label': 'The same as a command'});
  const button = h('button', {type: 'button', onclick: async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = 'Press Ctrl+C';
    }
    setTimeout(() => { button.textContent = 'Copy the command'; }, 2000);
  }}, 'Copy the command');
  host.append(code, button);
  host.hidden = true;
  return line => {
    code.textContent = line;
    host.hidden = false;
  };
}
