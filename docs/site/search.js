// SPDX-License-Identifier: GPL-3.0-or-later
// Search over the sections of all pages. index.js, written with the site, calls siteIndex; it is
// loaded when the box gets the focus, as a script, because pages of file:// may not fetch files.
'use strict';
const box = document.querySelector('#search input');
const found = document.getElementById('found');
let sections = null; // {page, anchor, title, words, of: title of the page}

// How well a section matches a word: its title first, then that of its page, then its text.
function score(section, word) {
  const title = section.title.toLowerCase(), of = section.of.toLowerCase();
  const starts = text => (' ' + text.replace(/[^a-z0-9_-]+/g, ' ')).includes(' ' + word);
  if (title === word || of === word) return 12;
  if (starts(title)) return 8;
  if (title.includes(word)) return 5;
  if (starts(of)) return 4;
  const at = (' ' + section.words + ' ').indexOf(' ' + word);
  if (at < 0) return 0;
  return section.words[at + word.length] === ' ' || at + word.length >= section.words.length ? 2 : 1;
}

function show() {
  const words = box.value.toLowerCase().split(/[^a-z0-9_-]+/).map(word => word.replace(/^-+/, ''))
    .filter(word => word);
  found.replaceChildren();
  if (!sections || !words.length) return;
  const ranked = [];
  for (const section of sections) {
    const scores = words.map(word => score(section, word));
    if (Math.min(...scores) > 0) {
      const first = section.first ? 1 : 0;
      ranked.push([scores.reduce((sum, one) => sum + one) + first, section]);
    }
  }
  ranked.sort((a, b) => b[0] - a[0]); // stable: else the order of the site
  for (const [, section] of ranked.slice(0, 15)) {
    const link = document.createElement('a');
    link.href = section.page + '.html' + (section.anchor && !section.first ? '#' + section.anchor : '');
    link.textContent = section.title;
    const small = document.createElement('small');
    small.textContent = section.first ? '' : ' ' + section.of;
    link.append(small);
    const item = document.createElement('li');
    item.append(link);
    found.append(item);
  }
  if (!ranked.length) found.append(Object.assign(document.createElement('li'), {textContent: 'Nothing found'}));
}

window.siteIndex = pages => {
  sections = pages.flatMap(([page, of, list]) => list.map(([anchor, title, words], i) =>
    ({page, of, anchor, title: i ? title : of, words, first: i === 0})));
  show();
};

box.addEventListener('focus', () => {
  const script = document.createElement('script');
  script.src = 'index.js';
  document.head.append(script);
}, {once: true});
box.addEventListener('input', show);
document.getElementById('search').addEventListener('submit', event => {
  event.preventDefault();
  const first = found.querySelector('a');
  if (first) location.href = first.href;
});
document.addEventListener('keydown', event => {
  if (event.key === '/' && document.activeElement !== box) {
    event.preventDefault();
    box.focus();
  } else if (event.key === 'Escape') {
    found.replaceChildren();
  }
});
document.addEventListener('click', event => {
  if (!event.target.closest('#search')) found.replaceChildren();
});
document.getElementById('search').hidden = false;
