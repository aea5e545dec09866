// SPDX-License-Identifier: GPL-3.0-or-later
// round_menus: the rules and draftings of a round that a reader can choose.

/** Fills the menus of rules and draftings. */
function fillMenus(names) {
  const option = name => h('option', {value: name}, name);
  const rules = names.filter(n => n.kind === 'rule');
  const groups = [['lossless', 'lossless'], ['lossless at temperature 0', 'lossless, greedy'],
    ['lossy', 'lossy on purpose'], ['wrong', 'wrong on purpose']];
  const plain = n => n.name.split('?')[0];
  const menu = byId('rule');
  menu.replaceChildren(...groups.map(([claim, label]) => h('optgroup', {label},
    rules.filter(r => r.claim === claim).map(r => option(plain(r))))));
  const draftings = ['chain', 'greedy', 'tree?widths=2.2&siblings=iid',
    'tree?widths=2.2&siblings=without', 'tree?widths=3.1.1&siblings=without',
    'tree?widths=2.2&siblings=top', 'tree?widths=2.2&siblings=hub',
    'tree?widths=2.2&siblings=greedy', 'tree?widths=3.1&siblings=tail', 'tree?children=2.1.0.1',
    'dynamic?top=2&nodes=5&depth=3', 'dynamic?top=3&nodes=5&depth=3&draw=proxy', 'gumbel?seed=1', 'minhash?seed=1', 'lookup?max=2',
    'lookahead?window=4&ngram=3&guesses=3', 'recycle?k=2&nodes=6', 'suffix?max=4'];
  byId('drafting').replaceChildren(...draftings.map(option));
  for (const id of ['rule', 'drafting']) {
    if (![...byId(id).options].some(o => o.value === state[id])) byId(id).append(option(state[id]));
    byId(id).value = state[id];
  }
  const tellRule = () => {
    const rule = rules.find(r => plain(r) === state.rule.split('?')[0]);
    byId('rule-summary').textContent = rule ? `${plain(rule)}: ${rule.summary}`
      + `${rule.reference ? ` [${rule.reference}]` : ''}.` : '';
  };
  onState(changed => { if (changed.has('rule')) tellRule(); });
  tellRule();
}
