/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the parts of qwen3, gemma3 and gpt-oss that llama does not have, against double precision
 * on random shapes. A model without one of the options must have other logits, so that dropping it
 * would show.
 */
#include "tests/models/transformer/engine/odd_checkpoint.h"
#include "tests/models/transformer/engine/reference_pass.h"

#include "models/transformer/files/rope_scaling.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>

enum { TOKENS = 40, SHAPES = 12 };

/* ---- options --------------------------------------------------------------------------------- */

static void drop_query_norm(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->query_norm.data = NULL;
}

static void drop_key_norm(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->key_norm.data = NULL;
}

static void drop_sinks(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->sinks.data = NULL;
}

static void drop_output_bias(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->attention_output_bias.data = NULL;
}

static void drop_attention_post_norm(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->attention_post_norm.data = NULL;
}

static void drop_ffn_post_norm(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->ffn_post_norm.data = NULL;
}

static void drop_windows(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.window = c->shape.context;
}

static void drop_one_of_the_window(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    if (layer == c->layer) c->shape.window--;
}

static void drop_window_rope(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.window_rope = c->shape.rope;
}

static void drop_whole_layers(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)c;
    layer->has_window = true;
}

static void drop_magnitude(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.rope.magnitude = 0.0f;
}

static void drop_factors(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.rope.opt_factor = NULL;
}

static void drop_gelu(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.gate = SPEC_GATE_SILU;
}

static void drop_embedding_scale(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.embedding_scale = 0.0f;
}

static void drop_query_scale(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.query_scale = 0.0f;
}

static void drop_logit_cap(spec_checkpoint *c, spec_checkpoint_layer *layer)
{
    (void)layer;
    c->shape.logit_cap = 0.0f;
}

static const struct {
    const char *name;
    void (*drop)(spec_checkpoint *c, spec_checkpoint_layer *layer);
} options[] = {
    {"norm of queries", drop_query_norm},
    {"norm of keys", drop_key_norm},
    {"sinks", drop_sinks},
    {"bias of attention's output", drop_output_bias},
    {"norm behind attention", drop_attention_post_norm},
    {"norm behind the feed-forward network", drop_ffn_post_norm},
    {"windows", drop_windows},
    {"a token of the window", drop_one_of_the_window},
    {"rope of windows", drop_window_rope},
    {"layers without a window", drop_whole_layers},
    {"magnitude", drop_magnitude},
    {"factors", drop_factors},
    {"gelu", drop_gelu},
    {"scale of embeddings", drop_embedding_scale},
    {"scale of queries", drop_query_scale},
    {"cap of logits", drop_logit_cap},
};
enum { OPTIONS = sizeof options / sizeof *options };

/* ---- shapes ---------------------------------------------------------------------------------- */

static int between(gsl_rng *rng, int low, int high)
{
    return low + (int)gsl_rng_uniform_int(rng, (unsigned long)(high - low + 1));
}

