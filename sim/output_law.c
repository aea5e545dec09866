#include "sim/output_law.h"

#include <math.h>
#include <stdlib.h>

enum { SIZE_MAX_LAW = 1 << 24, TOKENS_MAX = 4096 };

/* V^m, or 0 where it is absurd. */
static size_t power(int vocab, int n_tokens)
{
    size_t size = 1;
    for (int i = 0; i < n_tokens; i++) {
        size *= (size_t)vocab;
        if (size > SIZE_MAX_LAW) return 0;
    }
    return size;
}

/* The place of a text in the law; filled up with its last token, the end of text, where it is shorter than m. */
static size_t text_index(const int *token, size_t n, int vocab, int n_tokens)
{
    size_t index = 0;
    for (size_t i = 0; i < (size_t)n_tokens; i++) index = index * (size_t)vocab + (size_t)token[i < n ? i : n - 1];
    return index;
}

/* Add to *sum, keeping in *lost what rounding lost (Kahan): millions of branches fall on one text. */
static void add(double *sum, double *lost, double term)
{
    const double corrected = term - *lost, next = *sum + corrected;
    *lost = (next - *sum) - corrected;
    *sum = next;
}

/* ---- what is emitted --------------------------------------------------------------------------------------------- */

static int refuse(const spec_enumeration *walk, spec_error *error)
{
    if (walk->limit == 0 || walk->branches < walk->limit)
        return spec_fail(error, GSL_ENOMEM, "out of memory after %llu branches", (unsigned long long)walk->branches);
    return spec_fail(error, GSL_EFAILED, "more than %llu branches; raise the limit, or take fewer tokens or smaller K",
                     (unsigned long long)walk->limit);
}

static int enumerate_texts(spec_output_law *law, spec_decoder *decoder, const int *prompt, size_t n_prompt,
                           int n_tokens, int *token, double *lost, uint64_t limit, spec_error *error)
{
    double lost_total = 0.0;
    const int vocab = decoder->config.target->vocab;
    spec_enumeration walk = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_enumeration_init(&walk, limit));
    do {
        size_t n;
        SPEC_TRY(spec_decoder_reset(decoder, prompt, n_prompt, error));
        SPEC_TRY(spec_decode(decoder, (size_t)n_tokens, token, &n, &walk.chance, NULL, error));
        const double probability = spec_enumeration_probability(&walk);
        const size_t index = text_index(token, n, vocab, n_tokens);
        add(&law->law[index], &lost[index], probability);
        add(&law->total, &lost_total, probability);
    } while (spec_enumeration_next(&walk));
    law->branches = walk.branches;
    if (walk.refused) status = refuse(&walk, error);
done:
    spec_enumeration_free(&walk);
    return status;
}

/* The first round whole, also where the text ends within it. */
static int enumerate_first_round(spec_output_law *law, spec_decoder *decoder, const int *prompt, size_t n_prompt,
                                 uint64_t limit, spec_error *error)
{
    spec_enumeration walk = {0};
    double lost = 0.0;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_enumeration_init(&walk, limit));
    do {
        SPEC_TRY(spec_decoder_reset(decoder, prompt, n_prompt, error));
        SPEC_TRY(spec_decoder_round(decoder, &walk.chance, NULL, error));
        add(&law->accepted, &lost, spec_enumeration_probability(&walk) * (double)decoder->round.n_accepted);
    } while (spec_enumeration_next(&walk));
    if (walk.refused) status = refuse(&walk, error);
done:
    spec_enumeration_free(&walk);
    return status;
}

/* ---- what is promised -------------------------------------------------------------------------------------------- */

/* Depth first over all texts: text[n_prompt..] is the text so far, level its length, store (m, V) the rows along it. No
 * line of the decoder is shared: a second route to the law. */
typedef struct {
    spec_output_law *law;
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
    const bool ended = level > 0 && token[level - 1] == model->end_of_text;
    if (level == p->n_tokens || ended) {
        p->law->target_law[text_index(token, (size_t)level, model->vocab, p->n_tokens)] += probability;
        return GSL_SUCCESS;
    }
    if (p->opt_stop != NULL && *p->opt_stop != 0) return spec_fail(p->error, GSL_EFAILED, "interrupted");
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

static int promised_texts(spec_output_law *law, const spec_decoder_config *config, bool argmax, const int *prompt,
                          size_t n_prompt, int n_tokens, spec_error *error)
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
    const promise p = {.law = law, .session = &session, .text = text, .n_prompt = n_prompt, .n_tokens = n_tokens,
                       .argmax = argmax, .store = store, .opt_stop = config->opt_stop, .error = error};
    SPEC_TRY(descend(&p, 0, 1.0));
done:
    spec_session_free(&session);
    free(text);
    free(store);
    return status;
}

/* ---- public ------------------------------------------------------------------------------------------------------ */

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

int spec_output_law_init(spec_output_law *law, const spec_decoder_config *config, const int *prompt, size_t n_prompt,
                         int n_tokens, uint64_t limit, spec_error *error)
{
    spec_decoder decoder = {0};
    int *token = NULL;
    double *lost = NULL;
    int status = GSL_SUCCESS;
    *law = (spec_output_law){0};
    if (n_tokens < 0 || n_tokens > TOKENS_MAX) {
        status = spec_fail(error, GSL_EINVAL, "a law of %d tokens; it may have 0 to %d", n_tokens, TOKENS_MAX);
        goto done;
    }
    law->size = power(config->target->vocab, n_tokens);
    if (law->size == 0) {
        status = spec_fail(error, GSL_EINVAL, "%d tokens over a vocabulary of %d have more than %d texts", n_tokens,
                           config->target->vocab, SIZE_MAX_LAW);
        goto done;
    }
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    if (decoder.rule.noise.kind != SPEC_NOISE_NONE) {
        status = spec_fail(error, GSL_EINVAL, "rule '%s' emits the one text of its seed; '%s' has the law over all seeds",
                           config->rule, decoder.rule.name);
        goto done;
    }
    law->law = calloc(law->size, sizeof *law->law);
    law->target_law = calloc(law->size, sizeof *law->target_law);
    lost = calloc(law->size, sizeof *lost);
    token = malloc(((size_t)n_tokens + 1) * sizeof *token);
    if (law->law == NULL || law->target_law == NULL || lost == NULL || token == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory for a law of %zu texts", law->size);
        goto done;
    }
    SPEC_TRY(enumerate_texts(law, &decoder, prompt, n_prompt, n_tokens, token, lost, limit, error));
    SPEC_TRY(enumerate_first_round(law, &decoder, prompt, n_prompt, limit, error));
    const bool argmax = decoder.rule.claim == SPEC_LOSSLESS_ARGMAX;
    SPEC_TRY(promised_texts(law, config, argmax, prompt, n_prompt, n_tokens, error));
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
