/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram-simple: llama.cpp's copy of at most m tokens from the latest earlier occurrence of the last
 * n. As in llama.cpp, the occurrence ends before the text's last two tokens, and the last one is
 * not copied. An occurrence at the text's beginning does not count. It never drafts fewer than n
 * tokens, nor in a text of at most n + m + 2 tokens. */
#include "sim/draft/drafter.h"

#include "sim/draft/index/ngram_index.h"

#include <stdlib.h>

enum { N_MAX = 64 };

typedef struct {
    int n, m;
    spec_ngram_index text;
} ngram_simple;

static void close(void *state)
{
    ngram_simple *s = state;
    spec_ngram_index_free(&s->text);
    free(s);
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    ngram_simple *s = drafter->state = calloc(1, sizeof *s);
    if (s == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&s->n, settings, "n", 12, 1, N_MAX, error));
    SPEC_TRY(spec_settings_int(&s->m, settings, "m", 48, 1, SPEC_K_MAX, error));
    spec_ngram_index_init(&s->text, s->n);
done:
    return status;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    (void)all, (void)error;
    spec_ngram_index_reset(&((ngram_simple *)drafter->state)->text);
    return GSL_SUCCESS;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    ngram_simple *s = drafter->state;
    (void)chance;
    const int status = spec_ngram_index_follow(&s->text, context, n, error);
    const int earlier = (int)n - 1; /* tokens before the last one */
    if (status != GSL_SUCCESS || earlier <= s->n + s->m + 1) return status;
    int at = s->text.before[earlier + 1 - s->n];
    while (at > earlier - s->n - 1) at = s->text.before[at];
    const int from = at + s->n;
    if (at <= 0 || earlier - from < s->n || s->m < s->n) return status;
    for (int i = from; i < earlier && i < from + s->m; i++) {
        if (!spec_policy_go_on(policy, ret_draft, NULL)) break;
        spec_draft_append(ret_draft, context[i], ret_draft->n_nodes - 1, NULL, false);
    }
    return status;
}

const spec_drafter_kind spec_draft_ngram_simple = {
    .name = "ngram-simple",
    .usage = "ngram-simple?n=12&m=48",
    .summary = "what followed the last n tokens where they last occurred, n to m tokens, as in "
               "llama.cpp (one-hot, no model)",
    .reference = "",
    .init = init,
    .free = close,
    .reset = reset,
    .draft = draft,
};
