/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "web/web.h"

#include "web/answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    web_answer *answer;
} answers[] = {
    {"version", web_answer_version},
    {"list", web_answer_list},
    {"run", web_answer_run},
    {"formulas", web_answer_formulas},
    {"advise", web_answer_advise},
    {"round", web_answer_round},
    {"law", web_answer_law},
    {"sample", web_answer_sample},
    {"evidence", web_answer_evidence},
    {"simulate", web_answer_simulate},
    {"simulate_acceptance", web_answer_simulate_acceptance},
    {"next", web_answer_next},
    {"group", web_answer_group},
    {"add", web_answer_add},
    {"text", web_answer_text},
    {"text_round", web_answer_text_round},
};
enum { ANSWERS = sizeof answers / sizeof *answers };

web_lab *web_open(void)
{
    const speclab_options options = {.size = sizeof options, .threads = 1};
    web_lab *made = calloc(1, sizeof *made);
    if (made == NULL || speclab_open(&made->lab, &options, NULL, 0) == SPECLAB_OK) return made;
    free(made);
    return NULL;
}

void web_close(web_lab *web)
{
    if (web == NULL) return;
    speclab_simulation_close(web->simulation);
    speclab_law_close(web->law);
    speclab_text_close(web->text);
    speclab_close(web->lab);
    web_json_free(&web->json);
    free(web);
}

/* ---- what answers share ---------------------------------------------------------------------- */

speclab_pair web_answers_pair(web_question *question)
{
    return (speclab_pair){.size = sizeof(speclab_pair),
                          .K = web_question_integer(question, "K", 5),
                          .target = web_question_text(question, "target", NULL),
                          .draft = web_question_text(question, "draft", NULL),
                          .drafting = web_question_text(question, "drafting", NULL),
                          .policy = web_question_text(question, "policy", NULL),
                          .rule = web_question_text(question, "rule", NULL)};
}

int32_t web_answers_refuse(web_lab *web, const char *line)
{
    snprintf(web->error, sizeof web->error, "%s", line);
    return SPECLAB_INPUT;
}

int32_t web_answers_check(web_lab *web, web_question *question)
{
    return web_question_check(question) ? SPECLAB_OK : web_answers_refuse(web, question->wrong);
}

/* ---- an answer ------------------------------------------------------------------------------- */

static int32_t answer(web_lab *web, web_question *question)
{
    for (int i = 0; i < ANSWERS; i++)
        if (strcmp(answers[i].name, question->name) == 0)
            return answers[i].answer(web, question);
    snprintf(web->error, sizeof web->error, "there is no question '%.60s'", question->name);
    return SPECLAB_INPUT;
}

const char *web_ask(web_lab *web, const char *text)
{
    static const char no_memory[] = "{\"error\":\"out of memory\",\"status\":2}";
    web_question question;
    if (!web_question_init(&question, text)) return no_memory;
    web->error[0] = '\0';
    web_json_clear(&web->json);
    web_json_bracket(&web->json, '{');
    const int32_t status = answer(web, &question);
    web_question_free(&question);
    if (status != SPECLAB_OK) {
        web_json_clear(&web->json);
        web_json_bracket(&web->json, '{');
        web_json_put_string(&web->json, "error", web->error);
        web_json_put_integer(&web->json, "status", status);
    }
    web_json_bracket(&web->json, '}');
    return web->json.lost ? no_memory : web->json.text;
}
