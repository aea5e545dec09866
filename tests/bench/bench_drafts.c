/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/input_file.h"
#include "models/model_open.h"
#include "sim/draft/drafter.h"
#include "tests/bench/bench.h"
#include "tests/support/contexts.h"

#include <stdlib.h>
#include <string.h>

/* The text consists of bytes, and a draft is made after every second one. */
enum { V = 256, K = 5, TEXT = 4096, PROMPT = 64, STEP = 2 };

static const char prose[] = "experiments/text/prose.txt";

typedef struct {
    spec_model *target;
    spec_drafter drafter;
    spec_draft draft;
    spec_policy policy;
    int text[TEXT];
    size_t n;
    double row[V];
    const double *target_row[SPEC_NODES_MAX + 1];
} writer;

static void close_writer(void *state)
{
    writer *w = state;
    spec_drafter_free(&w->drafter);
    spec_draft_free(&w->draft);
    spec_model_close(w->target);
    free(w);
}

/* The text is the end of the prose text. */
static int read_text(writer *w)
{
    static const spec_input_limit limit = {"a text", 1 << 24};
    char *bytes = NULL;
    size_t n = 0;
    const int status = spec_input_file_read(&bytes, &n, prose, &limit, NULL);
    if (status == GSL_SUCCESS && n >= TEXT)
        for (int i = 0; i < TEXT; i++) w->text[i] = (unsigned char)bytes[n - TEXT + (size_t)i];
    free(bytes);
    return status == GSL_SUCCESS && n < TEXT ? GSL_EINVAL : status;
}

static const char *open_writer(void **ret_state, const void *setup)
{
    int status = GSL_SUCCESS;
    writer *w = calloc(1, sizeof *w);
    if (w == NULL) return "no memory";
    for (int i = 0; i < V; i++) w->row[i] = (1 + i * 37 % V) / (V * (V + 1) / 2.0);
    for (int i = 0; i <= SPEC_NODES_MAX; i++) w->target_row[i] = w->row;
    SPEC_TRY(read_text(w));
    SPEC_TRY(spec_model_open(&w->target, "ngram:experiments/text/prose.txt?tokens=bytes&order=1",
                             NULL, spec_test_context(0), NULL));
    SPEC_TRY(spec_policy_init(&w->policy, "fixed", K, NULL));
    SPEC_TRY(spec_drafter_init(&w->drafter, setup, NULL, NULL));
    SPEC_TRY(spec_drafter_open(&w->drafter, w->target, K, NULL));
    status = spec_draft_init(&w->draft, spec_drafter_nodes(&w->drafter, K), V, NULL);
done:
    if (status == GSL_SUCCESS) {
        *ret_state = w;
        return NULL;
    }
    close_writer(w);
    return "the strategy could not be opened";
}

static uint64_t run_writer(void *state, uint64_t n)
{
    writer *w = state;
    const spec_round round = {.n_accepted = STEP - 1, .n_emitted = STEP};
    for (uint64_t i = 0; i < n; i++, w->n += STEP) {
        if (w->n == 0 || w->n > TEXT) {
            w->n = PROMPT;
            if (spec_drafter_reset(&w->drafter, true, NULL) != GSL_SUCCESS) return 0;
        }
        if (spec_drafter_draft(&w->draft, &w->drafter, w->text, w->n, &w->policy, NULL, NULL) !=
            GSL_SUCCESS)
            return 0;
        spec_drafter_observe(&w->drafter, &w->draft, w->target_row, &round);
    }
    return n;
}

#define DRAFT(name, of)                                                                            \
    .work = "draft, " name, .unit = "drafts", .init = open_writer, .run = run_writer,              \
    .free = close_writer, .setup = of

const spec_bench_row spec_bench_drafts[] = {
    {DRAFT("lookup", "lookup")},
    {DRAFT("lookahead", "lookahead"), .yardstick = "row:draft, lookup"},
    {DRAFT("recycle", "recycle"), .yardstick = "row:draft, lookup"},
    {DRAFT("suffix", "suffix"), .yardstick = "row:draft, lookup"},
    {DRAFT("ngram-simple", "ngram-simple?n=3&m=5"), .yardstick = "row:draft, lookup"},
    {DRAFT("ngram-map-k", "ngram-map-k?n=3&m=5"), .yardstick = "row:draft, lookup"},
    {DRAFT("ngram-map-k4v", "ngram-map-k4v?n=3&m=5"), .yardstick = "row:draft, lookup"},
    {DRAFT("ngram-mod", "ngram-mod?n=4&m=5&n_min=1"), .yardstick = "row:draft, lookup"},
    {DRAFT("ngram-cache", "ngram-cache?joined=1"), .yardstick = "row:draft, lookup"},
    {DRAFT("trie", "trie"), .yardstick = "row:draft, lookup"},
    {DRAFT("trie, by frequency", "trie?order=frequency"), .yardstick = "row:draft, lookup"},
    {DRAFT("rest, a chain", "rest:experiments/text/prose.txt?width=1"),
     .yardstick = "row:draft, lookup"},
    {DRAFT("rest", "rest:experiments/text/prose.txt"), .yardstick = "row:draft, lookup"},
    {.work = NULL},
};
