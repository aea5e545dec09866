/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Greedy texts of transformers on the GPU (or the simulated one). Speculation changes no token
 * there either, for any rule, strategy, K, draft and its device, and type of weights. They equal
 * the processor's texts. */
#include "models/model_open.h"
#include "sim/decode.h"
#include "tests/support/contexts.h"
#include "tests/support/model_of.h"
#include "tests/support/simulated_card.h"
#include "tests/support/support.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { TOKENS = 10, LONG = 24, TYPES = 5, DRAFTS = 5 };

#define SHAPE "dim=32&layers=2&heads=2&kv_heads=1&ffn=32&vocab=23&context=64&"
static const char *const types[TYPES] = {"f32", "f16", "bf16", "q8_0", "q4_0"};

/* Decodes the text of a model at temperature 0, one row at a time. */
static void plain_text(int *text, int n, const spec_model *model)
{
    OWNED(spec_session) session;
    spec_error error = {""};
    FREED double *scratch = malloc((size_t)model->vocab * sizeof *scratch);
    assert_non_null(scratch);
    assert_works(spec_session_init(&session, model, &error));
    for (int i = 0; i < n; i++) {
        const double *row = spec_session_row(&session, text, (size_t)i, scratch, &error);
        if (row == NULL) fail_msg("%s", error.text);
        for (text[i] = 0; row[text[i]] == 0.0;) text[i]++;
        assert_true(row[text[i]] == 1.0);
    }
}

/* ---- speculation ----------------------------------------------------------------------------- */

typedef struct {
    spec_model *target, *draft[DRAFTS];
    int text[TOKENS];
    uint64_t accepted, tokens;
} greedy;

/* The drafts: layers of the target in the target's KV cache; all of its weights again, on the GPU
 * and beside it; other models, on the GPU and on the host. */
static void open_greedy(greedy *g, int type)
{
    char target[200], here[200], there[200];
    snprintf(target, sizeof target, "random?" SHAPE "seed=1&temperature=0&device=gpu&type=%s",
             types[type]);
    snprintf(here, sizeof here, "random?" SHAPE "seed=1&type=%s&device=cpu",
             types[(type + 1) % TYPES]);
    snprintf(there, sizeof there, "random?" SHAPE "seed=1&type=%s&device=gpu&kv=%s",
             types[(type + 2) % TYPES], type % 2 == 0 ? "bf16" : "f32");
    const char *const draft[DRAFTS] = {"layers?of=target&skip=0f", here,
                                       "quantised?of=target&type=q4_0", there,
                                       "quantised?of=target&type=q8_0&device=cpu"};
    *g = (greedy){.target = model_of(target, NULL)};
    for (int i = 0; i < DRAFTS; i++) g->draft[i] = model_of(draft[i], g->target);
    plain_text(g->text, TOKENS, g->target);
}

static void greedy_free(greedy *g)
{
    for (int i = 0; i < DRAFTS; i++) spec_model_close(g->draft[i]);
    spec_model_close(g->target);
}

/* Decodes one text; returns false if the decoder refuses the rule with this strategy. */
static bool same_text(greedy *g, const char *rule, const char *drafting, int draft, int K,
                      spec_chance *chance)
{
    const spec_decoder_config config = {.target = g->target,
                                        .opt_draft = g->draft[draft],
                                        .drafting = drafting,
                                        .policy = "fixed",
                                        .rule = rule,
                                        .K = K,
                                        .costs = SPEC_COSTS_DEFAULT};
    spec_decoder decoder;
    spec_error error = {""};
    spec_tally tally = {0};
    int token[TOKENS];
    size_t n;
    if (spec_decoder_init(&decoder, &config, &error) != GSL_SUCCESS) return false;
    assert_works(spec_decoder_reset(&decoder, NULL, 0, &error));
    assert_works(spec_decode(&decoder, TOKENS, token, &n, chance, &tally, &error));
    if (n != TOKENS || memcmp(token, g->text, sizeof token) != 0)
        fail_msg("another text: %s of %s, rule %s, %s, K = %d", g->draft[draft]->spec,
                 g->target->spec, rule, drafting, K);
    g->accepted += tally.accepted;
    g->tokens += n;
    spec_decoder_free(&decoder);
    return true;
}

static const char *const draftings[] = {
    "chain", "greedy", "lookup", "tree?n=2&siblings=iid", "tree?widths=3.1.2.1&siblings=top",
    "dynamic?top=3&nodes=12&depth=4", "tree?n=2&siblings=without",
};
enum { DRAFTINGS = sizeof draftings / sizeof *draftings };

TEST(speculation_changes_no_token, SLOW)
{
    static const int lengths[] = {1, 2, 3, 5};
    greedy all[TYPES];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    spec_chance chance = spec_chance_sampled(rng);
    uint64_t accepted = 0, tokens = 0;
    int held = 0, turn = 0;
    for (int t = 0; t < TYPES; t++) open_greedy(&all[t], t);
    for (int i = 0; spec_rules[i] != NULL; i++) {
        const spec_rule *rule = spec_rules[i];
        if (rule->claim != SPEC_LOSSLESS && rule->claim != SPEC_LOSSLESS_ARGMAX) continue;
        for (int d = 0; d < DRAFTINGS; d++, turn++)
            held += same_text(&all[turn % TYPES], rule->name, draftings[d], turn / 2 % DRAFTS,
                              lengths[turn / 3 % 4], &chance);
    }
    for (int t = 0; t < TYPES; t++) {
        accepted += all[t].accepted;
        tokens += all[t].tokens;
        greedy_free(&all[t]);
    }
    printf("%d rules with strategies, %llu tokens, %.2f of them accepted drafts\n", held,
           (unsigned long long)tokens, (double)accepted / (double)tokens);
    assert_true(held >= 50 && accepted > tokens / 5);
}

