// SPDX-License-Identifier: GPL-3.0-or-later
// ticks: axes of any numbers have a few ticks within them, in order, and drawing ends.
//   node ticks.js web/js/chart.js
'use strict';
const fs = require('fs'), vm = require('vm');

const chart = vm.createContext({});
vm.runInContext(fs.readFileSync(process.argv[2], 'utf8'), chart);
const big = 2 ** 53;
const domains = [[0, 1], [-3, 7], [0.1, 0.35], [big, big + 4], [1000 * big, 1000 * big + 4096],
  [1e17, 1e17 + 64], [1e300, 1.0000000001e300], [-1e308, 1e308], [5, 5], [1e-320, 2e-320],
  [0, Infinity], [-Infinity, Infinity], [NaN, 1]];
for (const [low, high] of domains) {
  const call = `ticksOf([${low}, ${high}], 8)`, room = (high - low) / 2;
  const ticks = vm.runInContext(call, chart, {timeout: 2000});
  if (ticks.length > 10 || ticks.some((tick, i) => i > 0 && !(tick > ticks[i - 1])) ||
      (high < 1e15 && !ticks.every(tick => tick >= low - room && tick <= high + room)))
    throw new Error(`${call}: ${ticks}`);
}
console.log(`web: ${domains.length} domains have ticks`);
