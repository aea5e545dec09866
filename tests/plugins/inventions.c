/* SPDX-License-Identifier: MIT */
/* A copy of the token rule with one planted mistake, chosen by --options NAME. No mistake is in the
 * table of known mistakes, and speclab was not changed to detect them: tests/inventions.sh counts
 * how many it detects. Without a name, or with "none", it is correct. */
#include <speclab/sampler.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, V_MOST = 1 << 18 };

enum {
    NONE,
    RESIDUAL_ABSOLUTE,
    RESIDUAL_RATIO,
    RESIDUAL_SQUARED,
    RESIDUAL_CUT,
    SECOND_CHANCE,
    LAST_FREE,
    BONUS_NO_REPEAT,
    COIN_8_BITS,
    DRAFT_FLOOR,
    ANTITHETIC,
    STICKY_COIN,
    SEED_FLOAT,
    RATIO_PERCENT,
    THIRD_FREE,
    LAST_ROWS_SWAPPED,
    IDS_16_BITS,
    RESIDUAL_SURE,
    RARE_DROPPED,
    WARP_AGAIN,
    BONUS_OF_FIRST,
    DRAFT_NO_REPEAT,
    DRAFT_SMOOTH,
    COIN_BY_TOKEN,
    DRAFT_ROW_LATE,
    DRAFT_SHARP_SOMETIMES,
    EVERY_16TH,
    DOUBLE_BONUS,
    DRAFT_LEFT_OVER,
    PAGE_BOUNDARY,
    SECOND_TOKEN,
    MISTAKES
};

static const char *const names[MISTAKES] = {
    "none",
    "residual-absolute",
    "residual-ratio",
    "residual-squared",
    "residual-cut",
    "second-chance",
    "last-free",
    "bonus-no-repeat",
    "coin-8-bits",
    "draft-floor",
    "antithetic",
    "sticky-coin",
    "seed-float",
    "ratio-percent",
    "third-free",
    "last-rows-swapped",
    "ids-16-bits",
    "residual-sure",
    "rare-dropped",
    "warp-again",
    "bonus-of-first",
    "draft-no-repeat",
    "draft-smooth",
    "coin-by-token",
    "draft-row-late",
    "draft-sharp-sometimes",
    "every-16th",
    "double-bonus",
    "draft-left-over",
    "page-boundary",
    "second-token",
};

typedef struct {
    int mistake, rounds, left_over;
    uint64_t state;
    float before[MOST];           /* coins of the previous step */
    int n_coins, at, kept;        /* kept: length of the accepted prefix */
    const spec_step *steps;
    int n_steps;
    float *row;                   /* (V_MOST) */
} sampler;

static const char *chosen = "none";

