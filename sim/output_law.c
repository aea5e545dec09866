/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/output_law.h"

#include "base/stop_flag.h"
#include "sim/chance/probe.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <stdlib.h>

enum { SIZE_MAX_LAW = 1 << 24, TOKENS_MAX = 4096 };

/* A walk is probed when its number of branches is a power of 2 between these two; a walk beyond the
 * limit is refused on this evidence. */
enum { PROBE_FIRST = 1 << 10, PROBE_LAST = 1 << 20, TELL_EVERY = 1 << 12 };
#define PROBE_SURE 1e6
#define LONGEST (30.0 * 86400.0) /* the longest that a user may have to wait, in seconds */
#define NEARLY_ALL 0.99 /* never report more progress than this, because the total is an estimate */

/* Returns V^m, or 0 if it is too large. */
static size_t power(int vocab, int n_tokens)
{
    size_t size = 1;
    for (int i = 0; i < n_tokens; i++) {
        size *= (size_t)vocab;
        if (size > SIZE_MAX_LAW) return 0;
    }
    return size;
}

/* Returns a number of tokens that suits most rules: a branch makes about four choices per token. */
static int feasible(int vocab)
{
    const double n = floor(log(SIZE_MAX_LAW) / (4.0 * log(fmax(vocab, 2.0))));
    return n > 1.0 ? (int)n : 1;
}

size_t spec_output_law_index(const int *token, size_t n, int vocab, int n_tokens)
{
    size_t index = 0;
    for (size_t i = 0; i < (size_t)n_tokens; i++)
        index = index * (size_t)vocab + (size_t)token[i < n ? i : n - 1];
    return index;
}

/* Adds to *sum with compensation in *lost (Kahan): millions of branches may add to one text. */
static void add(double *sum, double *lost, double term)
{
    const double corrected = term - *lost, next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

/* ---- what is emitted ------------------------------------------------------------------------- */

/* One walk over every branch: of all texts of n_tokens, or of the first round only. */
typedef struct {
    spec_decoder *decoder;
    const int *prompt;
    size_t n_prompt;
    int n_tokens;
    bool first_round;
    int *token; /* (n_tokens + 1) the text of the last branch */
    size_t n;   /* its length */
    spec_enumeration walk;
    spec_tally tally; /* of first rounds; its time is that of the last branch */
    spec_probe probe; /* estimates the number of branches of the walk */
} walker;

static int walk_branch(walker *w, spec_chance *chance, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_decoder_forget(w->decoder, error));
    SPEC_TRY(spec_decoder_reset(w->decoder, w->prompt, w->n_prompt, error));
    w->tally.time = 0.0;
    status = w->first_round ? spec_decoder_round(w->decoder, chance, &w->tally, error)
                            : spec_decode(w->decoder, (size_t)w->n_tokens, w->token, &w->n, chance,
                                          NULL, error);
done:
    return status;
}

static int refuse(const walker *w, spec_error *error)
{
    const spec_enumeration *walk = &w->walk;
    if (walk->limit == 0 || walk->branches < walk->limit)
        return spec_fail(error, GSL_ENOMEM, "out of memory after %llu branches",
                         (unsigned long long)walk->branches);
    return spec_fail(
        error, GSL_EMAXITER,
        "more than %llu branches; raise the limit (--limit), or take a smaller K or fewer tokens",
        (unsigned long long)walk->limit);
}

/* Extends the probe to n paths. Ends a walk that would exceed its limit; it is wrong with
 * probability 1e-6. */
static int probe_paths(walker *w, uint64_t n, double elapsed, spec_error *error)
{
    const uint64_t limit = w->walk.limit;
    const double seconds =
        elapsed / (double)(w->walk.branches + w->probe.n); /* a branch takes as long as a path */
    char time[SPEC_CLOCK_TEXT];
    int status = GSL_SUCCESS;
    for (; w->probe.n < n; spec_probe_end_path(&w->probe))
        SPEC_TRY(walk_branch(w, &w->probe.chance, error));
    if (limit > 0 && spec_probe_log_e(&w->probe) > log(PROBE_SURE))
        status =
            spec_fail(error, GSL_EMAXITER,
                      "more than %llu branches: some %.1g, which take %s; %stake a smaller K "
                      "or fewer tokens",
                      (unsigned long long)limit, w->probe.mean,
                      spec_clock_text(time, w->probe.mean * seconds),
                      w->probe.mean * seconds < LONGEST ? "raise the limit (--limit), or " : "");
done:
    return status;
}

