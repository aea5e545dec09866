/* SPDX-License-Identifier: GPL-3.0-or-later */
/* answers: the answers of a web_lab by topic, each of which calls a function of the library.
 * An answer reads its arguments, calls the library, and writes the members of one JSON object. It
 * returns SPECLAB_* with a line in web->error. */
#ifndef SPECLAB_ANSWERS_H
#define SPECLAB_ANSWERS_H

#include "speclab/speclab.h"
#include "web/json_text.h"
#include "web/question.h"
#include "web/web.h"

enum { WEB_ERROR_SIZE = 512 };

struct web_lab {
    speclab *lab;
    web_json json;
    char error[WEB_ERROR_SIZE];

    /* NULL if there is no simulation. */
    speclab_simulation *simulation;
    int32_t simulation_K;
    speclab_law *law;
    speclab_text *text;
};

/* Reads the arguments target, draft, drafting, policy, rule and K. */
speclab_pair web_answers_pair(web_question *question);

/* Returns SPECLAB_INPUT, with the question's line, if an argument is wrong or unknown, else
 * SPECLAB_OK. */
int32_t web_answers_check(web_lab *web, web_question *question);

/* Returns SPECLAB_INPUT with this line. */
int32_t web_answers_refuse(web_lab *web, const char *line);

/* Writes the members columns, rows, holds, fails and provenance. */
void web_answers_table(web_json *json, const speclab_table *table);

typedef int32_t web_answer(web_lab *web, web_question *question);
web_answer web_answer_version, web_answer_list, web_answer_run, web_answer_formulas;
web_answer web_answer_advise;
web_answer web_answer_round;
web_answer web_answer_law, web_answer_sample, web_answer_evidence;
web_answer web_answer_simulate, web_answer_simulate_acceptance, web_answer_next, web_answer_group,
    web_answer_add;
web_answer web_answer_text, web_answer_text_round;

#endif
