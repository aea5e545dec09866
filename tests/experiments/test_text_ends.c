/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every code path that writes or follows texts ends them at each of a model's three end tokens. The
 * models watch it themselves: no path may ask for a row after an end. */
#include "experiments/generation.h"
#include "experiments/measures/rank_acceptance.h"
#include "experiments/measures/text_law.h"
#include "experiments/measures/trajectory.h"
#include "experiments/rows_make.h"
#include "models/model_open.h"
#include "sim/chance/rng.h"
#include "sim/montecarlo.h"
#include "sim/output_law.h"
#include "sim/sources.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"
#include "tools/bench/timing_prompts.h"

#include <string.h>
#include <unistd.h>

enum { V = 6, ENDS = 3, TEXTS = 200, DEVICE_TEXTS = 30, TOKENS = 40 };
static const spec_text_ends ends = {ENDS, {3, 4, 5}};
static const double target_row[V] = {0.25, 0.2, 0.25, 0.1, 0.1, 0.1},
                    draft_row[V] = {0.2, 0.2, 0.15, 0.1, 0.1, 0.25}; /* an end is the best guess */

/* ---- models that watch their contexts -------------------------------------------------------- */

typedef struct {
    spec_model head;
    const double *law;
    bool is_draft;
    _Atomic int *behind; /* requests for a row after an end */
} watching;

static void watch(const watching *model, const int *token, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (token[i] >= V - ENDS) ++*model->behind;
}

static const double *row(const spec_model *head, void *session, const int *context, size_t n,
                         double *scratch, spec_error *error)
{
    const watching *model = (const watching *)head;
    (void)session, (void)error;
    watch(model, context, n);
    memcpy(scratch, model->law, V * sizeof *scratch);
    return scratch;
}

/* The target scores whole drafts, so it also reads the row after an end that was drafted. A draft
 * model is not asked to continue after one. */
static int score(const spec_model *head, void *session, const spec_score_request *request,
                 spec_error *error)
{
    const watching *model = (const watching *)head;
    watch(model, request->context, request->n_context);
    for (int i = 0; model->is_draft && i < request->n_nodes; i++)
        if (request->opt_parent == NULL || request->opt_parent[i] >= 0)
            watch(model,
                  request->token + (request->opt_parent == NULL ? i : request->opt_parent[i]), 1);
    for (int i = request->first; i <= request->n_nodes; i++)
        request->ret_row[i] = row(head, session, NULL, 0, request->scratch + i * V, error);
    return GSL_SUCCESS;
}

static size_t spell(const spec_model *model, int token, char *buffer, size_t size)
{
    (void)model;
    return (size_t)snprintf(buffer, size, "%c", 'a' + token);
}

static size_t read_text(const spec_model *model, const char *text, size_t length, int *token,
                        size_t capacity)
{
    (void)model;
    for (size_t i = 0; i < length && i < capacity; i++) token[i] = text[i] - 'a';
    return length;
}

static const spec_model_kind kind = {.name = "watching",
                                     .usage = "watching",
                                     .summary = "",
                                     .reference = "",
                                     .row = row,
                                     .score = score,
                                     .token_text = spell,
                                     .tokenize = read_text};

typedef struct {
    watching target, draft;
    spec_decoder_config config;
    _Atomic int behind;
    spec_error error;
} pair;

static void pair_init(pair *p)
{
    const spec_model head = {.kind = &kind, .spec = "watching", .vocab = V, .ends = ends};
    memset(p, 0, sizeof *p);
    p->target = (watching){head, target_row, false, &p->behind};
    p->draft = (watching){head, draft_row, true, &p->behind};
    p->config = SPEC_DECODER_DEFAULT;
    p->config.target = &p->target.head;
    p->config.opt_draft = &p->draft.head;
    p->config.K = 3;
}