/* Probes with half as many paths as branches, whenever the number of branches is a power of 2. */
static bool is_probed_at(uint64_t branches)
{
    return branches >= PROBE_FIRST && branches <= PROBE_LAST && (branches & (branches - 1)) == 0;
}

/* Calls `add_branch` with each branch's probability. */
static int walk_all(walker *w, uint64_t limit,
                    void (*add_branch)(void *self, const walker *w, double probability), void *self,
                    const spec_listener *opt_listener, spec_error *error)
{
    const spec_clock clock = spec_clock_wall();
    const double begun = spec_clock_read(&clock);
    int status = GSL_SUCCESS;
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    spec_rng_stream(rng, 0, 0); /* fixed seed: the same walk is either always refused or never */
    spec_probe_init(&w->probe, rng, limit > 0 ? (double)limit : 1.0);
    SPEC_TRY(spec_enumeration_init(&w->walk, limit));
    do {
        const uint64_t branches = w->walk.branches;
        if (is_probed_at(branches))
            SPEC_TRY(probe_paths(w, branches / 2, spec_clock_read(&clock) - begun, error));
        if (branches % TELL_EVERY == 0 && w->probe.mean > 0.0)
            spec_listener_tell(opt_listener, fmin((double)branches / w->probe.mean, NEARLY_ALL));
        SPEC_TRY(walk_branch(w, &w->walk.chance, error));
        add_branch(self, w, spec_enumeration_probability(&w->walk));
    } while (spec_enumeration_next(&w->walk));
    if (w->walk.refused) status = refuse(w, error);
done:
    spec_enumeration_free(&w->walk);
    gsl_rng_free(rng);
    return status;
}

typedef struct {
    spec_output_law *law;
    double *lost;       /* (V^m) */
    double lost_of_all; /* compensation of `total` in the first walk, of `accepted` in the second */
    double lost_of_time;
} sums;

static void add_text(void *self, const walker *w, double probability)
{
    sums *s = self;
    const size_t index =
        spec_output_law_index(w->token, w->n, w->decoder->config.target->vocab, w->n_tokens);
    add(&s->law->law[index], &s->lost[index], probability);
    add(&s->law->total, &s->lost_of_all, probability);
    s->law->branches = w->walk.branches + 1;
}

/* Adds a branch of the first round, which is enumerated whole even if the text ends within it. */
static void add_round(void *self, const walker *w, double probability)
{
    sums *s = self;
    add(&s->law->accepted, &s->lost_of_all, probability * (double)w->decoder->round.n_accepted);
    add(&s->law->time, &s->lost_of_time, probability * w->tally.time);
}

/* ---- what is promised ------------------------------------------------------------------------ */

/* The target's law, depth first over all texts. text[n_prompt..] is the text so far, level its
 * length, and store (m, V) holds the rows along it. It shares no code with the decoder, so it is a
 * second route to the law. */
typedef struct {
    double *law; /* (V^m) */
    spec_session *session;
    int *text;
    size_t n_prompt;
    int n_tokens;
    bool argmax;
    double *store;
    const volatile int *opt_stop;
    spec_error *error;
} promise;

