/* SPDX-License-Identifier: MIT */
/* The token rule on chains, optimised: eight partial sums, and a search within the drawn block. It
 * takes little time itself, so that benchmarks measure the harness. */
#include <speclab/sampler.h>

#include <string.h>

enum { WIDE = 8, BLOCKS = 64 };

uint32_t spec_sampler_abi(void)
{
    return SPEC_SAMPLER_ABI;
}

int spec_sampler_describe(spec_sampler_about *about)
{
    strcpy(about->name, "quick");
    about->scopes = SPEC_SCOPE_VERIFY;
    about->chains = SPEC_DRAWN_IID;
    about->seeded = 1;
    about->max_vocab = WIDE * BLOCKS;
    return 0;
}

int spec_sampler_open(void **ret_self, const char *opt_options)
{
    (void)opt_options;
    *ret_self = NULL;
    return 0;
}

void spec_sampler_close(void *self)
{
    (void)self;
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static float uniform(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return (float)(mix(*state) >> 40) / 16777216.0f;
}

static float weight_of(const float *target, const float *draft, int i)
{
    const float w = target[i] - (draft != NULL ? draft[i] : 0.0f);
    return w > 0.0f ? w : 0.0f;
}

/* Draws a token with probability proportional to max(0, target - draft); draft may be NULL. */
static int pick(const float *target, const float *draft, int n, float u)
{
    float sum[BLOCKS], total = 0.0f;
    int blocks = 0, block = 0, last = 0;
    for (int from = 0; from < n; from += WIDE) {
        float part = 0.0f;
        for (int i = from; i < n && i < from + WIDE; i++) part += weight_of(target, draft, i);
        total += sum[blocks++] = part;
    }
    u *= total;
    while (block < blocks - 1 && u >= sum[block]) u -= sum[block++];
    while (block > 0 && sum[block] == 0.0f) block--;
    for (int i = block * WIDE; i < n && i < (block + 1) * WIDE; i++) {
        const float w = weight_of(target, draft, i);
        if (w == 0.0f) continue;
        last = i;
        if (u < w) break;
        u -= w;
    }
    return last;
}

static void verify(const spec_step *step)
{
    const size_t V = (size_t)step->vocab;
    uint64_t state = mix(mix(step->seed + 0x9e3779b97f4a7c15u) + step->offset);
    const float *target = step->target, *draft = step->draft;
    int k = 0;
    for (; k < step->n_nodes; k++, target += V, draft += V) {
        const int x = step->token[k];
        if (uniform(&state) * draft[x] >= target[x]) break;
        step->ret_token[k] = x;
    }
    step->ret_token[k] =
        pick(target, k < step->n_nodes ? draft : NULL, step->vocab, uniform(&state));
    *step->ret_n_accepted = k;
    *step->ret_n_emitted = k + 1;
}

int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps)
{
    (void)self;
    for (int i = 0; i < n_steps; i++) verify(&steps[i]);
    return 0;
}
