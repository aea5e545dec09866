/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/step_rows.h"

#include "models/row.h"

#include <math.h>
#include <stdlib.h>

enum { BAR = 20 };

/* Writes a blank and a bar of `share` of BAR columns, filled in eighths; returns its columns, 0 for
 * an empty bar. */
static int write_bar(FILE *out, double share, bool utf8)
{
    static const char *const part[] = {"",       "\u258F", "\u258E", "\u258D",
                                       "\u258C", "\u258B", "\u258A", "\u2589"};
    const int eighths = (int)lround(share * 8.0 * BAR);
    const int whole = utf8 ? eighths / 8 : (eighths + 4) / 8, rest = utf8 ? eighths % 8 : 0;
    if (whole + rest == 0) return 0;
    fputc(' ', out);
    for (int i = 0; i < whole; i++) fputs(utf8 ? "\u2588" : "#", out);
    fputs(part[rest], out);
    return 1 + whole + (rest > 0);
}

/* Writes one token with its probabilities; draft NaN: the draft has no row. */
static void write_bars(FILE *out, const spec_step_view *view, const char *name, double draft,
                       double target, double largest)
{
    char buffer[SPEC_STEP_NUMBER_SIZE];
    fputs("  ", out);
    spec_step_text_name(out, name);
    if (!isnan(draft)) {
        fprintf(out, "%*s", SPEC_STEP_NUMBER, spec_step_text_number(buffer, draft));
        const int width = write_bar(out, draft / largest, view->names->utf8);
        fprintf(out, "%*s", BAR + 1 - width, "");
    }
    fprintf(out, "%*s", SPEC_STEP_NUMBER, spec_step_text_number(buffer, target));
    write_bar(out, target / largest, view->names->utf8);
    fputc('\n', out);
}

/* Fills ret_token (V) with the tokens to show at a position: all of a small vocabulary; else the
 * target's likeliest, the children, and the emitted one. */
static int choose(int *ret_token, const spec_step_view *view, int after, int emitted)
{
    const spec_decoder *d = view->log->decoder;
    const spec_draft *draft = &d->draft;
    const int V = draft->vocab;
    if (V <= view->top) {
        for (int i = 0; i < V; i++) ret_token[i] = i;
        return V;
    }
    int n = spec_row_largest(ret_token, view->top, d->target_row[after + 1], V);
    for (int i = after + 1; i <= draft->n_nodes; i++) {
        if (i < draft->n_nodes && draft->parent[i] != after) continue;
        const int token = i < draft->n_nodes ? draft->token[i] : emitted;
        bool known = false;
        for (int k = 0; k < n; k++) known = known || ret_token[k] == token;
        if (!known) ret_token[n++] = token;
    }
    return n;
}

/* Writes both models' rows at a position where the round emitted `emitted`. */
int spec_step_rows_write(FILE *out, const spec_step_view *view, int after, int emitted)
{
    const spec_decoder *d = view->log->decoder;
    const int child = spec_verify_child(&d->draft, after, after + 1), V = d->draft.vocab;
    const double *target = d->target_row[after + 1], *row = child >= 0 ? d->draft.row[child] : NULL;
    int *token = malloc((size_t)V * sizeof *token);
    double largest = 0.0, rest_draft = 1.0, rest_target = 1.0;
    if (token == NULL) return GSL_ENOMEM;
    const int n = choose(token, view, after, emitted);
    for (int i = 0; i < n; i++) {
        largest = fmax(largest, fmax(target[token[i]], row != NULL ? row[token[i]] : 0.0));
        rest_draft -= row != NULL ? row[token[i]] : 0.0;
        rest_target -= target[token[i]];
    }
    fprintf(out, "  %-*s", SPEC_STEP_NAME, "token");
    if (row != NULL) fprintf(out, "%*s %-*s", SPEC_STEP_NUMBER, "draft", BAR, "");
    fprintf(out, "%*s\n", SPEC_STEP_NUMBER, "target");
    for (int i = 0; i < n; i++) {
        char buffer[SPEC_TOKEN_NAME_SIZE];
        write_bars(out, view, spec_token_names_of(view->names, token[i], buffer),
                   row != NULL ? row[token[i]] : NAN, target[token[i]], largest);
    }
    if (n < V) {
        char name[32];
        snprintf(name, sizeof name, "%d others", V - n);
        write_bars(out, view, name, row != NULL ? fmax(rest_draft, 0.0) : NAN,
                   fmax(rest_target, 0.0), INFINITY);
    }
    free(token);
    return GSL_SUCCESS;
}
