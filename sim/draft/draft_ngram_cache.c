/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram-cache: llama.cpp's lookup by counts. Each token is the most frequent one after the last 4
 * tokens in this text, or after the last 3, 2 or 1; failing that, the same in earlier texts, with
 * stricter thresholds; failing that, after the last 2 in the file `static`. In texts a count is
 * multiplied by 100 times its count in the file. If there are too few occurrences or the token's
 * share is too small, the next table is tried.
 *
 * As in llama.cpp, a text is counted in pieces, the prompt and the tokens of each round, and
 * n-grams that span two pieces are not counted; with joined=1 they are, as in its program
 * llama-lookup, which also keeps the counts of earlier texts. Here the counts cover up to `earlier`
 * tokens, and then start afresh. The file is text, not that program's counts. */
#include "sim/draft/drafter.h"

#include "models/token_file.h"
#include "sim/draft/index/successors.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = SPEC_SUCCESSORS_ORDER, STATIC_ORDER = 2, EARLIER_MAX = 1 << 24 };

/* The minimum occurrences of an n-gram and the minimum share of a token in percent, for n =
 * 1..4. */
typedef struct {
    int occurrences[ORDER], percent[ORDER];
} thresholds;

static const thresholds lax = {{2, 2, 1, 1}, {66, 50, 50, 50}};
static const thresholds strict = {{4, 3, 2, 2}, {75, 66, 66, 66}};

typedef struct {
    int joined, earlier;
    char *path; /* path of the file, or NULL */
    spec_successors text, texts, file;
    int counted; /* number of tokens of the text that are counted */
    int held;    /* number of tokens in `texts` */
} ngram_cache;

static void close(void *state)
{
    ngram_cache *s = state;
    free(s->path);
    spec_successors_free(&s->text);
    spec_successors_free(&s->texts);
    spec_successors_free(&s->file);
    free(s);
}

static int init(spec_drafter *drafter, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    ngram_cache *s = drafter->state = calloc(1, sizeof *s);
    if (s == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_settings_int(&s->joined, settings, "joined", 0, 0, 1, error));
    SPEC_TRY(spec_settings_int(&s->earlier, settings, "earlier", 0, 0, EARLIER_MAX, error));
    const char *path = spec_settings_text(settings, "static");
    if (path != NULL && (s->path = strdup(path)) == NULL)
        SPEC_TRY(spec_fail(error, GSL_ENOMEM, "out of memory"));
done:
    return status;
}

/* Counts the n-grams of at most `order` tokens within token[0..end) that end at `first` or later
 * and have a successor. */
static int count(spec_successors *counts, const int *token, int first, int end, int order,
                 spec_error *error)
{
    if (end - first > EARLIER_MAX)
        return spec_fail(error, GSL_EINVAL, "more than %d tokens are too many to count",
                         EARLIER_MAX);
    const int status = spec_successors_reserve(counts, (end - first) * order, error);
    if (status != GSL_SUCCESS) return status;
    for (int i = first > 1 ? first : 1; i < end; i++)
        for (int n = 1; n <= order && n <= i; n++)
            spec_successors_add(counts, token + i - n, n, token[i], 1);
    return GSL_SUCCESS;
}

static int open(spec_drafter *drafter, const spec_model *target, int K, spec_error *error)
{
    ngram_cache *s = drafter->state;
    int *token = NULL, n, status = GSL_SUCCESS;
    (void)K;
    if (s->path == NULL) return status;
    SPEC_TRY(spec_token_file_read(&token, &n, s->path, target, error));
    SPEC_TRY(count(&s->file, token, 0, n, STATIC_ORDER, error));
done:
    free(token);
    return status;
}

/* Adds the counts of the text that ends. */
static int learn(ngram_cache *s, spec_error *error)
{
    if (s->counted == 0 || s->counted > s->earlier) return GSL_SUCCESS;
    if (s->counted > s->earlier - s->held) {
        spec_successors_reset(&s->texts);
        s->held = 0;
    }
    const int status = spec_successors_reserve(&s->texts, s->text.n_successors, error);
    if (status != GSL_SUCCESS) return status;
    s->held += s->counted;
    for (int i = 0; i < s->text.n_successors; i++) {
        const spec_successor *next = &s->text.successor[i];
        const spec_successors_ngram *of = &s->text.ngram[next->ngram];
        spec_successors_add(&s->texts, of->token, of->n, next->token, next->count);
    }
    return GSL_SUCCESS;
}

