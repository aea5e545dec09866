/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/step_page.h"

#include "cli/step/step_draft.h"
#include "cli/step/step_rows.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 16 }; /* maximum tokens of a residual */

/* ---- decisions ------------------------------------------------------------------------------- */

/* Adds, e.g., "0.2/0.3 = 0.667, coin 0.7: rejected". */
static void add_accept(spec_step_line *to, const spec_decision *d, const char *yes, const char *no)
{
    spec_step_text_add(to, "%.3g/%.3g", d->num, d->den);
    if (d->den > 0.0) spec_step_text_add(to, " = %.3g", d->num / d->den);
    if (!isnan(d->coin)) spec_step_text_add(to, ", coin %.4g", d->coin);
    spec_step_text_add(to, ": %s", d->answer == 1 ? yes : no);
}

static void write_test(FILE *out, const spec_step_view *view, const spec_told *told)
{
    const spec_decoder *decoder = view->log->decoder;
    const spec_draft *draft = &decoder->draft;
    const spec_decision *d = &told->decision;
    spec_step_line text = {.n = 0};
    if (told->node < 0) {
        spec_step_text_add(&text, "the selected sibling");
    } else {
        const int token = draft->token[told->node];
        const double *law = draft->sampled[told->node] ? draft->row[told->node] : NULL;
        spec_step_text_add_token(&text, view, token);
        if (draft->branches) spec_step_text_add(&text, " (%d)", told->node + 1);
        if (d->num == decoder->target_row[told->after + 1][token] &&
            d->den == (law != NULL ? law[token] : 1.0))
            spec_step_text_add(&text, ": target/draft =");
        else
            spec_step_text_add(&text, ":");
    }
    spec_step_text_add(&text, " ");
    add_accept(&text, d, "accepted", "rejected");
    spec_step_text_write(out, "test", &text);
}

/* Writes the normalised residual of a pick; `from` is its first token. */
static void write_residual(FILE *out, const spec_step_view *view, const spec_decision *d, int from)
{
    const double sum = spec_row_sum(d->weight, d->n);
    const bool all = d->n <= view->top && d->n <= TOKENS;
    int shown[TOKENS], n = d->n, positive = 0;
    spec_step_line text = {.n = 0};
    if (!all) n = spec_row_largest(shown, view->top < TOKENS ? view->top : TOKENS, d->weight, d->n);
    for (int i = 0; i < d->n; i++) positive += d->weight[i] > 0.0;
    spec_step_text_add(&text, "sum %.3g, normalised:", sum);
    for (int i = 0; i < n; i++) {
        const int token = all ? i : shown[i];
        if (!all && !(d->weight[token] > 0.0)) continue;
        spec_step_text_add(&text, "%s ", i > 0 ? "," : "");
        spec_step_text_add_token(&text, view, from + token);
        spec_step_text_add(&text, " %.3g", d->weight[token] / sum);
    }
    if (!all && positive > n) spec_step_text_add(&text, " and %d more", positive - n);
    spec_step_text_write(out, "residual", &text);
}

static void write_pick(FILE *out, const spec_step_view *view, const spec_told *told, int from)
{
    const spec_decoder *decoder = view->log->decoder;
    const spec_decision *d = &told->decision;
    const double *target = decoder->target_row[told->after + 1];
    const bool whole = d->n == decoder->draft.vocab &&
                       memcmp(d->weight, target, (size_t)d->n * sizeof *target) == 0;
    spec_step_line text = {.n = 0};
    if (!whole) write_residual(out, view, d, from);
    spec_step_text_add_token(&text, view, from + d->answer);
    spec_step_text_add(&text, ", coin %.4g in the %s", d->coin,
                       whole ? "target's row" : "residual");
    if (told->role == SPEC_ROLE_TARGET) {
        bool guessed = false;
        for (int i = told->after + 1; (i = spec_verify_child(&decoder->draft, told->after, i)) >= 0;
             i++)
            guessed = guessed || decoder->draft.token[i] == d->answer;
        spec_step_text_add(&text, guessed ? ": a draft token" : ": not a draft token");
    }
    spec_step_text_write(out, spec_role_names[told->role], &text);
}

static void write_keep(FILE *out, const spec_step_view *view, const spec_told *told)
{
    const spec_draft *draft = &view->log->decoder->draft;
    spec_step_line text = {.n = 0};
    if (told->node < 0)
        spec_step_text_add(&text, "no draft token: ");
    else if (draft->branches)
        spec_step_text_add(&text, "the path to %d: ", told->node + 1);
    else
        spec_step_text_add(&text, "%d of %d: ", spec_step_draft_depth(draft, told->node),
                           draft->n_nodes);
    add_accept(&text, &told->decision, "kept", "not kept");
    spec_step_text_write(out, "keep", &text);
}

