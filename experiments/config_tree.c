/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/config_tree.h"

#include "base/memory_text.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define NAME_CHARACTERS LETTERS "0123456789-_*"

typedef struct {
    const char *at, *path;
    int line;
    spec_error *error;
} parser;

static int fail(const parser *in, const char *what)
{
    return spec_fail(in->error, GSL_EINVAL, "%.100s:%d: %s", in->path, in->line, what);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

void spec_config_tree_free(spec_config_node *node)
{
    if (node == NULL) return;
    for (int i = 0; i < node->n; i++) spec_config_tree_free(node->child[i]);
    free(node->child);
    free(node->name);
    free(node->text);
    free(node);
}

spec_config_node *spec_config_tree_member(const spec_config_node *node, const char *name)
{
    for (int i = 0; node->kind == SPEC_NODE_GROUP && i < node->n; i++)
        if (strcmp(node->child[i]->name, name) == 0) return node->child[i];
    return NULL;
}

/* Appends a child, which has no value yet. */
static int add_child(spec_config_node **ret, parser *in, spec_config_node *parent)
{
    if ((parent->n & (parent->n - 1)) == 0) { /* full: grow to a power of two */
        const size_t room = parent->n == 0 ? 1 : 2 * (size_t)parent->n;
        spec_config_node **child = realloc(parent->child, room * sizeof(spec_config_node *));
        if (child == NULL) return spec_no_memory_for(in->error, in->path);
        parent->child = child;
    }
    if ((*ret = calloc(1, sizeof **ret)) == NULL) return spec_no_memory_for(in->error, in->path);
    (*ret)->line = in->line;
    parent->child[parent->n++] = *ret;
    return GSL_SUCCESS;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Skips blanks and comments. */
static void skip(parser *in)
{
    for (;;) {
        const char *end = in->at;
        if (*end != '\0' && strchr(" \t\r\n", *end) != NULL) {
            end++;
        } else if (end[0] == '#' || (end[0] == '/' && end[1] == '/')) {
            end += strcspn(end, "\n");
        } else if (end[0] == '/' && end[1] == '*') {
            const char *close = strstr(end + 2, "*/");
            end = close != NULL ? close + 2 : end + strlen(end);
        } else {
            return;
        }
        for (; in->at < end; in->at++) in->line += *in->at == '\n';
    }
}

/* Skips blanks, then takes the next character and returns it if it is one of these; otherwise
 * returns 0. */
static char take(parser *in, const char *characters)
{
    skip(in);
    return *in->at != '\0' && strchr(characters, *in->at) != NULL ? *in->at++ : '\0';
}

/* Returns the character of an escape sequence after a backslash. */
static char escaped(parser *in)
{
    static const char names[] = "fnrt\\\"", characters[] = "\f\n\r\t\\\"";
    const char *name = *in->at != '\0' ? strchr(names, *in->at) : NULL;
    char hex[3] = "", *end;
    if (name != NULL) {
        in->at++;
        return characters[name - names];
    }
    if (in->at[0] != 'x' && in->at[0] != 'X') return '\\';
    strncpy(hex, in->at + 1, 2);
    const long code = strtol(hex, &end, 16);
    if (strspn(hex, "0123456789abcdefABCDEF") != 2) return '\\';
    in->at += 3;
    return (char)code;
}

/* Reads a string; adjacent strings are joined. */
static int read_text(char **ret, parser *in)
{
    spec_memory_text text;
    bool closed = true;
    if (!spec_memory_text_open(&text)) return spec_no_memory_for(in->error, in->path);
    while (closed && take(in, "\"") != '\0') {
        while (*in->at != '"' && *in->at != '\0') {
            const char c = *in->at++;
            in->line += c == '\n';
            fputc(c == '\\' ? escaped(in) : c, text.out);
        }
        closed = *in->at != '\0';
        in->at += closed;
    }
    *ret = spec_memory_text_take(&text, NULL);
    if (*ret == NULL) return spec_no_memory_for(in->error, in->path);
    return closed ? GSL_SUCCESS : fail(in, "this string is not closed");
}

static int read_number(spec_config_node *node, parser *in)
{
    const char *begin = in->at, *digit = begin + strspn(begin, "+-");
    char *end;
    const bool hex = digit[0] == '0' && (digit[1] == 'x' || digit[1] == 'X');
    errno = 0;
    node->kind = SPEC_NODE_INTEGER;
    node->integer = strtoll(begin, &end, hex ? 16 : 10);
    if (!hex && (*end == '.' || *end == 'e' || *end == 'E' || end == begin)) {
        node->kind = SPEC_NODE_REAL;
        node->real = strtod(begin, &end);
    } else if (errno != 0) {
        return fail(in, "a whole number that is too large");
    }
    if (end == begin) return fail(in, "syntax error");
    for (int i = 0; i < 2 && node->kind == SPEC_NODE_INTEGER && *end == 'L'; i++) end++;
    in->at = end;
    return GSL_SUCCESS;
}

/* Returns the length of the name that begins here, or 0. */
static size_t name_length(const char *at)
{
    const size_t first = *at == '*' ? 1 : strspn(at, LETTERS);
    return first == 0 ? 0 : strspn(at, NAME_CHARACTERS);
}

static bool take_word(parser *in, const char *word)
{
    const size_t n = name_length(in->at);
    if (n != strlen(word) || strncasecmp(in->at, word, n) != 0) return false;
    in->at += n;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int read_settings(spec_config_node *group, parser *in);
static int read_elements(spec_config_node *list, parser *in, const char *end);

static int read_value(spec_config_node *node, parser *in)
{
    skip(in);
    const char c = *in->at;
    node->line = in->line;
    if (c == '"') {
        node->kind = SPEC_NODE_TEXT;
        return read_text(&node->text, in);
    }
    if (c == '[' || c == '(' || c == '{') {
        in->at++;
        node->kind = c == '[' ? SPEC_NODE_ARRAY : c == '(' ? SPEC_NODE_LIST : SPEC_NODE_GROUP;
        if (c != '{') return read_elements(node, in, c == '[' ? "]" : ")");
        const int status = read_settings(node, in);
        return status != GSL_SUCCESS   ? status
               : take(in, "}") != '\0' ? GSL_SUCCESS
                                       : fail(in, "syntax error");
    }
    node->kind = SPEC_NODE_BOOL;
    if (take_word(in, "true")) node->integer = 1;
    else if (!take_word(in, "false")) return read_number(node, in);
    return GSL_SUCCESS;
}

static int read_elements(spec_config_node *list, parser *in, const char *end)
{
    while (take(in, end) == '\0') {
        spec_config_node *element;
        int status = GSL_SUCCESS;
        if (list->n > 0 && take(in, ",") == '\0') return fail(in, "syntax error");
        if ((status = add_child(&element, in, list)) != GSL_SUCCESS) return status;
        if ((status = read_value(element, in)) != GSL_SUCCESS) return status;
        if (list->kind != SPEC_NODE_ARRAY) continue;
        if (element->kind >= SPEC_NODE_ARRAY) return fail(in, "syntax error");
        if (element->kind != list->child[0]->kind)
            return fail(in, "mismatched element type in array; write a mix of whole and other "
                            "numbers as a list (0.5, 1) or a string "
                            "\"0.5,1\"");
    }
    return GSL_SUCCESS;
}

/* Parses settings NAME = VALUE, each optionally followed by ; or , up to the first thing that is
 * not a name. */
static int read_settings(spec_config_node *group, parser *in)
{
    for (size_t n; skip(in), (n = name_length(in->at)) > 0;) {
        const int line = in->line;
        spec_config_node *setting;
        char *name = strndup(in->at, n);
        if (name == NULL) return spec_no_memory_for(in->error, in->path);
        const bool twice = spec_config_tree_member(group, name) != NULL;
        int status = twice ? fail(in, "duplicate setting name") : add_child(&setting, in, group);
        if (status != GSL_SUCCESS) {
            free(name);
            return status;
        }
        setting->name = name;
        in->at += n;
        if (take(in, "=:") == '\0') return fail(in, "syntax error");
        if ((status = read_value(setting, in)) != GSL_SUCCESS) return status;
        setting->line = line;
        (void)take(in, ";,");
    }
    return GSL_SUCCESS;
}

int spec_config_tree_parse(spec_config_node **ret_root, const char *text, const char *path,
                           spec_error *error)
{
    parser in = {.at = text, .path = path, .line = 1, .error = error};
    int status = GSL_SUCCESS;
    spec_config_node *root = *ret_root = calloc(1, sizeof *root);
    if (root == NULL) return spec_no_memory_for(in.error, in.path);
    *root = (spec_config_node){.kind = SPEC_NODE_GROUP, .line = 1};
    SPEC_TRY(read_settings(root, &in));
    if (*in.at != '\0') status = fail(&in, "syntax error");
done:
    if (status == GSL_SUCCESS) return status;
    spec_config_tree_free(root);
    *ret_root = NULL;
    return status;
}
