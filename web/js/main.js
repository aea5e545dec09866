// SPDX-License-Identifier: GPL-3.0-or-later
// main: starts the page. The text is there before the C code, which is compiled in the background.

async function start() {
  readAddress();
  const began = performance.now();
  await core.load();
  const lab = new Lab();
  const [{names}, {version}] = await Promise.all([lab.ask('list'), lab.ask('version')]);
  byId('version').textContent = version;
  fillMenus(names);
  const panel = new RoundPanel(lab);
  panel.ask();
  new Explorer();
  new HeatMap();
  new Load();
  new Warmth();
  new Ratio();
  new Lossless(names);
  new Writer();
  new AdvicePanel();
  new ResultsPanel();
  byId('loading').textContent = '';
  document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
}

start().catch(error => {
  byId('loading').textContent = 'This page needs WebAssembly, workers and DecompressionStream: '
    + `Chrome 110, Firefox 115, Safari 16.4 or later. (${error.message})`;
  byId('loading').className = 'fault';
});