static int descend(const promise *p, int level, double probability)
{
    const spec_model *model = p->session->model;
    const int *token = p->text + p->n_prompt;
    const bool ended = level > 0 && spec_model_ends_text(model, token[level - 1]);
    if (level == p->n_tokens || ended) {
        p->law[spec_output_law_index(token, (size_t)level, model->vocab, p->n_tokens)] +=
            probability;
        return GSL_SUCCESS;
    }
    SPEC_PASS(spec_stop_check(p->opt_stop, p->error));
    const double *row = spec_session_row(p->session, p->text, p->n_prompt + (size_t)level,
                                         p->store + (size_t)level * (size_t)model->vocab, p->error);
    if (row == NULL) return GSL_EFAILED;
    int best = 0;
    for (int i = 0; i < model->vocab; i++)
        if (row[i] > row[best]) best = i;
    for (int i = 0; i < model->vocab; i++) {
        const double weight = p->argmax ? (i == best ? 1.0 : 0.0) : row[i];
        if (!(weight > 0.0)) continue;
        p->text[p->n_prompt + (size_t)level] = i;
        const int status = descend(p, level + 1, probability * weight);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

int spec_output_law_promise(double *ret_promise, const spec_decoder_config *config, bool argmax,
                            const int *prompt, size_t n_prompt, int n_tokens, spec_error *error)
{
    const size_t rows = n_tokens > 0 ? (size_t)n_tokens : 1;
    spec_session session = {0};
    int *text = malloc((n_prompt + rows) * sizeof *text);
    double *store = malloc(rows * (size_t)config->target->vocab * sizeof *store);
    int status = GSL_SUCCESS;
    if (text == NULL || store == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory for %d rows", n_tokens);
        goto done;
    }
    for (size_t i = 0; i < n_prompt; i++) text[i] = prompt[i];
    SPEC_TRY(spec_session_init(&session, config->target, error));
    const promise p = {.law = ret_promise,
                       .session = &session,
                       .text = text,
                       .n_prompt = n_prompt,
                       .n_tokens = n_tokens,
                       .argmax = argmax,
                       .store = store,
                       .opt_stop = config->opt_stop,
                       .error = error};
    SPEC_TRY(descend(&p, 0, 1.0));
done:
    spec_session_free(&session);
    free(text);
    free(store);
    return status;
}

/* ---- public ---------------------------------------------------------------------------------- */

static void compare(spec_output_law *law)
{
    double distance = 0.0;
    for (size_t i = 0; i < law->size; i++) {
        const double difference = fabs(law->law[i] - law->target_law[i]);
        distance += difference;
        if (difference > law->max_error) law->max_error = difference;
    }
    law->tv = 0.5 * distance;
}

int spec_output_law_check(const spec_rule *rule, const char *spec, spec_error *error)
{
    if (rule->noise.kind == SPEC_NOISE_NONE) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "rule '%s' emits the one text of its seed; '%s' gives the distribution over "
                     "all seeds",
                     spec, rule->name);
}

int spec_output_law_init(spec_output_law *law, const spec_decoder_config *config, const int *prompt,
                         size_t n_prompt, int n_tokens, uint64_t limit, spec_error *error)
{
    spec_decoder decoder = {0};
    int *token = NULL;
    double *lost = NULL;
    int status = GSL_SUCCESS;
    *law = (spec_output_law){0};
    if (n_tokens < 0 || n_tokens > TOKENS_MAX) {
        status =
            spec_fail(error, GSL_EINVAL, "tokens must be 0 to %d, got %d", TOKENS_MAX, n_tokens);
        goto done;
    }
    law->size = power(config->target->vocab, n_tokens);
    if (law->size == 0) {
        status =
            spec_fail(error, GSL_EMAXITER,
                      "%d tokens over a vocabulary of %d have more than %d texts; try %d", n_tokens,
                      config->target->vocab, SIZE_MAX_LAW, feasible(config->target->vocab));
        goto done;
    }
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    SPEC_TRY(spec_output_law_check(&decoder.rule, config->rule, error));
    law->law = calloc(law->size, sizeof *law->law);
    law->target_law = calloc(law->size, sizeof *law->target_law);
    lost = calloc(law->size, sizeof *lost);
    token = malloc(((size_t)n_tokens + 1) * sizeof *token);
    if (law->law == NULL || law->target_law == NULL || lost == NULL || token == NULL) {
        status = spec_fail(error, GSL_ENOMEM,
                           "out of memory for a distribution over %zu "
                           "texts",
                           law->size);
        goto done;
    }
    walker texts = {.decoder = &decoder,
                    .prompt = prompt,
                    .n_prompt = n_prompt,
                    .n_tokens = n_tokens,
                    .token = token};
    walker round = texts;
    round.first_round = true;
    SPEC_TRY(walk_all(&texts, limit, add_text, &(sums){.law = law, .lost = lost},
                      config->opt_listener, error));
    SPEC_TRY(walk_all(&round, limit, add_round, &(sums){.law = law}, config->opt_listener, error));
    const bool argmax = decoder.rule.claim == SPEC_LOSSLESS_ARGMAX;
    SPEC_TRY(spec_output_law_promise(law->target_law, config, argmax, prompt, n_prompt, n_tokens,
                                     error));
    compare(law);
done:
    free(token);
    free(lost);
    spec_decoder_free(&decoder);
    if (status != GSL_SUCCESS) spec_output_law_free(law);
    return status;
}

void spec_output_law_free(spec_output_law *law)
{
    free(law->law);
    free(law->target_law);
    *law = (spec_output_law){0};
}
