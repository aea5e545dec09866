/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The version, lists of names, experiments and closed forms. */
#include "web/answers.h"

#include <math.h>

int32_t web_answer_version(web_lab *web, web_question *question)
{
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    web_json_put_string(&web->json, "version", speclab_version());
    web_json_put_integer(&web->json, "abi", speclab_abi());
    return SPECLAB_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void write_cell(web_json *json, const speclab_table *table, int64_t row, int32_t column)
{
    switch (speclab_table_kind(table, row, column)) {
    case SPECLAB_CELL_NUMBER:
        web_json_number(json, speclab_table_number(table, row, column));
        break;
    case SPECLAB_CELL_INTEGER:
        web_json_integer(json, speclab_table_integer(table, row, column));
        break;
    default: web_json_string(json, speclab_table_text(table, row, column));
    }
}

int32_t web_answer_list(web_lab *web, web_question *question)
{
    web_json *json = &web->json;
    speclab_table *table = NULL;
    const char *kind = web_question_text(question, "kind", NULL);
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK)
        status = speclab_list(&table, web->lab, kind, web->error, sizeof web->error);
    if (status != SPECLAB_OK) return status;
    web_json_key(json, "names");
    web_json_bracket(json, '[');
    for (int64_t row = 0; row < speclab_table_rows(table); row++) {
        web_json_bracket(json, '{');
        for (int32_t c = 0; c < speclab_table_columns(table); c++) {
            const char *text = speclab_table_text(table, row, c);
            web_json_put_string(json, speclab_table_name(table, c), text != NULL ? text : "");
        }
        web_json_bracket(json, '}');
    }
    web_json_bracket(json, ']');
    speclab_table_free(table);
    return SPECLAB_OK;
}

void web_answers_table(web_json *json, const speclab_table *table)
{
    uint64_t holds, fails;
    web_json_key(json, "columns");
    web_json_bracket(json, '[');
    for (int32_t c = 0; c < speclab_table_columns(table); c++)
        web_json_string(json, speclab_table_name(table, c));
    web_json_bracket(json, ']');
    web_json_key(json, "rows");
    web_json_bracket(json, '[');
    for (int64_t row = 0; row < speclab_table_rows(table); row++) {
        web_json_bracket(json, '[');
        for (int32_t c = 0; c < speclab_table_columns(table); c++) write_cell(json, table, row, c);
        web_json_bracket(json, ']');
    }
    web_json_bracket(json, ']');
    speclab_table_checks(&holds, &fails, table);
    web_json_put_integer(json, "holds", (int64_t)holds);
    web_json_put_integer(json, "fails", (int64_t)fails);
    web_json_put_string(json, "provenance", speclab_table_provenance(table));
}

int32_t web_answer_run(web_lab *web, web_question *question)
{
    speclab_table *table = NULL;
    const char *text = web_question_text(question, "text", "");
    const uint64_t seed = web_question_count(question, "seed", 0);
    const speclab_run_options options = {
        .size = sizeof options,
        .name = web_question_text(question, "name", NULL),
        .seed = web_question_text(question, "seed", NULL) != NULL ? &seed : NULL,
        .limit = web_question_count(question, "limit", 0)};
    int32_t status = web_answers_check(web, question);
    if (status == SPECLAB_OK)
        status = speclab_run(&table, web->lab, text, &options, web->error, sizeof web->error);
    if (status == SPECLAB_OK) web_answers_table(&web->json, table);
    speclab_table_free(table);
    return status;
}

/* ---- closed forms ---------------------------------------------------------------------------- */

int32_t web_answer_formulas(web_lab *web, web_question *question)
{
    web_json *json = &web->json;
    const double alpha = web_question_number(question, "alpha", NAN);
    const double c = web_question_number(question, "c", NAN);
    const int32_t K = web_question_integer(question, "K", 5);
    const int32_t status = web_answers_check(web, question);
    if (status != SPECLAB_OK) return status;
    if (K < 0 || K > 256) return web_answers_refuse(web, "K is outside 0 to 256");
    web_json_put_number(json, "alpha", alpha);
    web_json_put_integer(json, "K", K);
    web_json_put_number(json, "c", c);
    web_json_put_number(json, "emitted", speclab_emitted_mean(alpha, K));
    web_json_put_number(json, "variance", speclab_emitted_variance(alpha, K));
    web_json_put_number(json, "speedup", speclab_speedup(alpha, K, c));
    web_json_put_number(json, "best_K", speclab_best_K(alpha, c));
    web_json_put_number(json, "best_speedup", speclab_best_speedup(alpha, c));
    web_json_put_number(json, "break_even_alpha", speclab_break_even_alpha(K, c));
    web_json_put_number(json, "ops_factor", speclab_ops_factor(alpha, K, c));
    web_json_put_number(json, "memory_factor", speclab_memory_factor(alpha, K));
    web_json_key(json, "accepted");
    web_json_bracket(json, '[');
    for (int32_t k = 0; k <= K; k++)
        web_json_number(json, speclab_accepted_probability(alpha, K, k));
    web_json_bracket(json, ']');
    return SPECLAB_OK;
}
