/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The exact law of a pair, samples of it, and the evidence against its promise. */
#include "web/answers.h"

#include <math.h>
#include <stdlib.h>

static speclab_law_numbers numbers_of(const speclab_law *law)
{
    speclab_law_numbers numbers = {.size = sizeof numbers};
    speclab_law_read(&numbers, law);
    return numbers;
}

int32_t web_answer_law(web_lab *web, web_question *question)
{
    web_json *json = &web->json;
    const speclab_pair pair = web_answers_pair(question);
    const speclab_law_options options = {.size = sizeof options,
                                         .tokens = web_question_integer(question, "tokens", 2),
                                         .limit = web_question_count(question, "limit", 0)};
    int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    speclab_law_close(web->law);
    status = speclab_law_open(&web->law, web->lab, &pair, &options, web->error, sizeof web->error);
    if (status != SPECLAB_OK) return status;
    const speclab_law_numbers law = numbers_of(web->law);
    web_json_put_integer(json, "vocab", law.vocab);
    web_json_put_integer(json, "tokens", options.tokens);
    web_json_put_integer(json, "branches", (int64_t)law.branches);
    web_json_put_number(json, "tv", law.tv);
    web_json_put_number(json, "max_error", law.max_error);
    web_json_put_number(json, "accepted", law.accepted);
    web_json_key(json, "law");
    web_json_numbers(json, law.law, law.n_texts);
    web_json_key(json, "promise");
    web_json_numbers(json, law.promise, law.n_texts);
    return SPECLAB_OK;
}

static int32_t need_law(web_lab *web)
{
    return web->law != NULL ? SPECLAB_OK : web_answers_refuse(web, "no law is open");
}

int32_t web_answer_sample(web_lab *web, web_question *question)
{
    const uint64_t seed = web_question_count(question, "seed", 42),
                   batch = web_question_count(question, "batch", 0),
                   texts = web_question_count(question, "texts", 1000);
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK) status = need_law(web);
    if (status != SPECLAB_OK) return status;
    const int64_t n = numbers_of(web->law).n_texts;
    uint64_t *count = calloc((size_t)n, sizeof *count);
    if (count == NULL) return SPECLAB_MEMORY;
    status = speclab_law_sample(count, web->law, seed, batch, texts, web->error, sizeof web->error);
    web_json_key(&web->json, "counts");
    web_json_counts(&web->json, count, n);
    free(count);
    return status;
}

/* Returns the total variation distance of counts, `texts` in all, from a law. */
static double distance(const uint64_t *count, double texts, const double *law, int64_t n)
{
    double sum = 0.0;
    for (int64_t i = 0; i < n; i++) sum += fabs((double)count[i] / texts - law[i]);
    return 0.5 * sum;
}

static int32_t judge(web_lab *web, const double *given, int32_t n)
{
    web_json *json = &web->json;
    const speclab_law_numbers law = numbers_of(web->law);
    if (n != law.n_texts) return web_answers_refuse(web, "counts has not one number per text");
    uint64_t *count = calloc((size_t)n, sizeof *count);
    double texts = 0.0;
    if (count == NULL) return SPECLAB_MEMORY;
    for (int32_t i = 0; i < n; i++) {
        count[i] = given[i] >= 0.0 && given[i] < 0x1p53 ? (uint64_t)given[i] : 0;
        texts += (double)count[i];
    }
    const double log_e = speclab_law_log_e(web->law, count);
    web_json_put_number(json, "texts", texts);
    web_json_put_number(json, "tv", distance(count, texts, law.promise, n));
    web_json_put_number(json, "tv_law", distance(count, texts, law.law, n));
    web_json_put_number(json, "log_e", log_e);
    web_json_put_number(json, "p", log_e > 0.0 ? exp(-log_e) : 1.0);
    free(count);
    return SPECLAB_OK;
}

int32_t web_answer_evidence(web_lab *web, web_question *question)
{
    int32_t n;
    double *count = web_question_numbers(&n, question, "counts");
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK) status = need_law(web);
    if (status == SPECLAB_OK) status = judge(web, count, n);
    free(count);
    return status;
}