/* ---- texts of both devices ------------------------------------------------------------------- */

/* Returns the distance of the best logit of the processor's row from the next one, over the spread
 * of all. */
static double gap_of(const double *row, int vocab)
{
    double best = -INFINITY, next = -INFINITY, mean = 0.0, spread = 0.0;
    for (int i = 0; i < vocab; i++) {
        const double logit = log(fmax(row[i], 1e-300));
        mean += logit / vocab;
        if (logit > best) next = best, best = logit;
        else if (logit > next) next = logit;
    }
    for (int i = 0; i < vocab; i++) spread += pow(log(fmax(row[i], 1e-300)) - mean, 2.0) / vocab;
    return (best - next) / sqrt(spread);
}

/* The GPU's text equals the processor's up to a near tie: two best logits nearer than six times the
 * error of the type's logits (tests/models/gpu/test_transformer_gpu.c). Returns the number of equal
 * tokens. */
static int same_on_both(const char *spec, int n, double off)
{
    char name[1300];
    int text[2][LONG], same = 0;
    for (int device = 0; device < 2; device++) {
        snprintf(name, sizeof name, "%s&temperature=0&device=%s", spec,
                 device == 0 ? "cpu" : "gpu");
        OWNED_MODEL *model = model_of(name, NULL);
        plain_text(text[device], n, model);
    }
    while (same < n && text[0][same] == text[1][same]) same++;
    if (same == n) return n;
    OWNED_MODEL *model = model_of(spec, NULL);
    OWNED(spec_session) session;
    spec_error error;
    FREED double *scratch = malloc((size_t)model->vocab * sizeof *scratch);
    assert_works(spec_session_init(&session, model, &error));
    const double gap =
        gap_of(spec_session_row(&session, text[0], (size_t)same, scratch, &error), model->vocab);
    printf("%s: the same up to token %d of %d, where the best two logits are %.1e of the spread "
           "apart\n",
           spec, same, n, gap);
    assert_true(gap < 6.0 * off);
    return same;
}

static const double off_by[TYPES] = {3e-6, 2e-2, 2e-2, 6e-2, 6e-2};

TEST(greedy_texts_are_the_processors, SLOW)
{
    for (int t = 0; t < TYPES; t++) {
        int same = 0, n = 0;
        for (int seed = 1; seed <= (t == 0 ? 3 : 2); seed++, n += LONG) {
            char spec[200];
            snprintf(spec, sizeof spec, "random?" SHAPE "seed=%d&type=%s", seed + 1, types[t]);
            const int alike = same_on_both(spec, LONG, off_by[t]);
            if (t == 0) assert_int_equal(alike, LONG);
            same += alike;
        }
        printf("%s: %d of %d tokens before the texts part\n", types[t], same, n);
    }
}

TEST(stories_are_the_processors, SLOW)
{
    static const char *const files[] = {"stories260K/stories260K.bin", "babyllama/target.bin"};
    for (int f = 0; f < 2; f++) {
        char path[1024], spec[1200];
        spec_test_data(path, sizeof path, files[f]);
        snprintf(spec, sizeof spec, "llama2c:%s?context=64", path);
        assert_int_equal(same_on_both(spec, LONG, off_by[0]), LONG);
    }
}

/* Kernels whose threads and blocks run in another order write the same values. */
TEST(the_order_of_threads_is_no_matter)
{
    if (spec_card_is_real()) skip();
    static const char *const orders[] = {"forward", "reverse", "shuffled"};
    const char *const before = getenv("SIM_ORDER");
    char old[32] = "";
    if (before != NULL) snprintf(old, sizeof old, "%s", before);
    for (int t = 0; t < TYPES; t += 2) {
        char spec[200];
        int text[3][TOKENS];
        snprintf(spec, sizeof spec, "random?" SHAPE "seed=2&temperature=0&device=gpu&type=%s",
                 types[t]);
        OWNED_MODEL *model = model_of(spec, NULL);
        for (int o = 0; o < 3; o++) {
            setenv("SIM_ORDER", orders[o], 1);
            plain_text(text[o], TOKENS, model);
            assert_memory_equal(text[0], text[o], sizeof text[0]);
        }
    }
    if (before != NULL) setenv("SIM_ORDER", old, 1);
    else unsetenv("SIM_ORDER");
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct {
    greedy *g;
    int draft;
    bool same;
} decoding;

static void *decode_twice(void *data)
{
    decoding *job = data;
    OWNED_RNG *rng = gsl_rng_alloc(gsl_rng_taus2);
    spec_chance chance = spec_chance_sampled(rng);
    for (int i = 0; i < 2; i++)
        job->same = same_text(job->g, "token", "chain", job->draft, 2 + i, &chance);
    return NULL;
}

TEST(threads_with_sessions_of_their_own_do_not_meet)
{
    enum { THREADS = 3 };
    greedy g[THREADS];
    open_greedy(&g[0], 3);
    pthread_t thread[THREADS];
    decoding job[THREADS];
    for (int i = 0; i < THREADS; i++) {
        g[i] = g[0];
        job[i] = (decoding){&g[i], i, false};
        assert_int_equal(pthread_create(&thread[i], NULL, decode_twice, &job[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(job[i].same);
    }
    greedy_free(&g[0]);
}

SUITE(SIMULATOR);
