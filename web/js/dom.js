// SPDX-License-Identifier: GPL-3.0-or-later
// dom: elements of HTML and SVG, and numbers as text.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined));
  return element;
}

/**
 * An HTML element. Children are texts or elements, so text from outside is never read as HTML.
 * @param {string} tag
 * @param {Object} attributes `onclick` and the like are listeners
 */
function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const byId = id => document.getElementById(id);

/** A number with `digits` decimals, and with a proper minus sign. */
function fixed(x, digits = 2) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  return x.toFixed(digits).replace(/^-(?=0\.?0*$)/, '').replace('-', '−');
}

/** A probability: up to three decimals, at least two, as in 0.20 and 0.667. */
function chance(x) {
  const text = fixed(x, 3);
  return text.endsWith('0') ? text.slice(0, -1) : text;
}

/** A whole number in groups of three digits. */
function whole(n) {
  return Math.round(n).toLocaleString('en-US').replaceAll(',', '\u202f');
}

/** A small or large number: 2.2e−16 as 2.2 × 10⁻¹⁶. */
function scientific(x, digits = 2) {
  if (x === 0) return '0';
  if (!Number.isFinite(x)) return fixed(x);
  const [mantissa, exponent] = x.toExponential(digits - 1).split('e');
  const raised = [...String(Number(exponent))].map(c => '⁰¹²³⁴⁵⁶⁷⁸⁹'[c] || '⁻').join('');
  return `${mantissa} × 10${raised}`;
}

/** A total variation distance: 0.0996, or 2.2 × 10⁻¹⁶ where decimals would hide it. */
function distance(x) {
  return x !== 0 && Math.abs(x) < 5e-4 ? scientific(x) : fixed(x, 4);
}

/** A table; rows are lists of texts, the first of each its heading. */
function tableOf(heads, rows) {
  return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Table'},
    h('table', {},
      h('thead', {}, h('tr', {}, heads.map(text => h('th', {scope: 'col'}, text)))),
      h('tbody', {}, rows.map(row => h('tr', {}, row.map((cell, i) =>
        i === 0 ? h('th', {scope: 'row'}, cell) : h('td', {}, cell)))))));
}

/** Calls `act` with the files that are dropped on `host`, or on `area`, which is around it. */
function takeFiles(host, act, area = host) {
  host.addEventListener('dragenter', () => host.classList.add('over'));
  host.addEventListener('dragleave', event => {
    if (!host.contains(event.relatedTarget)) host.classList.remove('over');
  });
  area.addEventListener('dragover', event => event.preventDefault());
  area.addEventListener('drop', event => {
    host.classList.remove('over');
    if (event.defaultPrevented) return; // a host within the area has taken them
    event.preventDefault();
    if (event.dataTransfer.files.length > 0) act(event.dataTransfer.files);
  });
}

/** Calls `act` once, `wait` milliseconds after the last of several calls. */
function settled(act, wait) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };
}
