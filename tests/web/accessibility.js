// SPDX-License-Identifier: GPL-3.0-or-later
// accessibility: the faults of the page that a script can find, as a list of lines.
const faults = [];
const seen = element => element.getClientRects().length > 0;
const say = element => `${element.tagName.toLowerCase()}#${element.id}.${element.getAttribute('class')}`;

// names
for (const control of document.querySelectorAll('input, select, button, textarea')) {
  const name = control.getAttribute('aria-label') || control.textContent.trim() ||
    [...(control.labels || [])].map(label => label.textContent.trim()).join('');
  if (!name) faults.push(`${say(control)} has no name`);
}
for (const image of document.querySelectorAll('svg, canvas, img'))
  if (seen(image) && !image.closest('[aria-hidden="true"]') &&
      !(image.getAttribute('role') === 'img' && image.getAttribute('aria-label')))
    faults.push(`${say(image)} says nothing: role=img and aria-label`);
for (const figure of document.querySelectorAll('figure'))
  if (seen(figure) && !figure.querySelector('details')) faults.push(`${say(figure)} has no table`);
for (const region of document.querySelectorAll('section'))
  if (!document.getElementById(region.getAttribute('aria-labelledby')))
    faults.push(`${say(region)} has no heading`);
if (!document.documentElement.lang) faults.push('the page has no language');
if (document.querySelectorAll('main, nav, header, footer').length !== 4)
  faults.push('a landmark is missing');

// structure
const ids = [...document.querySelectorAll('[id]')].map(element => element.id);
for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i)))
  faults.push(`several elements have the id ${id}`);
for (const element of document.querySelectorAll('[tabindex]'))
  if (element.tabIndex > 0) faults.push(`${say(element)} changes the order of focus`);
let level = 0;
for (const heading of document.querySelectorAll('h1, h2, h3, h4')) {
  if (!seen(heading)) continue;
  const next = Number(heading.tagName[1]);
  if (next > level + 1) faults.push(`${say(heading)} skips a level: ${heading.textContent}`);
  level = next;
}
for (const answer of document.querySelectorAll('.answer')) {
  const words = answer.textContent.trim().split(/\s+/).length;
  if (words > 60) faults.push(`an answer has ${words} words: ${answer.textContent.slice(0, 40)}`);
}

// motion
if (matchMedia('(prefers-reduced-motion: reduce)').matches)
  for (const element of document.querySelectorAll('*'))
    if (getComputedStyle(element).transitionDuration !== '0s')
      faults.push(`${say(element)} moves, although motion is reduced`);

// contrast
const channels = text => (text.match(/[\d.]+/g) || []).map(Number);
const over = (front, back) => {
  const a = front[3] === undefined ? 1 : front[3];
  return [0, 1, 2].map(i => front[i] * a + back[i] * (1 - a));
};
const background = element => {
  const layers = [];
  for (let at = element; at; at = at.parentElement) {
    const color = channels(getComputedStyle(at).backgroundColor);
    if (color.length >= 3 && color[3] !== 0) layers.unshift(color);
  }
  return layers.reduce((back, front) => over(front, back), [255, 255, 255]);
};
const luminance = color => {
  const [r, g, b] = color.map(v => v / 255).map(v =>
    v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
  return (x + 0.05) / (y + 0.05);
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const judged = new Set();
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || judged.has(element) || !seen(element) ||
      ['SCRIPT', 'STYLE', 'OPTION', 'OPTGROUP'].includes(element.tagName) ||
      element.closest(':disabled')) continue;
  judged.add(element);
  const style = getComputedStyle(element);
  const ink = element.ownerSVGElement ? style.fill : style.color;
  const back = background(element);
  const ratio = contrast(over(channels(ink), back), back);
  if (ratio < 4.5) faults.push(`contrast ${ratio.toFixed(2)} of "${element.textContent.trim()
    .slice(0, 30)}" in ${say(element)}`);
}
return faults;
