/* SPDX-License-Identifier: MIT */
/* A sampler as a newcomer would write it, from the header alone: it verifies chains by the token
 * rule and trees by sampler-match, in all scopes. Options: "wrong" resamples from the target
 * instead of from the residual; "unseeded" ignores the seed, so that all instances draw the same
 * numbers; "slow" never returns for rows of more than eight tokens. */
#include <speclab/sampler.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    uint64_t random;
    const float *coin; /* the caller's coins, of which n_coins are unused */
    int n_coins;
    uint64_t drafted, accepted, emitted;
    int wrong, unseeded, slow;
    const char *error;
} sampler;

uint32_t spec_sampler_abi(void)
{
    return SPEC_SAMPLER_ABI;
}

int spec_sampler_describe(spec_sampler_about *about)
{
    strcpy(about->name, "newcomer");
    about->scopes = SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM;
    about->trees = SPEC_DRAWN_FIXED | SPEC_DRAWN_IID | SPEC_DRAWN_WITHOUT;
    about->coins = 1;
    about->padding = 1;
    about->seeded = 1;
    return 0;
}

int spec_sampler_open(void **ret_self, const char *opt_options)
{
    sampler *s = calloc(1, sizeof *s);
    *ret_self = s;
    if (s == NULL) return 1;
    s->wrong = opt_options != NULL && strcmp(opt_options, "wrong") == 0;
    s->unseeded = opt_options != NULL && strcmp(opt_options, "unseeded") == 0;
    s->slow = opt_options != NULL && strcmp(opt_options, "slow") == 0;
    if (opt_options == NULL || s->wrong || s->unseeded || s->slow) return 0;
    s->error = "the options are 'wrong', 'unseeded' and 'slow'";
    return 2;
}

void spec_sampler_close(void *self)
{
    free(self);
}

const char *spec_sampler_error(void *self)
{
    return self != NULL ? ((sampler *)self)->error : "out of memory";
}

