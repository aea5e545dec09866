/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/escape.h"

#include "base/memory_text.h"
#include "base/utf8.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char replaced[] = "\xEF\xBF\xBD"; /* U+FFFD */

bool spec_escape_is_control(uint32_t code)
{
    static const struct {
        uint32_t from, to;
    } ranges[] = {
        {0x0, 0x1F},  /* including newlines and tabs */
        {0x7F, 0x9F}, /* DEL and C1 */
        {0x61C, 0x61C},
        {0x200E, 0x200F},
        {0x202A, 0x202E},
        {0x2066, 0x2069}, /* text direction */
        {0x2028, 0x2029}, /* line ends */
        {0xFDD0, 0xFDEF}, /* noncharacters */
        {0x110000, SPEC_UTF8_INVALID},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++)
        if (code >= ranges[i].from && code <= ranges[i].to) return true;
    return (code & 0xFFFE) == 0xFFFE;
}

static size_t next(uint32_t *ret_code, const char *text, size_t n)
{
    return spec_utf8_decode(ret_code, (const unsigned char *)text, n);
}

static bool is_space(uint32_t code)
{
    return code == '\n' || code == '\t' || code == '\r';
}

/* ---- terminal -------------------------------------------------------------------------------- */

void spec_escape_terminal(FILE *out, const char *text)
{
    for (size_t left = strlen(text), length; left > 0; text += length, left -= length) {
        uint32_t code;
        length = next(&code, text, left);
        if (code != '\n' && code != '\t' && spec_escape_is_control(code))
            fputc('?', out);
        else
            fwrite(text, 1, length, out);
    }
}

void spec_escape_line(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, text + i, n - i);
        if (spec_escape_is_control(code))
            fputc(is_space(code) ? ' ' : '?', out);
        else
            fwrite(text + i, 1, length, out);
    }
}

void spec_escape_in_place(char *line)
{
    char *to = line;
    for (size_t left = strlen(line), length; left > 0; line += length, left -= length) {
        uint32_t code;
        length = next(&code, line, left);
        if (spec_escape_is_control(code)) {
            *to++ = '?';
        } else {
            memmove(to, line, length);
            to += length;
        }
    }
    *to = '\0';
}

/* ---- HTML, XML and SVG ----------------------------------------------------------------------- */

static const char *entity(uint32_t code)
{
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    case '\n':
    case '\t': return NULL;
    default: return spec_escape_is_control(code) ? replaced : NULL;
    }
}

void spec_escape_html_part(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, text + i, n - i);
        const char *instead = entity(code);
        if (instead != NULL)
            fputs(instead, out);
        else
            fwrite(text + i, 1, length, out);
    }
}

void spec_escape_html(FILE *out, const char *text)
{
    spec_escape_html_part(out, text, strlen(text));
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Returns whether the byte at `at`, within `text`, would be read as markup. */
static bool is_mark(const char *text, const char *at)
{
    if (strchr("\\`*<>[]|~$", *at) != NULL) return true;
    switch (*at) {
    case '_':
        return at == text || !isalnum((unsigned char)at[-1]) || !isalnum((unsigned char)at[1]);
    case '&': return at[1] == '#' || isalpha((unsigned char)at[1]);
    case '/': return at > text && at[-1] == ':' && at[1] == '/';           /* http:// */
    case '.': return at >= text + 3 && strncasecmp(at - 3, "www", 3) == 0; /* www. */
    case '#': return at == text || isspace((unsigned char)at[-1]); /* begins or ends a heading */
    case '+':
    case '-':
    case '=': /* a list item, or an underline of a heading; but not -7 */
        return at == text && (at[1] == *at || strchr(" \t\r\n", at[1]) != NULL);
    default: return false;
    }
}

/* Writes n bytes from `from`, which points into `text`, and escapes the special ones. */
static void write_escaped(FILE *out, const char *text, const char *from, size_t n,
                          bool (*is_special)(const char *text, const char *at))
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, from + i, n - i);
        if (is_space(code))
            fputc(' ', out);
        else if (spec_escape_is_control(code))
            fputs(replaced, out);
        else
            fprintf(out, is_special(text, from + i) ? "\\%.*s" : "%.*s", (int)length, from + i);
    }
}

static bool never(const char *text, const char *at)
{
    (void)text, (void)at;
    return false;
}

void spec_escape_markdown(FILE *out, const char *text)
{
    write_escaped(out, text, text, strlen(text), is_mark);
}

void spec_escape_code(FILE *out, const char *text)
{
    if (text[0] == '\0' || strpbrk(text, "`|") != NULL) {
        spec_escape_markdown(out, text);
        return;
    }
    fputc('`', out);
    write_escaped(out, text, text, strlen(text), never);
    fputc('`', out);
}

static bool is_mark_in_prose(const char *text, const char *at)
{
    return strchr("`*_~$", *at) == NULL && is_mark(text, at);
}

/* Two adjacent backticks may or may not end a code span, depending on what follows. */
void spec_escape_prose(FILE *out, const char *text)
{
    if (strstr(text, "``") != NULL) {
        spec_escape_markdown(out, text);
        return;
    }
    for (const char *at = text; *at != '\0';) {
        const char *end = *at == '`' ? strchr(at + 1, '`') : NULL;
        if (end != NULL) {
            write_escaped(out, text, at, (size_t)(++end - at), never);
            at = end;
            continue;
        }
        const size_t n = strcspn(at + 1, "`") + 1;
        write_escaped(out, text, at, n, *at == '`' ? is_mark : is_mark_in_prose);
        at += n;
    }
}

void spec_escape_block(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\r\n");
        fputs("    ", out);
        write_escaped(out, text, text, n, never);
        fputc('\n', out);
        text += n;
        text += *text == '\r' && text[1] == '\n' ? 2 : *text != '\0';
    }
    fputc('\n', out);
}

