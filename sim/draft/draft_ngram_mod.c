/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram-mod: llama.cpp's table of the token that last followed each hash of n tokens; all texts
 * share it. The hash of tokens x is the sum of x_i a^(n-i), modulo 2^bits. Nothing else is kept of
 * an n-gram, so n-grams with the same hash share an entry. A draft of fewer than n_min tokens is
 * dropped.
 *
 * As in llama.cpp, the prompt enters the table at the first draft of its text, and later tokens
 * once more than 32 of them, the last n included, have come. The table is cleared if more than 1/4
 * of it is in use after a prompt, and after five drafts in a row of which less than 1/4 was
 * accepted. The share counts what the table gave, up to m, even if K cuts it. */
#include "sim/draft/drafter.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_MAX = 256, BITS_MAX = 26, WAITING_MAX = 32, LOW_MAX = 5 };

typedef struct {
    int n, m, n_min, bits;
    int *next;    /* (2^bits) token after the n-grams of each hash; -1: free */
    size_t used;  /* entries of the table in use */
    int *window;  /* (n + m) the last n tokens, then the draft */
    bool begun;   /* the prompt of the text is in the table */
    size_t added; /* the first n-gram of the text that is not in the table */
    int given;    /* tokens of the last draft, before K cut it */
    int n_low;    /* number of drafts in a row with few accepted tokens */
} ngram_mod;

static void close(void *state)
{
    ngram_mod *s = state;
    free(s->next);
    free(s->window);
    free(s);
}

static void clear(ngram_mod *s)
{
    if (s->used > 0) memset(s->next, -1, ((size_t)1 << s->bits) * sizeof *s->next);
    s->used = 0;
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    ngram_mod *s = drafter->state = calloc(1, sizeof *s);
    if (s == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&s->n, settings, "n", 24, 1, N_MAX, error));
    SPEC_TRY(spec_settings_int(&s->m, settings, "m", 64, 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&s->n_min, settings, "n_min", 48, 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&s->bits, settings, "bits", 22, 1, BITS_MAX, error));
    s->next = malloc(((size_t)1 << s->bits) * sizeof *s->next);
    s->window = malloc((size_t)(s->n + s->m) * sizeof *s->window);
    if (s->next == NULL || s->window == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory for a table of 2^%d tokens", s->bits));
    s->used = 1;
    clear(s);
done:
    return status;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    ngram_mod *s = drafter->state;
    (void)error;
    if (all) {
        clear(s);
        s->n_low = 0;
    }
    s->begun = false;
    s->given = 0;
    return GSL_SUCCESS;
}

static int *entry(const ngram_mod *s, const int *token)
{
    uint64_t hash = 0;
    for (int i = 0; i < s->n; i++) hash = hash * UINT64_C(6364136223846793005) + (uint64_t)token[i];
    return &s->next[hash & (((uint64_t)1 << s->bits) - 1)];
}

static void add(ngram_mod *s, const int *context, size_t end)
{
    const size_t n = (size_t)s->n;
    for (size_t i = s->added; i + n < end; i++) {
        int *next = entry(s, context + i);
        s->used += *next < 0;
        *next = context[i + n];
    }
    s->added = end - n;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    ngram_mod *s = drafter->state;
    (void)chance, (void)error;
    const size_t earlier = n > 0 ? n - 1 : 0, length = (size_t)s->n; /* tokens before the last
                                                                      * one */
    s->given = 0;
    if (!s->begun) {
        s->begun = true;
        s->added = 0;
        if (earlier >= length) add(s, context, earlier);
        if (earlier >= length && 4 * s->used > (size_t)1 << s->bits) clear(s);
    }
    if (earlier < length) return GSL_SUCCESS;
    if (s->added + WAITING_MAX < earlier) add(s, context, earlier);
    memcpy(s->window, context + n - length, length * sizeof *s->window);
    int given = 0;
    for (; given < s->m; given++) {
        const int next = *entry(s, s->window + given);
        if (next < 0) break;
        s->window[s->n + given] = next;
    }
    if (given < s->m && given < s->n_min) return GSL_SUCCESS;
    s->given = given;
    for (int i = 0; i < given && spec_policy_go_on(policy, ret_draft, NULL); i++)
        spec_draft_append(ret_draft, s->window[s->n + i], i - 1, NULL, false);
    return GSL_SUCCESS;
}

static void observe(spec_drafter *drafter, const spec_draft *draft, const double *const *target_row,
                    const spec_round *round)
{
    ngram_mod *s = drafter->state;
    (void)target_row;
    if (s->given == 0 || draft->n_nodes == 0) return;
    s->n_low = 4 * round->n_accepted < s->given ? s->n_low + 1 : 0;
    if (s->n_low < LOW_MAX) return;
    clear(s);
    s->n_low = 0;
    s->added = 0;
}

const spec_drafter_kind spec_draft_ngram_mod = {
    .name = "ngram-mod",
    .usage = "ngram-mod?n=24&m=64&n_min=48&bits=22",
    .summary = "the token that last followed the hash of n tokens in any text, and so on for n_min "
               "to m tokens, as in llama.cpp (one-hot, no model)",
    .reference = "",
    .init = init,
    .free = close,
    .reset = reset,
    .observe = observe,
    .draft = draft,
};
