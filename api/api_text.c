/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generates a text round by round, with experiments/generation.h. */
#include "api/lab_pair.h"

#include "experiments/generation.h"
#include "models/vocabularies.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

struct speclab_text {
    speclab *lab;
    const volatile int *opt_stop;
    spec_lab_pair pair;
    spec_generation generation;
    bool ended;
    spec_ending ending;

    /* The last part. */
    int32_t n, token[SPEC_K_MAX + 1], origin[SPEC_K_MAX + 1];
    int64_t end[SPEC_K_MAX + 1];
    char *bytes;
    size_t capacity;
};

_Static_assert(SPECLAB_FROM_DRAFT == (int)SPEC_FROM_DRAFT &&
                   SPECLAB_FROM_CORRECTION == (int)SPEC_FROM_CORRECTION &&
                   SPECLAB_FROM_BONUS == (int)SPEC_FROM_BONUS &&
                   SPECLAB_FROM_TARGET == (int)SPEC_FROM_TARGET,
               "the origins of the header are those of experiments/generation.h");

/* Appends the text of a token; returns the bytes so far, or -1 if out of memory. */
static int64_t append(speclab_text *t, int64_t used, int token)
{
    const spec_model *target = t->pair.target;
    if (!spec_vocabularies_speaks(target)) return 0;
    for (;;) {
        const size_t room = t->capacity - (size_t)used;
        const size_t n = target->kind->token_text(target, token, t->bytes + used, room);
        if (n < room) return used + (int64_t)n;
        const size_t capacity = (size_t)used + n + 1;
        char *longer = realloc(t->bytes, capacity);
        if (longer == NULL) return -1;
        t->bytes = longer;
        t->capacity = capacity;
    }
}

static int hear(void *self, const int *token, const spec_origin *origin, int n, spec_error *error)
{
    speclab_text *t = self;
    int64_t used = 0;
    for (int i = 0; i < n; i++) {
        t->token[i] = token[i];
        t->origin[i] = (int32_t)origin[i];
        if ((used = append(t, used, token[i])) < 0) return spec_no_memory(error);
        t->end[i] = used;
    }
    t->n = n;
    return GSL_SUCCESS;
}

/* Reads the prompt as tokens, which the caller frees. */
static int read_prompt(int **ret_token, size_t *ret_n, const spec_model *target,
                       const speclab_text_options *o, spec_error *error)
{
    const size_t given = o->prompt != NULL ? strlen(o->prompt) : 0;
    size_t capacity = o->prompt != NULL ? given + 2 : (size_t)o->n_token + 1, n;
    *ret_n = 0;
    if (o->n_token < 0 || (o->n_token > 0 && o->token == NULL))
        return spec_fail(error, GSL_EINVAL,
                         "n_token must be at least 0, and 0 if token is NULL, got %lld",
                         (long long)o->n_token);
    if (o->prompt != NULL && o->n_token > 0)
        return spec_fail(error, GSL_EINVAL, "prompt and token are both given; give only one");
    if (given > 0 && !spec_vocabularies_speaks(target))
        return spec_fail(error, GSL_EINVAL,
                         "the target has no tokenizer; give the prompt as token");
    if ((*ret_token = malloc(capacity * sizeof **ret_token)) == NULL) return spec_no_memory(error);
    if (given == 0) {
        for (int64_t i = 0; i < o->n_token; i++) (*ret_token)[i] = o->token[i];
        *ret_n = (size_t)o->n_token;
        return GSL_SUCCESS;
    }
    n = target->kind->tokenize(target, o->prompt, given, *ret_token, capacity);
    if (n > capacity && n != SPEC_TOKENS_LOST) {
        capacity = n;
        int *longer = realloc(*ret_token, capacity * sizeof *longer);
        if (longer == NULL) return spec_no_memory(error);
        *ret_token = longer;
        n = target->kind->tokenize(target, o->prompt, given, *ret_token, capacity);
    }
    if (n == SPEC_TOKENS_LOST) return spec_no_memory(error);
    *ret_n = n;
    return GSL_SUCCESS;
}