static int reset(spec_drafter *drafter, bool all, spec_error *error)
{
    ngram_cache *s = drafter->state;
    int status = GSL_SUCCESS;
    if (all) {
        spec_successors_reset(&s->texts);
        s->held = 0;
    } else {
        status = learn(s, error);
    }
    spec_successors_reset(&s->text);
    s->counted = 0;
    return status;
}

/* Returns the token after the last 4 to 1 of n tokens, or -1. A token that follows the n-gram of
 * the file (if in_file >= 0) wins over all others that are no more frequent in the text. */
static int next_in(const spec_successors *counts, const spec_successors *file, int in_file,
                   const int *end, int n, const thresholds *least)
{
    for (int order = n < ORDER ? n : ORDER; order >= 1; order--) {
        const int found = spec_successors_find(counts, end - order, order);
        if (found < 0) continue;
        const spec_successors_ngram *of = &counts->ngram[found];
        const spec_successor *best = &counts->successor[of->best];
        int token = best->token, times = best->count;
        double most = 0.0;
        for (int i = in_file >= 0 ? file->ngram[in_file].head : -1; i >= 0;
             i = file->successor[i].next) {
            const int here = spec_successors_count(counts, found, file->successor[i].token);
            const double weight = (double)here * 100.0 * (double)file->successor[i].count;
            if (!(weight > most) || !(weight > (double)best->count)) continue;
            most = weight;
            token = file->successor[i].token;
            times = here;
        }
        if (of->sum >= least->occurrences[order - 1] &&
            100L * times >= (long)least->percent[order - 1] * of->sum)
            return token;
    }
    return -1;
}

static int next_in_file(const spec_successors *file, int in_file)
{
    if (in_file < 0) return -1;
    const spec_successors_ngram *of = &file->ngram[in_file];
    const spec_successor *best = &file->successor[of->best];
    const int at = STATIC_ORDER - 1;
    return of->sum >= lax.occurrences[at] && 100L * best->count >= (long)lax.percent[at] * of->sum
               ? best->token
               : -1;
}

static int draft(spec_draft *ret_draft, spec_drafter *drafter, const int *context, size_t n,
                 const spec_policy *policy, spec_chance *chance, spec_error *error)
{
    ngram_cache *s = drafter->state;
    (void)chance;
    if (n > INT_MAX) return spec_fail(error, GSL_EINVAL, "a text of 2^31 tokens is too long");
    const int length = (int)n, from = s->counted;
    const int status = s->joined ? count(&s->text, context, from, length, ORDER, error)
                                 : count(&s->text, context + from, 0, length - from, ORDER, error);
    if (status != GSL_SUCCESS) return status;
    s->counted = length;
    if (length < STATIC_ORDER) return status;

    int window[ORDER + SPEC_K_MAX], known = length < ORDER ? length : ORDER;
    memcpy(window, context + length - known, (size_t)known * sizeof *window);
    while (spec_policy_go_on(policy, ret_draft, NULL)) {
        const int *end = window + known;
        const int in_file = spec_successors_find(&s->file, end - STATIC_ORDER, STATIC_ORDER);
        int token = next_in(&s->text, &s->file, in_file, end, known, &lax);
        if (token < 0) token = next_in(&s->texts, &s->file, in_file, end, known, &strict);
        if (token < 0) token = next_in_file(&s->file, in_file);
        if (token < 0) break;
        spec_draft_append(ret_draft, token, ret_draft->n_nodes - 1, NULL, false);
        window[known++] = token;
    }
    return status;
}

const spec_drafter_kind spec_draft_ngram_cache = {
    .name = "ngram-cache",
    .usage = "ngram-cache?static=PATH&joined=0&earlier=0",
    .summary = "the tokens most frequent after the last 4 to 1 in this text, in earlier texts or "
               "in a file, if they are frequent enough, as in llama.cpp (one-hot, no model)",
    .reference = "",
    .init = init,
    .free = close,
    .open = open,
    .reset = reset,
    .draft = draft,
};