void spec_escape_link(FILE *out, const char *path)
{
    for (; *path != '\0'; path++) {
        const unsigned char c = (unsigned char)*path;
        if (c < 0x80 && (isalnum(c) || strchr("-._~/", c) != NULL))
            fputc(c, out);
        else
            fprintf(out, "%%%02X", c);
    }
}

/* ---- LaTeX ----------------------------------------------------------------------------------- */

static const struct {
    uint32_t code;
    const char *latex;
} commands[] = {
    {'\\', "\\textbackslash{}"},
    {'~', "\\textasciitilde{}"},
    {'^', "\\textasciicircum{}"},
    {'<', "\\textless{}"},
    {'>', "\\textgreater{}"},
    {'|', "\\textbar{}"},
    {'"', "\\char34{}"},
    {'`', "\\textasciigrave{}"},
    {'{', "\\{"},
    {'}', "\\}"},
    {'$', "\\$"},
    {'&', "\\&"},
    {'#', "\\#"},
    {'_', "\\_"},
    {'%', "\\%"},
    {0xa0, "~"},
    {0xb1, "$\\pm$"},
    {0xd7, "$\\times$"},
    {0x3b1, "$\\alpha$"},
    {0x3b2, "$\\beta$"},
    {0x3c1, "$\\rho$"},
    {0x221a, "$\\sqrt{\\,}$"},
    {0x2212, "$-$"},
    {0x2264, "$\\le$"},
    {0x2265, "$\\ge$"},
    {0x2013, "\\textendash{}"},
    {0x2014, "\\textemdash{}"},
    {0x2026, "\\dots{}"},
};

static const char *latex_command(uint32_t code)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (commands[i].code == code) return commands[i].latex;
    return NULL;
}

void spec_escape_latex_part(FILE *out, const char *text, size_t n)
{
    /* After the \\ of the row above, these would start an argument. */
    if (n > 0 && (text[0] == '[' || text[0] == '*')) fputs("{}", out);
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, text + i, n - i);
        const char *command = latex_command(code);
        const bool ligature = code < 0x80 && i + 1 < n && (char)code == text[i + 1] &&
                              strchr("-',", (int)code) != NULL;
        if (command != NULL)
            fputs(command, out);
        else if (spec_escape_is_control(code))
            fputc(is_space(code) ? ' ' : '?', out);
        else
            fprintf(out, ligature ? "%.*s{}" : "%.*s", (int)length, text + i);
    }
}

void spec_escape_latex(FILE *out, const char *text)
{
    spec_escape_latex_part(out, text, strlen(text));
}

/* ---- gnuplot --------------------------------------------------------------------------------- */

static void write_gnuplot(FILE *out, const char *text, bool percent_twice)
{
    fputc('\'', out);
    for (size_t left = strlen(text), n; left > 0; text += n, left -= n) {
        uint32_t code;
        n = next(&code, text, left);
        if (spec_escape_is_control(code))
            fputc('?', out);
        else if (code == '\'')
            fputs("' . \"\\047\" . '", out); /* a bare quote would turn on macros: @NAME */
        else
            fprintf(out, "%.*s%s", (int)n, text, code == '%' && percent_twice ? "%" : "");
    }
    fputc('\'', out);
}

void spec_escape_gnuplot(FILE *out, const char *text)
{
    write_gnuplot(out, text, false);
}

void spec_escape_gnuplot_tic(FILE *out, const char *text)
{
    write_gnuplot(out, text, true);
}

/* ---- POSIX shell ----------------------------------------------------------------------------- */

/* How to write the characters of a shell word: bare, quoted, or by its octal number, which takes a
 * call of printf. A newline is never written by number, because $() drops trailing newlines. */
typedef enum { BARE, QUOTED, NUMBERED } shell_state;

static void turn(FILE *out, shell_state *state, shell_state to)
{
    static const char *const begins[] = {"", "'", "\"$(printf '"};
    static const char *const ends[] = {"", "'", "')\""};
    if (*state == to) return;
    fputs(ends[*state], out);
    fputs(begins[to], out);
    *state = to;
}

static bool is_plain_word(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_=.,:/+-@%";
    return word[0] != '\0' && word[0] != '=' && word[strspn(word, plain)] == '\0';
}

void spec_escape_shell(FILE *out, const char *word)
{
    shell_state state = BARE;
    if (is_plain_word(word)) {
        fputs(word, out);
        return;
    }
    if (word[0] == '\0') fputs("''", out);
    for (size_t left = strlen(word), n; left > 0; word += n, left -= n) {
        uint32_t code;
        n = next(&code, word, left);
        const bool numbered = code != '\n' && spec_escape_is_control(code);
        turn(out, &state, numbered ? NUMBERED : code == '\'' ? BARE : QUOTED);
        if (numbered)
            for (size_t i = 0; i < n; i++) fprintf(out, "\\%03o", (unsigned char)word[i]);
        else if (code == '\'')
            fputs("\\'", out);
        else
            fwrite(word, 1, n, out);
    }
    turn(out, &state, BARE);
}

void spec_escape_shell_file(FILE *out, const char *path)
{
    if (path[0] == '-' && path[1] != '\0') fputs("./", out);
    spec_escape_shell(out, path);
}

const char *spec_escape_shell_fit(char *buffer, size_t size, const char *path,
                                  const char *otherwise)
{
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return otherwise;
    spec_escape_shell_file(text.out, path);
    size_t n;
    char *word = spec_memory_text_take(&text, &n);
    const bool fits = word != NULL && n < size;
    if (fits) memcpy(buffer, word, n + 1);
    free(word);
    return fits ? buffer : otherwise;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void spec_escape_csv(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