int32_t speclab_text_open(speclab_text **ret_text, speclab *lab, const speclab_pair *pair,
                          const speclab_text_options *opt_options, char *opt_error,
                          uint64_t error_size)
{
    speclab_text_options o;
    speclab_text *t = NULL;
    int *prompt = NULL;
    size_t n_prompt;
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_text != NULL) *ret_text = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_text, "ret_text", &call.error));
    SPEC_TRY(spec_lab_take(&o, sizeof o, opt_options, "speclab_text_options", &call.error));
    if ((t = calloc(1, sizeof *t)) == NULL) SPEC_TRY(spec_no_memory(&call.error));
    t->lab = lab;
    t->opt_stop = o.opt_stop;
    t->capacity = 1; /* room for the empty text */
    if ((t->bytes = calloc(1, t->capacity)) == NULL) SPEC_TRY(spec_no_memory(&call.error));
    SPEC_TRY(spec_lab_pair_init(&t->pair, lab, pair, &call.error));
    SPEC_TRY(read_prompt(&prompt, &n_prompt, t->pair.target, &o, &call.error));
    const spec_generation_plan plan = {
        .decoder = t->pair.config, .seed = o.seed, .opt_stop = o.opt_stop, .hear = hear, .self = t};
    SPEC_TRY(spec_generation_init(&t->generation, &plan, &call.error));
    SPEC_TRY(spec_generation_begin(&t->generation, prompt, n_prompt, o.number,
                                   o.most > 0 ? o.most : UINT64_MAX, &call.error));
    *ret_text = t;
    t = NULL;
done:
    free(prompt);
    speclab_text_close(t);
    return spec_lab_leave(&call, status, NULL, opt_error, error_size);
}

static int32_t ending_of(const speclab_text *t)
{
    if (!t->ended) return SPECLAB_TEXT_GOES_ON;
    return t->ending == SPEC_ENDED_TEXT     ? SPECLAB_TEXT_END
           : t->ending == SPEC_ENDED_WINDOW ? SPECLAB_TEXT_WINDOW
                                            : SPECLAB_TEXT_MOST;
}

static int go_on(speclab_text *t, spec_error *error)
{
    t->n = 0;
    if (t->ended) return GSL_SUCCESS;
    const int status = spec_generation_round(&t->generation, &t->ended, &t->ending, error);
    if (status != GSL_SUCCESS || !t->ended || t->ending != SPEC_ENDED_STOPPED) return status;
    t->ended = false;
    return spec_fail(error, GSL_EFAILED, "interrupted");
}

int32_t speclab_text_round(speclab_text_part *ret, speclab_text *t, char *opt_error,
                           uint64_t error_size)
{
    spec_lab_call call;
    const bool fits = spec_lab_clear(ret, sizeof *ret);
    int status = spec_lab_enter(&call, t != NULL ? t->lab : NULL);
    SPEC_TRY(status);
    SPEC_TRY(spec_lab_need(ret, "ret_part", &call.error));
    if (!fits)
        SPEC_TRY(spec_fail(&call.error, GSL_EINVAL, "the size of speclab_text_part is %u, not %zu",
                           ret->size, sizeof *ret));
    SPEC_TRY(go_on(t, &call.error));
    *ret = (speclab_text_part){.size = sizeof *ret,
                               .n = t->n,
                               .ending = ending_of(t),
                               .n_drafted = t->n > 0 ? t->generation.decoder.round.n_drafted : 0,
                               .token = t->token,
                               .origin = t->origin,
                               .end = t->end,
                               .bytes = t->bytes};
done:
    return spec_lab_leave(&call, status, t != NULL ? t->opt_stop : NULL, opt_error, error_size);
}

void speclab_text_close(speclab_text *t)
{
    if (t == NULL) return;
    spec_generation_free(&t->generation);
    spec_lab_pair_free(&t->pair);
    free(t->bytes);
    free(t);
}
