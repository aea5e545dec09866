/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A text, round by round, with the origin of each token. */
#include "web/answers.h"

int32_t web_answer_text(web_lab *web, web_question *question)
{
    const speclab_pair pair = web_answers_pair(question);
    const speclab_text_options options = {.size = sizeof options,
                                          .seed = web_question_count(question, "seed", 42),
                                          .number = web_question_count(question, "number", 0),
                                          .most = web_question_count(question, "most", 0),
                                          .prompt = web_question_text(question, "prompt", NULL)};
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    speclab_text_close(web->text);
    return speclab_text_open(&web->text, web->lab, &pair, &options, web->error, sizeof web->error);
}

int32_t web_answer_text_round(web_lab *web, web_question *question)
{
    static const char *const origin[] = {[SPECLAB_FROM_DRAFT] = "draft",
                                         [SPECLAB_FROM_CORRECTION] = "correction",
                                         [SPECLAB_FROM_BONUS] = "bonus",
                                         [SPECLAB_FROM_TARGET] = "target"};
    static const char *const ending[] = {[SPECLAB_TEXT_GOES_ON] = NULL,
                                         [SPECLAB_TEXT_MOST] = "most",
                                         [SPECLAB_TEXT_END] = "end",
                                         [SPECLAB_TEXT_WINDOW] = "window"};
    web_json *json = &web->json;
    speclab_text_part part = {.size = sizeof part};
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK && web->text == NULL)
        status = web_answers_refuse(web, "no text is open");
    if (status == SPECLAB_OK)
        status = speclab_text_round(&part, web->text, web->error, sizeof web->error);
    if (status != SPECLAB_OK) return status;
    web_json_key(json, "tokens");
    web_json_bracket(json, '[');
    for (int32_t i = 0; i < part.n; i++) {
        const int64_t begin = i > 0 ? part.end[i - 1] : 0;
        web_json_bracket(json, '{');
        web_json_put_integer(json, "token", part.token[i]);
        web_json_put_string(json, "origin", origin[part.origin[i]]);
        web_json_key(json, "bytes");
        web_json_bytes(json, part.bytes + begin, (size_t)(part.end[i] - begin));
        web_json_bracket(json, '}');
    }
    web_json_bracket(json, ']');
    web_json_put_integer(json, "n_drafted", part.n_drafted);
    web_json_put_string(json, "ending", ending[part.ending]);
    return SPECLAB_OK;
}
