// SPDX-License-Identifier: GPL-3.0-or-later
// figure: a place of the page that draws itself at its width, with its values in words and a table.

/**
 * Prepares `host`, a <figure>, to show drawings. The returned function shows one:
 *   draw(width) returns the drawing, at the given width in CSS pixels;
 *   words is the aria-label, which says the values; heads and rows are the table below.
 * The drawing is renewed when the width changes.
 */
function figureIn(host) {
  const picture = h('div', {class: 'picture'});
  const values = h('div', {});
  const folded = h('details', {class: 'values'}, h('summary', {}, 'Values as a table'), values);
  let shown = null, width = 0;
  host.append(picture, folded);
  const render = () => {
    if (!shown || !width) return;
    const drawing = shown.draw(width);
    drawing.setAttribute('role', 'img');
    drawing.setAttribute('aria-label', shown.words);
    picture.replaceChildren(drawing);
  };
  new ResizeObserver(entries => {
    const next = Math.round(entries[0].contentRect.width);
    if (next === width) return;
    width = next;
    render();
  }).observe(picture);
  const fillTable = () => {
    if (folded.open && shown) values.replaceChildren(tableOf(shown.heads, shown.rows));
  };
  folded.addEventListener('toggle', fillTable);
  return figure => {
    shown = figure;
    if (!width) width = Math.round(picture.getBoundingClientRect().width);
    render();
    fillTable();
  };
}

/** An empty drawing of a size. */
function canvasOf(width, height, ...children) {
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height}, ...children);
}