int spec_sampler_counters(void *self, uint64_t *ret_drafted, uint64_t *ret_accepted,
                          uint64_t *ret_emitted)
{
    const sampler *s = self;
    *ret_drafted = s->drafted;
    *ret_accepted = s->accepted;
    *ret_emitted = s->emitted;
    return 0;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static void begin(sampler *s, uint64_t seed, uint64_t offset, const float *coin, int n_coins)
{
    s->coin = coin;
    s->n_coins = coin != NULL ? n_coins : 0;
    if (!s->unseeded) s->random = mix(mix(seed + 0x9e3779b97f4a7c15u) + offset);
}

static double uniform(sampler *s)
{
    if (s->n_coins > 0) {
        s->n_coins--;
        return (double)*s->coin++;
    }
    s->random += 0x9e3779b97f4a7c15u;
    return (double)(mix(s->random) >> 11) / 9007199254740992.0;
}

/* Draws a token with probability proportional to max(0, a[i] - b[i]); b may be NULL. */
static int pick(sampler *s, const float *a, const float *b, int n)
{
    double sum = 0.0, u;
    int i, last = 0;
    for (i = 0; i < n; i++) {
        const double w = (double)a[i] - (b != NULL ? (double)b[i] : 0.0);
        if (w > 0.0) sum += w;
    }
    u = uniform(s) * sum;
    for (i = 0; i < n; i++) {
        const double w = (double)a[i] - (b != NULL ? (double)b[i] : 0.0);
        if (w <= 0.0) continue;
        last = i;
        if (u < w) break;
        u -= w;
    }
    return last;
}

/* Returns whether the token is accepted; if not, *ret_correction is the correction. draft NULL: a
 * one-hot draft. */
static int keeps(sampler *s, int token, const float *target, const float *draft, int n,
                 int *ret_correction)
{
    if (draft == NULL) {
        *ret_correction = pick(s, target, NULL, n);
        return *ret_correction == token;
    }
    if (uniform(s) * (double)draft[token] < (double)target[token]) return 1;
    *ret_correction = pick(s, target, s->wrong ? NULL : draft, n);
    return 0;
}

static void verify_chain(sampler *s, const spec_step *step, const int32_t *token, int n)
{
    int k, correction = -1;
    const size_t V = (size_t)step->vocab;
    for (k = 0; k < n; k++) {
        const float *draft = step->draft != NULL ? step->draft + (size_t)k * V : NULL;
        if (!keeps(s, token[k], step->target + (size_t)k * V, draft, step->vocab, &correction))
            break;
        step->ret_token[k] = token[k];
    }
    step->ret_token[k] =
        k < n ? correction : pick(s, step->target + (size_t)n * V, NULL, step->vocab);
    *step->ret_n_accepted = k;
    *step->ret_n_emitted = k + 1;
}

static void verify_tree(sampler *s, const spec_step *step, int n)
{
    int node = -1, emitted = 0, child;
    do {
        const int y =
            pick(s, step->target + (size_t)(node + 1) * (size_t)step->vocab, NULL, step->vocab);
        step->ret_token[emitted++] = y;
        for (child = node + 1; child < n; child++)
            if (step->parent[child] == node && step->token[child] == y) break;
        node = child;
    } while (node < n);
    *step->ret_n_accepted = emitted - 1;
    *step->ret_n_emitted = emitted;
}

int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps)
{
    sampler *s = self;
    for (int i = 0; i < n_steps; i++) {
        spec_step *step = &steps[i];
        int n = step->n_nodes;
        while (s->slow && step->vocab > 8) pause();
        begin(s, step->seed, step->offset, step->coin, step->n_coins);
        while (step->token != NULL && n > 0 && step->token[n - 1] < 0) n--;
        if (step->token == NULL) {
            for (int k = 0; k < n; k++)
                step->ret_draft[k] =
                    pick(s, step->draft + (size_t)k * (size_t)step->vocab, NULL, step->vocab);
            verify_chain(s, step, step->ret_draft, n);
        } else if (step->parent == NULL) {
            verify_chain(s, step, step->token, n);
        } else {
            verify_tree(s, step, n);
        }
        s->drafted += (uint64_t)step->n_nodes;
        s->accepted += (uint64_t)*step->ret_n_accepted;
        s->emitted += (uint64_t)*step->ret_n_emitted;
    }
    return 0;
}

int spec_sampler_generate(void *self, const spec_models *models, const int32_t *context,
                          int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens)
{
    sampler *s = self;
    const size_t V = (size_t)models->vocab;
    int32_t *text = malloc((size_t)(n_context + n_tokens + K + 1) * sizeof *text);
    float *draft = malloc((size_t)(K > 0 ? K : 1) * V * sizeof *draft);
    int64_t n = n_context;
    (void)sampling; /* it does not declare support for filters, so there are none */
    if (text == NULL || draft == NULL) {
        s->error = "out of memory";
        free(text);
        free(draft);
        return 1;
    }
    if (n > 0) memcpy(text, context, (size_t)n * sizeof *text);
    begin(s, seed, 0, NULL, 0);
    while (n < n_context + n_tokens) {
        int k, correction = -1;
        for (k = 0; k < K; k++) {
            memcpy(draft + (size_t)k * V, models->draft(models->self, text, n + k),
                   V * sizeof *draft);
            text[n + k] = pick(s, draft + (size_t)k * V, NULL, models->vocab);
        }
        for (k = 0; k < K; k++) {
            const float *target = models->target(models->self, text, n + k);
            if (!keeps(s, text[n + k], target, draft + (size_t)k * V, models->vocab, &correction))
                break;
        }
        text[n + k] = k < K
                          ? correction
                          : pick(s, models->target(models->self, text, n + K), NULL, models->vocab);
        n += k + 1;
    }
    memcpy(ret_token, text + n_context, (size_t)n_tokens * sizeof *text);
    free(text);
    free(draft);
    return 0;
}