static int mistake_of(const char *name)
{
    int i;
    for (i = 0; i < MISTAKES; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static uint32_t scopes_of(int mistake)
{
    if (mistake == NONE) return SPEC_SCOPE_VERIFY | SPEC_SCOPE_DRAFT | SPEC_SCOPE_STREAM;
    if (mistake < DRAFT_NO_REPEAT) return SPEC_SCOPE_VERIFY;
    return mistake < EVERY_16TH ? SPEC_SCOPE_DRAFT : SPEC_SCOPE_STREAM;
}

uint32_t spec_sampler_abi(void)
{
    return SPEC_SAMPLER_ABI;
}

int spec_sampler_describe(spec_sampler_about *about)
{
    if (mistake_of(chosen) < 0) return 1;
    sprintf(about->name, "invention %.40s", chosen);
    about->scopes = scopes_of(mistake_of(chosen));
    about->padding = 1;
    about->seeded = 1;
    about->max_nodes = MOST - 1;
    about->max_vocab = V_MOST;
    return 0;
}

int spec_sampler_open(void **ret_self, const char *opt_options)
{
    sampler *s = calloc(1, sizeof *s);
    if (opt_options != NULL) chosen = opt_options;
    if (s == NULL || (s->row = malloc(V_MOST * sizeof *s->row)) == NULL) return 1;
    s->mistake = mistake_of(chosen);
    *ret_self = s;
    return 0;
}

void spec_sampler_close(void *self)
{
    sampler *s = self;
    free(s->row);
    free(s);
}

/* ---- chance: SplitMix64 ---------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static float uniform(sampler *s)
{
    float u = (float)(mix(s->state += 0x9e3779b97f4a7c15u) >> 40) / 16777216.0f;
    if (s->mistake == ANTITHETIC && s->n_coins < MOST) {
        if (s->at % 2 == 1) u = fminf(1.0f - s->before[s->n_coins], 0.99999994f);
        s->before[s->n_coins++] = u;
    }
    return u;
}

static int scan(const float *row, int V, float u)
{
    int i, last = 0;
    for (i = 0; i < V; i++) {
        if (!(row[i] > 0.0f)) continue;
        last = i;
        if (u < row[i]) break;
        u -= row[i];
    }
    return last;
}

static int pick(sampler *s, float *row, int V)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < V; i++) sum += row[i];
    return scan(row, V, (float)(uniform(s) * sum));
}

/* ---- a round --------------------------------------------------------------------------------- */

static int is_accepted(sampler *s, float target, float draft, int token, int k, int n)
{
    float u = uniform(s);
    if (s->mistake == LAST_FREE && k > 0 && k == n - 1) return 1;
    if (s->mistake == THIRD_FREE && s->kept == 2 && target > 0.5f * draft) return 1;
    if (s->mistake == RARE_DROPPED && draft < 1e-2f) return 0;
    if (s->mistake == RATIO_PERCENT && target < draft)
        return u < floorf(100.0f * target / draft) / 100.0f;
    if (s->mistake == COIN_8_BITS) u = floorf(u * 256.0f) / 256.0f;
    if (s->mistake == DRAFT_FLOOR) draft += 1e-3f;
    if (s->mistake == STICKY_COIN && k > 0) u *= 0.97f;
    if (s->mistake == COIN_BY_TOKEN)
        u = (float)(mix(s->state - (uint64_t)(k + 1) * 0x9e3779b97f4a7c15u + (uint64_t)token) >>
                    40) /
            16777216.0f;
    if (u * draft < target) return 1;
    return s->mistake == SECOND_CHANCE && token % 4 == 0 && uniform(s) * draft < target;
}

static int correct(sampler *s, const float *target, const float *draft, int V, int rejected)
{
    double sum = 0.0;
    int i;
    for (i = 0; i < V; i++) {
        const float p = target[i], q = draft != NULL ? draft[i] : i == rejected ? 1.0f : 0.0f;
        float r = p > q ? p - q : 0.0f;
        if (s->mistake == RESIDUAL_ABSOLUTE) r = fabsf(p - q);
        if (s->mistake == RESIDUAL_RATIO) r = p > q ? p / (q + 1e-9f) - 1.0f : 0.0f;
        if (s->mistake == RESIDUAL_SQUARED) r *= r;
        s->row[i] = r;
        sum += r;
    }
    if (!(sum > 0.0)) return pick(s, (float *)target, V);
    if (s->mistake == RESIDUAL_CUT) {
        for (i = 0; i < V; i++)
            if (s->row[i] < 0.02 * sum) s->row[i] = 0.0f;
    }
    if ((s->mistake == EVERY_16TH && s->rounds % 16 == 0) || s->mistake == RESIDUAL_SURE) {
        int best = 0;
        for (i = 1; i < V; i++)
            if (s->row[i] > s->row[best]) best = i;
        if (s->mistake == EVERY_16TH || s->row[best] > 0.9 * sum) return best;
    }
    if (s->mistake == IDS_16_BITS) return pick(s, s->row, V) & 0xffff;
    return pick(s, s->row, V);
}

static int bonus(sampler *s, const float *target, int V, int last)
{
    int token = pick(s, (float *)target, V);
    if (s->mistake == BONUS_NO_REPEAT && token == last) token = pick(s, (float *)target, V);
    if (s->mistake == DOUBLE_BONUS && s->rounds % 4 == 0) {
        const int other = pick(s, (float *)target, V);
        if (other > token) token = other;
    }
    return token;
}

static int draw(sampler *s, const float *draft, int V, int before)
{
    int token = pick(s, (float *)draft, V);
    if (s->mistake == DRAFT_NO_REPEAT && token == before) token = pick(s, (float *)draft, V);
    if (s->mistake == DRAFT_SHARP_SOMETIMES && s->rounds % 8 == 0) {
        int i;
        for (i = 0; i < V; i++) s->row[i] = draft[i] * draft[i];
        token = pick(s, s->row, V);
    }
    if (s->mistake == DRAFT_SMOOTH && uniform(s) < 0.02f) token = (int)(uniform(s) * (float)V);
    return token;
}

static void run(sampler *s, spec_step *step)
{
    const int V = step->vocab;
    int32_t drafted[MOST];
    int n = 0, k;
    s->state = mix(step->seed ^ mix(step->offset + 0x632be59bd9b4e019u));
    if (s->mistake == SEED_FLOAT) {
        const float seed = (float)step->seed;
        s->state = mix((uint64_t)(seed * 0.5f) ^ mix(step->offset));
    }
    if (s->mistake == WARP_AGAIN)
        s->state = mix(s->steps[s->at % 32].seed ^ mix(s->steps[s->at % 32].offset));
    s->n_coins = s->kept = 0;
    if (step->token == NULL) {
        for (; n < step->n_nodes; n++)
            step->ret_draft[n] = drafted[n] = draw(
                s, step->draft + (size_t)(n - (s->mistake == DRAFT_ROW_LATE && n >= 4)) * (size_t)V,
                V, n > 0 ? drafted[n - 1] : -1);
    } else {
        for (; n < step->n_nodes && step->token[n] >= 0; n++) drafted[n] = step->token[n];
    }
    for (k = 0; k < n; k++) {
        const int swapped = s->mistake == LAST_ROWS_SWAPPED && n >= 6 && n % 2 == 0 && k >= n - 2;
        const float *target = step->target + (size_t)(swapped ? 2 * n - 3 - k : k) * (size_t)V;
        const float *draft = step->draft != NULL ? step->draft + (size_t)k * (size_t)V : NULL;
        step->ret_token[k] = drafted[k];
        if (is_accepted(s, target[drafted[k]], draft != NULL ? draft[drafted[k]] : 1.0f, drafted[k],
                        k, n)) {
            s->kept++;
            continue;
        }
        step->ret_token[k] = correct(s, target, draft, V, drafted[k]);
        break;
    }
    if (k == n) {
        const spec_step *of =
            s->mistake == BONUS_OF_FIRST && s->at == s->n_steps - 1 ? s->steps : step;
        const int row = n < of->n_nodes ? n : of->n_nodes;
        step->ret_token[n] =
            bonus(s, of->target + (size_t)row * (size_t)V, V, n > 0 ? drafted[n - 1] : -1);
    }
    *step->ret_n_emitted = k + 1;
    *step->ret_n_accepted = k;
    s->rounds++;
}

int spec_sampler_step(void *self, spec_step *steps, int32_t n_steps)
{
    sampler *s = self;
    s->steps = steps;
    s->n_steps = n_steps;
    for (s->at = 0; s->at < n_steps; s->at++) run(s, &steps[s->at]);
    return 0;
}

int spec_sampler_generate(void *self, const spec_models *models, const int32_t *context,
                          int64_t n_context, int32_t K, spec_sampling sampling, uint64_t seed,
                          int32_t *ret_token, int64_t n_tokens)
{
    sampler *s = self;
    const int V = models->vocab;
    int32_t *text = malloc((size_t)(n_context + n_tokens + K + 1) * sizeof *text);
    float *draft = malloc((size_t)(K + 1) * (size_t)V * sizeof *draft);
    int64_t n = n_context;
    int k;
    (void)sampling;
    if (text == NULL || draft == NULL) return 1;
    if (n > 0) memcpy(text, context, (size_t)n * sizeof *text);
    s->state = mix(seed);
    s->rounds = 0;
    s->left_over = -1;
    while (n < n_context + n_tokens) {
        for (k = 0; k < K; k++) {
            const float *row = models->draft(models->self, text, n + k);
            memcpy(draft + (size_t)k * (size_t)V, row, (size_t)V * sizeof *row);
            text[n + k] = draw(s, draft + (size_t)k * (size_t)V, V, -1);
            if (s->mistake == DRAFT_LEFT_OVER && k == 0 && s->left_over >= 0 &&
                draft[s->left_over] > 0.0f)
                text[n] = s->left_over;
        }
        s->left_over = -1;
        for (k = 0; k < K; k++) {
            const int64_t early = s->mistake == PAGE_BOUNDARY && n + k > 0 && (n + k) % 16 == 0;
            const float *target = models->target(models->self, text, n + k - early),
                        *q = draft + (size_t)k * (size_t)V;
            const int token = text[n + k];
            if (is_accepted(s, target[token], q[token], token, k, K)) continue;
            if (k + 1 < K) s->left_over = text[n + k + 1];
            text[n + k] = correct(s, target, q, V, token);
            break;
        }
        if (s->mistake == SECOND_TOKEN && n == n_context && k > 0) k = 1, text[n + 1] = text[n];
        if (k == K) text[n + K] = bonus(s, models->target(models->self, text, n + K), V, -1);
        n += k + 1;
        s->rounds++;
    }
    memcpy(ret_token, text + n_context, (size_t)n_tokens * sizeof *text);
    free(text);
    free(draft);
    return 0;
}
