/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The draft length for an engine, from its logs. */
#include "web/answers.h"

int32_t web_answer_advise(web_lab *web, web_question *question)
{
    const char *file[WEB_ARGUMENTS_MAX + 1], *plain[WEB_ARGUMENTS_MAX + 1];
    speclab_advice *advice = NULL;
    web_question_texts(file, question, "file");
    web_question_texts(plain, question, "plain");
    const speclab_advise_options options = {
        .size = sizeof options,
        .plain = plain,
        .current = web_question_integer(question, "current", 0),
        .plain_tokens_per_s = web_question_number(question, "plain_tokens_per_s", 0.0),
        .round_over_plain = web_question_number(question, "round_over_plain", 0.0)};
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK)
        status = speclab_advise(&advice, web->lab, file, &options, web->error, sizeof web->error);
    if (status != SPECLAB_OK) return status;
    web_json_put_string(&web->json, "text", speclab_advice_text(advice));
    web_json_put_string(&web->json, "advice", speclab_advice_json(advice));
    web_answers_table(&web->json, speclab_advice_table(advice));
    speclab_advice_free(advice);
    return SPECLAB_OK;
}