static void write_other(FILE *out, const spec_told *told)
{
    const spec_decision *d = &told->decision;
    spec_step_line text = {.n = 0};
    if (d->accepts)
        add_accept(&text, d, "yes", "no");
    else
        spec_step_text_add(&text, "number %d of %d, coin %.4g", d->answer + 1, d->n, d->coin);
    spec_step_text_write(out, told->role == SPEC_ROLE_SELECT ? "select" : "step", &text);
}

/* Writes the rule's decisions before a position (KEEP and OTHER), or at it. Returns their
 * number. */
static int write_decisions(FILE *out, const spec_step_view *view, bool before, int after)
{
    int n = 0, from = 0;
    for (int i = 0; i < view->log->n; i++) {
        const spec_told *told = &view->log->told[i];
        const bool early = told->role == SPEC_ROLE_KEEP || told->role == SPEC_ROLE_OTHER;
        if (told->role == SPEC_ROLE_DRAFT || early != before || (!early && told->after != after))
            continue;
        if (n == 0 && before) fputs("\nVerification\n", out);
        n++;
        if (told->role == SPEC_ROLE_KEEP)
            write_keep(out, view, told);
        else if (told->role == SPEC_ROLE_TEST)
            write_test(out, view, told);
        else if (told->role == SPEC_ROLE_BLOCK) {
            spec_step_line text = {.n = 0};
            from = SPEC_RESIDUAL_BLOCK * told->decision.answer;
            spec_step_text_add(&text, "sum %.3g; the block of tokens from %d on, coin %.4g",
                               spec_row_sum(told->decision.weight, told->decision.n), from,
                               told->decision.coin);
            spec_step_text_write(out, "residual", &text);
        } else if (told->role >= SPEC_ROLE_CORRECTION)
            write_pick(out, view, told, from);
        else
            write_other(out, told);
    }
    return n;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int write_position(FILE *out, const spec_step_view *view, int depth)
{
    const spec_decoder *d = view->log->decoder;
    const spec_round *round = &d->round;
    const int after = depth > 0 ? round->node[depth - 1] : -1;
    fprintf(out, "\nPosition %d\n", depth + 1);
    const int status = spec_step_rows_write(out, view, after, round->token[depth]);
    if (status != GSL_SUCCESS) return status;
    if (write_decisions(out, view, false, after) > 0) return status;
    spec_step_line text = {.n = 0};
    spec_step_text_add_token(&text, view, round->token[depth]);
    spec_step_text_add(&text, ", without a random decision of its own");
    spec_step_text_write(out, depth < round->n_accepted ? "accepted" : "emitted", &text);
    return status;
}

int spec_step_page_round(FILE *out, const spec_step_view *view, int number, spec_error *error)
{
    const spec_decoder *d = view->log->decoder;
    const spec_round *round = &d->round;
    const size_t before = d->n_context - (size_t)round->n_emitted;
    int status = GSL_SUCCESS;
    fprintf(out, "Round %d, after %zu token%s\n", number, before, before == 1 ? "" : "s");
    spec_step_draft_write(out, view);
    const bool early = write_decisions(out, view, true, 0) > 0;
    for (int depth = early ? round->n_accepted : 0; depth <= round->n_accepted; depth++)
        if ((status = write_position(out, view, depth)) != GSL_SUCCESS)
            return spec_no_memory(error);

    spec_step_line text = {.n = 0};
    for (int i = 0; i < round->n_emitted; i++) {
        spec_step_text_add(&text, i > 0 ? " " : "");
        spec_step_text_add_token(&text, view, round->token[i]);
    }
    const int last = round->n_accepted > 0 ? round->node[round->n_accepted - 1] : -1;
    spec_step_text_add(&text, ": %d accepted and a %s", round->n_accepted,
                       spec_verify_child(&d->draft, last, last + 1) < 0 ? "bonus" : "correction");
    fputc('\n', out);
    spec_step_text_write(out, "emitted", &text);
    return status;
}

static void write_law(FILE *out, const spec_step_view *view, const char *label, const double *law,
                      int n)
{
    spec_step_line text = {.n = 0};
    for (int i = 0; i < n; i++) {
        spec_step_text_add(&text, i > 0 ? ", " : "");
        spec_step_text_add_token(&text, view, i);
        spec_step_text_add(&text, " %.6g", law[i]);
    }
    spec_step_text_write(out, label, &text);
}

void spec_step_page_law(FILE *out, const spec_step_view *view, const spec_output_law *law)
{
    const bool argmax = view->log->decoder->rule.claim == SPEC_LOSSLESS_ARGMAX;
    const bool same = law->tv < 1e-12;
    fprintf(out,
            "\n"
            "The exact distribution of the first token, over all %llu branches of the round\n",
            (unsigned long long)law->branches);
    if ((int)law->size <= view->top) {
        write_law(out, view, "output", law->law, (int)law->size);
        write_law(out, view, argmax ? "argmax" : "target", law->target_law, (int)law->size);
    }
    fprintf(out, "  %-*stotal variation %.2g: %s\n", SPEC_STEP_LABEL, "distance",
            same ? 0.0 : law->tv, same ? "the same distribution" : "another distribution");
}
