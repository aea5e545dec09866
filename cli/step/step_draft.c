/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/step/step_draft.h"

#include <math.h>

int spec_step_draft_depth(const spec_draft *draft, int node)
{
    int depth = 0;
    for (; node >= 0; node = draft->parent[node]) depth++;
    return depth;
}

/* Returns the product of the ratios target/draft of the first tokens of a chain, capped at 1 after
 * each token, or never. */
static double product(const spec_decoder *d, int node, bool capped)
{
    double reach = 1.0;
    for (int i = 0; i <= node; i++) {
        const int token = d->draft.token[i];
        reach = spec_verify_ratio(reach, d->target_row[i][token],
                                  spec_verify_drafted(&d->draft, i, token));
        if (capped) reach = fmin(reach, 1.0);
    }
    return reach;
}

/* Finds how a rule that judges a chain as one block caps its running product: its first decision
 * has that product as its probability. 0: there is no such product; 1: capped; 2: not capped. */
static int find_product(const spec_step_view *view)
{
    const spec_decoder *d = view->log->decoder;
    const int last = d->draft.n_nodes - 1;
    for (int i = 0; i < view->log->n && !d->draft.branches && last >= 0; i++) {
        const spec_told *told = &view->log->told[i];
        if (told->role != SPEC_ROLE_KEEP) continue;
        if (told->node != last || told->decision.den != 1.0) return 0;
        return product(d, last, true) == told->decision.num    ? 1
               : product(d, last, false) == told->decision.num ? 2
                                                               : 0;
    }
    return 0;
}

static const spec_told *draw_of(const spec_step_view *view, int node)
{
    for (int i = 0; i < view->log->n; i++)
        if (view->log->told[i].role == SPEC_ROLE_DRAFT && view->log->told[i].node == node)
            return &view->log->told[i];
    return NULL;
}

void spec_step_draft_write(FILE *out, const spec_step_view *view)
{
    const spec_decoder *d = view->log->decoder;
    const spec_draft *draft = &d->draft;
    const int kind = find_product(view);
    if (draft->n_nodes == 0) {
        fputs("\nNo draft token.\n", out);
        return;
    }
    const int indents = draft->branches ? 14 : 6; /* columns for the depths of a tree */
    fprintf(out, "\n%-*s%9s%9s%9s%s  chance\n", 7 + SPEC_STEP_NAME + indents, "Draft", "draft",
            "target", "ratio", kind > 0 ? "  product" : "");
    for (int i = 0; i < draft->n_nodes; i++) {
        char a[SPEC_STEP_NUMBER_SIZE], b[SPEC_STEP_NUMBER_SIZE], c[SPEC_STEP_NUMBER_SIZE];
        const int token = draft->token[i], deep = 2 * (spec_step_draft_depth(draft, i) - 1),
                  indent = !draft->branches ? 0
                           : deep < indents ? deep
                                            : indents;
        const double target = d->target_row[draft->parent[i] + 1][token];
        const double law = spec_draft_confidence(draft, i);
        const spec_told *draw = draw_of(view, i);
        fprintf(out, "  %4d %*s", i + 1, indent, "");
        spec_step_text_token(out, view, token);
        fprintf(out, "%*s%9s%9s%9s", indents - indent, "", spec_step_text_number(a, law),
                spec_step_text_number(b, target),
                draft->sampled[i] ? spec_step_text_number(c, target / law) : "");
        if (kind > 0) fprintf(out, "%9s", spec_step_text_number(c, product(d, i, kind == 1)));
        if (draw != NULL)
            fprintf(out, "  coin %.4g\n", draw->decision.coin);
        else
            fprintf(out, "  %s\n",
                    !draft->sampled[i]                     ? "chosen"
                    : draft->siblings == SPEC_SIBLINGS_HUB ? "hub"
                                                           : "common noise");
    }
    for (int i = 0; i < view->log->n; i++) {
        const spec_told *told = &view->log->told[i];
        if (told->role != SPEC_ROLE_DRAFT || told->node >= 0) continue;
        spec_step_line text = {.n = 0};
        spec_step_text_add_token(&text, view, told->decision.answer);
        spec_step_text_add(&text, ", coin %.4g: %s", told->decision.coin,
                           draft->siblings == SPEC_SIBLINGS_TAIL
                               ? "left out of the tree"
                               : "taken back by the length policy");
        spec_step_text_write(out, "drawn", &text);
    }
}