static void must(int status, const pair *p)
{
    if (status != GSL_SUCCESS) fail_msg("%s", p->error.text);
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Texts end at the first end token, and all three kinds occur. */
typedef struct {
    int ended[V];
} endings;

static void see(endings *seen, const int *token, size_t n, size_t most)
{
    for (size_t i = 0; i + 1 < n; i++) assert_in_range(token[i], 0, V - ENDS - 1);
    if (n < most) assert_true(spec_text_ends_has(&ends, token[n - 1]));
    seen->ended[token[n - 1]]++;
}

static void assert_all(const endings *seen)
{
    for (int i = 0; i < ENDS; i++) assert_true(seen->ended[ends.token[i]] >= 20);
}

/* ---- paths ----------------------------------------------------------------------------------- */

typedef struct {
    int token[TOKENS];
    size_t n;
} ear;

static int hear(void *self, const int *token, const spec_origin *origin, int n, spec_error *error)
{
    ear *e = self;
    (void)origin, (void)error;
    for (int i = 0; i < n; i++) e->token[e->n++] = token[i];
    return GSL_SUCCESS;
}

/* Speculation, plain decoding, and plain decoding beside speculation. */
static void generated(pair *p)
{
    for (int way = 0; way < 3; way++) {
        ear e = {.n = 0};
        endings seen = {{0}};
        spec_generation g;
        spec_generation_plan plan = {.decoder = p->config, .plain = way == 1, .baseline = way == 2};
        plan.hear = hear;
        plan.self = &e;
        must(spec_generation_init(&g, &plan, &p->error), p);
        for (uint64_t text = 0; text < TEXTS; text++, e.n = 0) {
            spec_ending ending;
            must(spec_generation_text(&g, &ending, NULL, 0, text, TOKENS, &p->error), p);
            see(&seen, e.token, e.n, TOKENS);
            assert_int_equal(ending, e.n < TOKENS ? SPEC_ENDED_TEXT : ending);
        }
        spec_generation_free(&g);
        assert_all(&seen);
    }
}

static void decoded(pair *p)
{
    static const char *const draftings[] = {
        "chain", "greedy", "tree?n=2&siblings=iid", "dynamic?top=6&nodes=8&depth=3",
        "chain", "plain"};
    for (int way = 0; way < 6; way++) {
        const bool plain = way == 5;
        endings seen = {{0}};
        spec_decoder decoder;
        gsl_rng *rng = spec_rng_alloc();
        spec_chance chance = spec_chance_sampled(rng);
        p->config.drafting = draftings[plain ? 0 : way];
        p->config.rule = way == 2 || way == 3 ? "match" : "token";
        p->config.ahead = way == 4;
        must(spec_decoder_init(&decoder, &p->config, &p->error), p);
        for (int text = 0; text < TEXTS; text++) {
            int token[TOKENS];
            size_t n;
            double time;
            must(spec_decoder_reset(&decoder, NULL, 0, &p->error), p);
            must(plain ? spec_decode_plain(&decoder, TOKENS, token, &n, &chance, &time, &p->error)
                       : spec_decode(&decoder, TOKENS, token, &n, &chance, NULL, &p->error),
                 p);
            see(&seen, token, n, TOKENS);
        }
        spec_decoder_free(&decoder);
        gsl_rng_free(rng);
        assert_all(&seen);
    }
}

static void rows(pair *p)
{
    static const char path[] = "test_text_ends.tmp";
    const spec_rows_plan plan = {.model = {p->config.target, p->config.opt_draft},
                                 .sides = 2,
                                 .every = 1,
                                 .places = 10 * TEXTS,
                                 .length = TOKENS};
    endings seen = {{0}};
    spec_rows_file file;
    must(spec_rows_make(path, &plan, &p->error), p);
    must(spec_rows_file_open(&file, path, &p->error), p);
    for (uint64_t t = 0; t + 1 < file.texts; t++) { /* the last one may be cut */
        int token[TOKENS];
        const uint64_t begin = spec_rows_file_text(&file, t),
                       n = spec_rows_file_text(&file, t + 1) - begin;
        for (uint64_t i = 0; i < n; i++) token[i] = spec_rows_file_token(&file, begin + i);
        see(&seen, token, n, TOKENS);
    }
    spec_rows_file_close(&file);
    unlink(path);
    assert_all(&seen);
}

static void bench_prompts(pair *p)
{
    int shorter = 0;
    for (uint64_t seed = 0; seed < TEXTS; seed++) {
        OWNED(spec_timing_prompts) prompts;
        must(spec_timing_prompts_make(&prompts, p->config.target, 8, 2, seed, &p->error), p);
        for (int i = 0; i < prompts.n; i++) {
            watch(&p->target, prompts.token[i], prompts.length[i]);
            shorter += prompts.length[i] < 2;
        }
        assert_string_equal(prompts.source, "written by the target");
    }
    assert_true(shorter > 0);
}

static int visit(double *value, const spec_position *position, const void *self, spec_error *error)
{
    (void)self, (void)error;
    *value = (double)position->n_context;
    return GSL_SUCCESS;
}

static void trajectory(pair *p)
{
    double mean, se;
    const spec_trajectory plan = {.target = p->config.target,
                                  .opt_draft = p->config.opt_draft,
                                  .visit = visit,
                                  .n_values = 1,
                                  .positions = 20 * TEXTS};
    must(spec_trajectory_means(&mean, &se, &plan, &p->error), p);
    assert_in_range(mean * 10.0, 19, 28); /* (1 - .3) / .3 */
}

static void rank_acceptance(pair *p)
{
    double accept[2];
    const spec_point point = {.opt_context = spec_test_context(1)};
    p->config.drafting = "tree?n=2&siblings=iid";
    p->config.rule = "match";
    p->config.K = 1;
    must(spec_rank_acceptance_measured(accept, 2, &p->config, 10 * TEXTS, 1, &point, &p->error), p);
}

static void text_law(pair *p)
{
    OWNED(spec_text_law) law;
    spec_goodness test;
    must(spec_text_law_init(&law, &p->config, 3, &p->error), p);
    must(spec_text_law_test(&test, &law, 100 * TEXTS, 1, NULL, NULL, &p->error), p);
    assert_true(test.p > SPEC_TEST_P);
}

static void output_law(pair *p)
{
    OWNED(spec_output_law) law;
    p->config.K = 2;
    must(spec_output_law_init(&law, &p->config, NULL, 0, 2, 0, &p->error), p);
    assert_true(law.tv < 1e-12);
}

static void simulated(pair *p)
{
    const spec_decoding_config config = {.decoder = p->config};
    const spec_round_source source = spec_sources_decoding(&config);
    OWNED(spec_montecarlo) mc;
    must(spec_montecarlo_init(&mc, &source, &(spec_montecarlo_plan){.rounds = 10 * TEXTS},
                              &p->error),
         p);
    must(spec_montecarlo_run(&mc, NULL, &p->error), p);
}

TEST(every_path_ends_a_text_at_each_of_its_ends)
{
    static const struct {
        const char *name;
        void (*run)(pair *p);
    } paths[] = {
        {"generate", generated},
        {"decode", decoded},
        {"rows", rows},
        {"bench prompts", bench_prompts},
        {"trajectory", trajectory},
        {"rank acceptance", rank_acceptance},
        {"text law", text_law},
        {"output law", output_law},
        {"simulation", simulated},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        pair p;
        pair_init(&p);
        paths[i].run(&p);
        if (p.behind > 0) fail_msg("%s: %d rows behind an end", paths[i].name, p.behind);
    }
}

/* ---- on a device ----------------------------------------------------------------------------- */

#define SHAPE "random?dim=32&layers=1&heads=2&ffn=32&vocab=6&context=64&type=f32&device=gpu"

/* Drafts that are drawn on the device end at an end token, too, and so do texts that are verified
 * there. */
TEST(so_do_chains_of_a_device)
{
    spec_model *model[2];
    spec_decoder decoder;
    endings seen = {{0}};
    OWNED_RNG *rng = spec_rng_alloc();
    spec_chance chance = spec_chance_sampled(rng);
    for (int i = 0; i < 2; i++) {
        assert_works(spec_model_open(&model[i], i == 0 ? SHAPE "&seed=1" : SHAPE "&seed=2", NULL,
                                     spec_test_context(0), &error));
        model[i]->ends = ends;
    }
    spec_decoder_config config = SPEC_DECODER_DEFAULT;
    config.target = model[0];
    config.opt_draft = model[1];
    config.verify = SPEC_VERIFY_DEVICE;
    stage_open_decoder(&decoder, &config);
    for (int text = 0; text < DEVICE_TEXTS; text++) {
        size_t n = 0;
        int token[TOKENS + SPEC_K_MAX];
        assert_works(spec_decoder_reset(&decoder, NULL, 0, &error));
        do {
            assert_works(spec_decoder_round(&decoder, &chance, NULL, &error));
            assert_true(decoder.device.used);
            for (int i = 0; i + 1 < decoder.draft.n_nodes; i++)
                assert_in_range(decoder.draft.token[i], 0, V - ENDS - 1);
            for (int i = 0; i < decoder.round.n_emitted; i++) {
                token[n++] = decoder.round.token[i];
                if (spec_text_ends_has(&ends, token[n - 1])) break;
            }
        } while (n < TOKENS && !spec_decoder_ended(&decoder));
        see(&seen, token, n, TOKENS);
    }
    for (int i = 0; i < ENDS; i++) assert_true(seen.ended[ends.token[i]] > 0);
    spec_decoder_free(&decoder);
    for (int i = 2; i > 0; i--) spec_model_close(model[i - 1]);
}

SUITE(SIMULATOR, .setup = spec_folder_enter, .teardown = spec_folder_leave);
