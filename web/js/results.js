// SPDX-License-Identifier: GPL-3.0-or-later
// results: a result file of speclab, CSV or JSON, as a table. Files from outside are hostile.

const FILE_MOST = 32 << 20, ROWS_MOST = 200000, COLUMNS_MOST = 500;

/** A fault of a file, said in one line. */
class Fault extends Error {}

/**
 * Reads a result.
 * @param {string} name of the file
 * @param {ArrayBuffer} bytes
 * @returns {{columns: string[], rows: (string|number|null)[][], provenance: string}}
 */
function readResult(name, bytes) {
  if (bytes.byteLength === 0) throw new Fault('the file is empty');
  let text;
  try {
    text = new TextDecoder('utf-8', {fatal: true}).decode(bytes); // without a byte-order mark
  } catch {
    throw new Fault('the file is no UTF-8 text; choose a .csv or .json that speclab wrote');
  }
  if (text.includes('\0')) throw new Fault('the file is binary; choose a .csv or .json');
  const json = /^\s*[[{]/.test(text);
  const table = json ? tableOfJson(text) : tableOfCsv(text);
  if (table.columns.length > COLUMNS_MOST)
    throw new Fault(`${table.columns.length} columns; this page shows at most ${COLUMNS_MOST}`);
  if (table.rows.length === 0) throw new Fault('no rows below the names of the columns');
  return table;
}

/** A cell of CSV: a number where it is written as one, null where it is empty. */
function cellOf(text) {
  if (text === '') return null;
  if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return Number(text);
  return {inf: Infinity, '-inf': -Infinity}[text] ?? text;
}

/** Splits CSV after RFC 4180 into records. */
function* recordsOf(text, from) {
  let record = [], at = from;
  while (at < text.length) {
    let cell = '';
    const quoted = text[at] === '"';
    if (quoted) {
      for (at++; ;) {
        const end = text.indexOf('"', at);
        if (end < 0) throw new Fault('a quoted cell has no end: a " is missing');
        cell += text.slice(at, end);
        at = end + 1;
        if (text[at] !== '"') break;
        cell += '"';
        at++;
      }
    }
    const rest = /[,\r\n]|$/g;
    rest.lastIndex = at;
    const stop = rest.exec(text).index;
    record.push(quoted ? cell : text.slice(at, stop));
    at = stop;
    if (text[at] === ',') {
      at++;
      if (at < text.length && text[at] !== '\n' && text[at] !== '\r') continue;
      record.push('');
    }
    yield record;
    record = [];
    if (text[at] === '\r') at++;
    if (text[at] === '\n') at++;
  }
}

function tableOfCsv(text) {
  let at = 0;
  const provenance = [];
  while (text[at] === '#') {
    const end = text.indexOf('\n', at);
    const stop = end < 0 ? text.length : end;
    provenance.push(text.slice(at + 1, stop).trim());
    at = end < 0 ? text.length : end + 1;
  }
  let columns = null;
  const rows = [];
  for (const record of recordsOf(text, at)) {
    if (record.length === 1 && record[0] === '') continue;
    if (!columns) { columns = record; continue; }
    if (record.length !== columns.length)
      throw new Fault(`row ${rows.length + 1} has ${record.length} cells, but there are `
        + `${columns.length} columns`);
    if (rows.length === ROWS_MOST)
      throw new Fault(`more than ${whole(ROWS_MOST)} rows; this page shows no more`);
    rows.push(record.map(cellOf));
  }
  if (!columns) throw new Fault('no line names the columns');
  if (columns.length < 2) throw new Fault('one column alone; this is no result of speclab');
  return {columns, rows, provenance: provenance.join('\n')};
}

/** The longest list of objects inside a JSON value, and its plain values. */
function tableOfJson(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    value = linesOfJson(text);
  }
  const isList = v => Array.isArray(v) && v.length > 0 &&
    v.every(row => row !== null && typeof row === 'object' && !Array.isArray(row));
  let list = isList(value) ? value : null;
  const plain = [];
  if (!list && value !== null && typeof value === 'object' && !Array.isArray(value))
    for (const [name, part] of Object.entries(value)) {
      if (isList(part)) list = !list || part.length > list.length ? part : list;
      else if (part === null || typeof part !== 'object') plain.push(`${name}: ${part}`);
    }
  if (!list && plain.length > 0) list = [value];
  if (!list) throw new Fault('no list of rows in this JSON');
  if (list.length > ROWS_MOST)
    throw new Fault(`more than ${whole(ROWS_MOST)} rows; this page shows no more`);
  const names = new Set();
  for (const row of list) for (const name of Object.keys(row)) names.add(name);
  const columns = [...names];
  const simple = v => v === undefined ? null : typeof v === 'boolean' ? String(v)
    : v !== null && typeof v === 'object' ? JSON.stringify(v).slice(0, 200) : v;
  return {columns, rows: list.map(row => columns.map(name => Object.hasOwn(row, name)
    ? simple(row[name]) : null)), provenance: plain.join('\n')};
}

function linesOfJson(text) {
  const lines = text.split('\n').filter(line => line.trim() !== '');
  return lines.map((line, i) => {
    try {
      return JSON.parse(line);
    } catch {
        throw new Fault(lines.length > 1 && i > 0 ? `line ${i + 1} is not JSON`
                                                  : 'the JSON is broken');
    }
  });
}

/** Rows whose check fails: a z beyond 5, or a column 'holds', 'verdict' that says so. */
function checksOf(table) {
  const columns = table.columns.map((name, i) => ({name, i}));
  const z = columns.filter(({name}) => name === 'z' || name.endsWith('_z'));
  const verdicts = columns.filter(({name}) => ['verdict', 'holds', 'passed'].includes(name));
  let checked = 0, failed = 0;
  for (const row of table.rows) {
    const zs = z.map(({i}) => row[i]).filter(v => typeof v === 'number');
    const words = verdicts.map(({i}) => row[i]).filter(v => ![null, '', 'too large'].includes(v));
    if (zs.length + words.length === 0) continue;
    checked++;
    if (zs.some(v => Math.abs(v) > 5) ||
        words.some(v => /^(fail|differ|not|below|broken|0$|false)/i.test(String(v)))) failed++;
  }
  return {checked, failed};
}
