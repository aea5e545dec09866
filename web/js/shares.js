// SPDX-License-Identifier: GPL-3.0-or-later
// shares: rows that a reader edits, in thousandths that always sum to 1000.

const WHOLE = 1000, WORDS_MAX = 8, WORDS_MIN = 2;

/** Rounds weights to thousandths with the sum `total`, by the largest remainders. */
function shareOut(weights, total) {
  const sum = weights.reduce((a, b) => a + b, 0);
  const exact = weights.map(w => sum > 0 ? w / sum * total : total / weights.length);
  const shares = exact.map(Math.floor);
  let left = total - shares.reduce((a, b) => a + b, 0);
  const order = exact.map((x, i) => [x - shares[i], i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  for (const [, i] of order) if (left-- > 0) shares[i]++;
  return shares;
}

/** The shares with number i set to `value`; the others keep their proportions. */
function setShare(shares, i, value) {
  const set = Math.max(0, Math.min(WHOLE, Math.round(value)));
  const others = shareOut(shares.filter((_, j) => j !== i), WHOLE - set);
  return shares.map((_, j) => j === i ? set : others[j < i ? j : j - 1]);
}

/** Reads '0.5,0.3,0.2' as shares of V words; a text that is no row gives equal shares. */
function readShares(text, V) {
  const given = text.split(',').map(Number);
  const good = given.length === V && given.every(x => Number.isFinite(x) && x >= 0) &&
    given.some(x => x > 0);
  return shareOut(good ? given : Array(V).fill(1), WHOLE);
}

const writeShares = shares => shares.map(s => String(s / WHOLE)).join(',');

/** The words of the vocabulary, between two and eight, none empty. */
function readWords(text) {
  const words = text.split(',').slice(0, WORDS_MAX).map(word => word.trim().slice(0, 16) || '?');
  while (words.length < WORDS_MIN) words.push('?');
  return words;
}