static double real_between(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

/* Makes a form with all options. */
static odd_form random_form(gsl_rng *rng, float *factor)
{
    const int kv = between(rng, 1, 3);
    odd_form f = {{.dim = between(rng, 20, 70),
                   .n_layers = between(rng, 3, 5),
                   .n_heads = kv * between(rng, 1, 5),
                   .n_kv_heads = kv,
                   .head_dim = 2 * between(rng, 4, 20),
                   .ffn_dim = between(rng, 20, 90),
                   .vocab = between(rng, 20, 60),
                   .context = 64,
                   .norm_eps = 1e-4f,
                   .rope_pairs = between(rng, 0, 1) == 0 ? SPEC_ROPE_ADJACENT : SPEC_ROPE_HALVES,
                   .window = between(rng, 1, 20),
                   .gate = SPEC_GATE_GELU,
                   .embedding_scale = (float)real_between(rng, 1.5, 4.0),
                   .query_scale = (float)real_between(rng, 0.5, 0.8),
                   .logit_cap = (float)real_between(rng, 1.5, 4.0)},
                  .biased = true,
                  .tied = between(rng, 0, 1) == 0,
                  .normed_heads = true,
                  .sinks = true,
                  .post_norms = true,
                  .biased_output = true,
                  .window_period = between(rng, 2, 3)};
    spec_shape *shape = &f.shape;
    shape->rope = (spec_rope){
        .base = real_between(rng, 500.0, 1e6),
        .opt_factor = factor,
        .yarn = {.factor = real_between(rng, 2.0, 30.0), .context = 32, .fast = 8.0, .slow = 0.5}};
    shape->window_rope.base = real_between(rng, 20.0, 400.0);
    for (int i = 0; i < shape->head_dim / 2; i++) factor[i] = 1.0f;
    shape->rope.magnitude =
        (float)spec_rope_scaling_yarn(factor, &shape->rope.yarn, shape->rope.base, shape->head_dim);
    return f;
}

static double distance(const double *a, const double *b, int n, int vocab)
{
    FREED float *as_floats = malloc((size_t)n * (size_t)vocab * sizeof *as_floats);
    assert_non_null(as_floats);
    for (int i = 0; i < n * vocab; i++) as_floats[i] = (float)a[i];
    const double worst = reference_error(as_floats, b, n, vocab);
    return worst;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Measured: 3e-6 at worst; a dropped option changes logits by at least 0.04 of their spread. */
TEST(each_option_is_computed_and_matters, SLOW)
{
    OWNED_RNG *rng = gsl_rng_alloc(gsl_rng_taus2);
    double worst = 0.0, least = INFINITY;
    gsl_rng_set(rng, spec_test_seed());
    for (int k = 0; k < SHAPES; k++) {
        float factor[SPEC_HEAD_DIM_MAX / 2];
        const odd_form form = random_form(rng, factor);
        const int vocab = form.shape.vocab;
        double *truth = reference_vector(TOKENS * vocab), *other = reference_vector(TOKENS * vocab);
        float *logits = malloc(TOKENS * (size_t)vocab * sizeof *logits);
        int token[TOKENS];
        spec_checkpoint c;
        spec_weights weights;
        assert_non_null(logits);
        for (int t = 0; t < TOKENS; t++) token[t] = between(rng, 0, vocab - 1);
        make_odd_checkpoint(&c, &form, SPEC_TENSOR_F32);
        assert_works(
            spec_weights_init(&weights, &c, SPEC_TENSOR_TYPES, spec_test_context(0)->cpu, &error));
        reference_pass(truth, &c, token, TOKENS, false);
        engine_pass(logits, &weights, token, TOKENS, between(rng, 1, 9));
        worst = fmax(worst, reference_error(logits, truth, TOKENS, vocab));
        for (int i = 0; i < OPTIONS; i++) {
            spec_checkpoint_layer layer[8];
            spec_checkpoint without = c;
            memcpy(layer, c.layer, (size_t)c.shape.n_layers * sizeof *layer);
            without.layer = layer;
            if (options[i].drop == drop_one_of_the_window && c.shape.window == 1) continue;
            for (int l = 0; l < c.shape.n_layers; l++) options[i].drop(&without, &layer[l]);
            reference_pass(other, &without, token, TOKENS, false);
            const double change = distance(other, truth, TOKENS, vocab);
            least = fmin(least, change);
            if (!(change > 1e-3))
                fail_msg("shape %d: without %s logits differ by %.2g", k, options[i].name, change);
        }
        spec_weights_free(&weights);
        spec_checkpoint_free(&c);
        free(truth);
        free(other);
        free(logits);
    }
    printf("error %.2g; a dropped option changes at least %.2g\n", worst, least);
    assert_true(worst < 1e-5);
}

/* The table for a model that llama.cpp and transformers also read: gpt-oss-20b's rotary embedding.
 * The turns per position are those of transformers 5.24's _compute_yarn_parameters. */
TEST(yarn_slows_pairs_between_its_bounds)
{
    float factor[32];
    spec_yarn yarn = {
        .factor = 32.0, .context = 4096, .fast = 32.0, .slow = 1.0, .keeps_fractions = true};
    for (int i = 0; i < 32; i++) factor[i] = 1.0f;
    const double magnitude = spec_rope_scaling_yarn(factor, &yarn, 150000.0, 64);
    assert_true(fabs(magnitude - 1.3465735902799727) < 1e-12);
    for (int i = 0; i < 32; i++) {
        if (i <= 8) assert_true(factor[i] == 1.0f);
        if (i >= 18) assert_true(factor[i] == 32.0f);
        if (i > 8 && i < 18) assert_true(factor[i] > factor[i - 1] && factor[i] < 32.0f);
    }
    assert_true(fabs((double)factor[9] - 1.1043) < 1e-5 &&
                fabs((double)factor[17] - 13.75752) < 1e-4);
    for (int i = 0; i < 32; i++) factor[i] = 2.0f;
    yarn.keeps_fractions = false;
    yarn.opt_magnitude = 0.27;
    assert_true(spec_rope_scaling_yarn(factor, &yarn, 150000.0, 64) == 0.27);
    assert_true(factor[8] == 2.0f && factor[18] == 64.0f);
    assert_true(fabs((double)factor[9] - 2.0 * 1.107266) < 1e-5);
}

/* Each part alone is a reason to refuse a model where only llama's pass is computed. */
TEST(each_part_beside_llama_is_named)
{
    OWNED_RNG *rng = gsl_rng_alloc(gsl_rng_taus2);
    float factor[SPEC_HEAD_DIM_MAX / 2];
    odd_form form = random_form(rng, factor);
    spec_checkpoint c;
    spec_error error = {""};
    static const char *const names[] = {"norms of heads",
                                        "attention sinks",
                                        "biases of attention's output",
                                        "norms behind its branches",
                                        "windows of attention",
                                        "another gate",
                                        "scaled embeddings",
                                        "scaled queries",
                                        "capped logits"};
    form.shape.rope.magnitude = 0.0f;
    for (int left = 0; left <= 9; left++) { /* parts that are still present: `left` and later
                                             * ones */
        if (left > 0) form.normed_heads = false;
        if (left > 1) form.sinks = false;
        if (left > 2) form.biased_output = false;
        if (left > 3) form.post_norms = false;
        if (left > 4) form.shape.window = form.window_period = 0;
        if (left > 5) form.shape.gate = SPEC_GATE_SILU;
        if (left > 6) form.shape.embedding_scale = 0.0f;
        if (left > 7) form.shape.query_scale = 0.0f;
        if (left > 8) form.shape.logit_cap = 0.0f;
        make_odd_checkpoint(&c, &form, SPEC_TENSOR_F32);
        const char *extra = spec_architecture_extra(&c);
        if (left < 9)
            assert_string_equal(extra, names[left]);
        else
            assert_null(extra);
        assert_int_equal(
            spec_architecture_need_plain(&c, "gpu:0", "open it with device=cpu", &error),
            left < 9 ? GSL_EINVAL : GSL_SUCCESS);
        spec_checkpoint_free(&c);
    }
}
