/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_file.h"

#include "base/escape.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes a line of a TikZ picture. A node's text is in the braces after its position; the date is
 * left out. */
static void write_tikz_line(FILE *out, const char *line, size_t length)
{
    static const char node[] = "\\node[", text[] = ") {", end[] = "};", comment[] = "%% ";
    const char *begin = memmem(line, length, text, sizeof text - 1);
    const bool is_node = length > sizeof node && strncmp(line, node, sizeof node - 1) == 0 &&
                         begin != NULL && strncmp(line + length - 2, end, 2) == 0;
    if (length > 3 && strncmp(line, comment, 3) == 0) return;
    if (!is_node) {
        fprintf(out, "%.*s\n", (int)length, line);
        return;
    }
    begin += sizeof text - 1;
    fprintf(out, "%.*s", (int)(begin - line), line);
    spec_escape_latex_part(out, begin, (size_t)(line + length - 2 - begin));
    fprintf(out, "%s\n", end);
}

/* Replaces gnuplot's script, whose coordinates are those of the last panel, the legend. It shows
 * the numbers of a point, which plots/series.gp gives as hypertext. */
static const char mouse_script[] =
    "<script type=\"text/javascript\"><![CDATA[\n"
    "const gnuplot_svg = {\n"
    "  Init() {}, toggleCoordBox() {}, moveCoordBox() {}, toggleVisibility() {},\n"
    "  toggleGrid() {\n"
    "    for (const line of document.querySelectorAll('.gridline'))\n"
    "      line.style.display = line.style.display === 'none' ? '' : 'none';\n"
    "  },\n"
    "  show(how) {\n"
    "    for (const id of ['hypertext', 'hypertextbox'])\n"
    "      document.getElementById(id).setAttribute('visibility', how);\n"
    "  },\n"
    "  hideHypertext() { this.show('hidden'); },\n"
    "  showHypertext(event, words) {\n"
    "    const svg = document.documentElement, text = document.getElementById('hypertext');\n"
    "    const at = new DOMPoint(event.clientX, event.clientY)\n"
    "      .matrixTransform(svg.getScreenCTM().inverse());\n"
    "    text.textContent = words;\n"
    "    const width = text.getComputedTextLength(), box = svg.viewBox.baseVal;\n"
    "    const x = Math.min(at.x + 12, box.width - width - 8), y = Math.max(at.y - 12, 20);\n"
    "    const set = (id, values) => {\n"
    "      for (const key in values) document.getElementById(id).setAttribute(key, values[key]);\n"
    "    };\n"
    "    set('hypertext', {x, y});\n"
    "    set('hypertextbox', {x: x - 6, y: y - 14, width: width + 12, height: 20});\n"
    "    this.show('visible');\n"
    "  },\n"
    "};\n"
    "]]></script>\n";

/* Writes a line with a text. XML forbids ]]> in it, which gnuplot writes as it is. */
static void write_svg_text(FILE *out, const char *line, const char *end)
{
    static const char forbidden[] = "]]>";
    for (const char *at; (at = memmem(line, (size_t)(end - line), forbidden, 3)) != NULL;) {
        fprintf(out, "%.*s]]&gt;", (int)(at - line), line);
        line = at + 3;
    }
    fprintf(out, "%.*s\n", (int)(end - line), line);
}

/* Writes a line of an SVG with a generic font as fallback. Titles such as gnuplot_plot_1, which
 * browsers would show, are removed. */
static void write_svg_line(FILE *out, const char *line, size_t length)
{
    static const char family[] = "font-family=\"", title[] = "<title>", title_end[] = "</title>";
    if (memmem(line, length, "gnuplot_svg.js\"", 15) != NULL) {
        fputs(mouse_script, out);
        return;
    }
    if (memmem(line, length, "<text>", 6) != NULL) {
        write_svg_text(out, line, line + length);
        return;
    }
    const char *end = line + length, *from = memmem(line, length, title, sizeof title - 1);
    const char *to =
        from != NULL ? memmem(from, (size_t)(end - from), title_end, sizeof title_end - 1) : NULL;
    if (to != NULL) {
        fprintf(out, "%.*s", (int)(from - line), line);
        line = to + sizeof title_end - 1;
    }
    for (const char *at;
         (at = memmem(line, (size_t)(end - line), family, sizeof family - 1)) != NULL;) {
        at += sizeof family - 1;
        const char *quote = memchr(at, '"', (size_t)(end - at));
        if (quote == NULL) break;
        fprintf(out, "%.*s, sans-serif", (int)(quote - line), line);
        line = quote;
    }
    fprintf(out, "%.*s\n", (int)(end - line), line);
}

static bool ends_with(const char *bytes, size_t n, const char *end)
{
    const size_t length = strlen(end);
    while (n > 0 && strchr("\r\n\t ", bytes[n - 1]) != NULL) n--;
    return n >= length && memcmp(bytes + n - length, end, length) == 0;
}

static bool is_whole(const char *drawn, size_t n, spec_terminal terminal)
{
    static const char *const begins[] = {"<?xml", "\x89PNG", "%PDF", "\\begin{tikzpicture}"};
    const size_t length = strlen(begins[terminal]);
    if (n < length || memcmp(drawn, begins[terminal], length) != 0) return false;
    switch (terminal) {
    case SPEC_TERMINAL_SVG: return ends_with(drawn, n, "</svg>");
    case SPEC_TERMINAL_PNG:
        return memmem(drawn + n - (n < 12 ? n : 12), n < 12 ? n : 12, "IEND", 4) != NULL;
    case SPEC_TERMINAL_PDF: return ends_with(drawn, n, "%%EOF");
    case SPEC_TERMINAL_TIKZ: return memmem(drawn, n, "\\end{tikzpicture}", 17) != NULL;
    }
    return false;
}

int spec_figure_file_write(FILE *out, const char *path, const char *drawn, size_t n,
                           spec_terminal terminal, spec_error *error)
{
    if (!is_whole(drawn, n, terminal))
        return spec_fail(error, GSL_EFAILED, "%s: gnuplot did not draw the whole figure", path);
    if (terminal == SPEC_TERMINAL_PNG || terminal == SPEC_TERMINAL_PDF) {
        fwrite(drawn, 1, n, out);
    } else {
        for (size_t at = 0; at < n;) {
            const char *end = memchr(drawn + at, '\n', n - at);
            const size_t length = end != NULL ? (size_t)(end - (drawn + at)) : n - at;
            if (terminal == SPEC_TERMINAL_SVG)
                write_svg_line(out, drawn + at, length);
            else
                write_tikz_line(out, drawn + at, length);
            at += length + 1;
        }
    }
    return GSL_SUCCESS;
}
