/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recommends a draft length for an engine, from its logs, using tools/advise. */
#include "api/lab.h"
#include "api/lab_table.h"

#include "base/json_memory.h"
#include "base/memory_text.h"
#include "speclab/no_memory.h"
#include "tools/advise/advice_report.h"
#include "tools/advise/asked_advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 80 };

struct speclab_advice {
    speclab_table table;
    char *text, *json;
};

/* ---- the question ---------------------------------------------------------------------------- */

/* Leaves *value alone if none is given. */
static int set_positive(double *value, double given, const char *name, spec_error *error)
{
    const double least = 1e-6, most = 1e9;
    if (given == 0.0) return GSL_SUCCESS;
    if (!(given >= least && given <= most))
        return spec_fail(error, GSL_EINVAL, "%s must be %g to %g, got %g", name, least, most,
                         given);
    *value = given;
    return GSL_SUCCESS;
}

static int make_question(spec_advice_question *question, const speclab_advise_options *o,
                         spec_error *error)
{
    const bool plain = o->plain != NULL && o->plain[0] != NULL;
    int status = GSL_SUCCESS;
    *question = (spec_advice_question)SPEC_ADVICE_QUESTION;
    SPEC_TRY(set_positive(&question->plain_tokens_per_s, o->plain_tokens_per_s,
                          "plain_tokens_per_s", error));
    SPEC_TRY(
        set_positive(&question->round_over_plain, o->round_over_plain, "round_over_plain", error));
    if (plain + (o->plain_tokens_per_s != 0.0) + (o->round_over_plain != 0.0) > 1)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "give only one of plain, plain_tokens_per_s and round_over_plain"));
    if (o->current < 0 || o->current >= SPEC_ADVICE_K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "current must be 1 to %d, got %d", SPEC_ADVICE_K - 1,
                           o->current));
    if (o->K == NULL) return GSL_SUCCESS;
    if (o->K[0] < 0 || o->K[0] > o->K[1] || o->K[1] >= SPEC_ADVICE_K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "K must be a range within 0 to %d, got %d to %d",
                           SPEC_ADVICE_K - 1, o->K[0], o->K[1]));
    question->K_low = o->K[0];
    question->K_high = o->K[1];
done:
    return status;
}

static int count(const char *const *opt_list)
{
    int n = 0;
    while (opt_list != NULL && opt_list[n] != NULL) n++;
    return n;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void put_text(json_t *object, const char *key, const char *text)
{
    json_object_set_new(object, key, spec_json_string(text, strlen(text)));
}

static void put_length(json_t *object, const char *key, int K)
{
    json_object_set_new(object, key, K >= 0 ? json_integer(K) : json_null());
}

static json_t *json_of(const spec_diagnosis_facts *facts)
{
    spec_sentences text;
    spec_diagnosis_said said;
    json_t *root = json_object(), *diagnoses = json_array();
    spec_advice_report_answer(text, facts);
    put_text(root, "answer", text);
    put_text(root, "verdict", spec_advice_verdict_name(facts->advice->verdict));
    put_length(root, "to_K", facts->advice->to_K);
    put_length(root, "decides_K", facts->advice->decides_K);
    spec_advice_report_setting(text, facts);
    put_text(root, "setting", text);
    json_object_set_new(root, "diagnoses", diagnoses);
    for (const spec_diagnosis *d = spec_diagnoses; d->name != NULL; d++) {
        if (!spec_diagnosis_applies(&said, d, facts)) continue;
        json_t *one = json_object();
        json_array_append_new(diagnoses, one);
        put_text(one, "name", d->name);
        json_object_set_new(one, "wrong", json_boolean(d->wrong));
        put_text(one, "evidence", said.evidence);
        put_text(one, "next", said.next);
    }
    return root;
}

static int write_json(FILE *out, const spec_diagnosis_facts *facts, spec_error *error)
{
    spec_json_begin();
    json_t *root = json_of(facts);
    const bool whole = json_dumpf(root, out, JSON_INDENT(1)) == 0 && !spec_json_lost();
    json_decref(root);
    return whole ? GSL_SUCCESS : spec_no_memory(error);
}

static int write_text(FILE *out, const spec_diagnosis_facts *facts, spec_error *error)
{
    return spec_advice_report_write(out, facts, COLUMNS, error);
}

/* Captures the output of `write`; the caller frees it. */
static int print(char **ret, int (*write)(FILE *, const spec_diagnosis_facts *, spec_error *),
                 const spec_diagnosis_facts *facts, spec_error *error)
{
    spec_memory_text text = {.out = NULL};
    if (!spec_memory_text_open(&text)) return spec_no_memory(error);
    const int status = write(text.out, facts, error);
    *ret = spec_memory_text_take(&text, NULL);
    return status == GSL_SUCCESS && *ret == NULL ? spec_no_memory(error) : status;
}

static int keep(speclab_advice **ret, const spec_diagnosis_facts *facts, spec_error *error)
{
    speclab_advice *kept = calloc(1, sizeof *kept);
    int status = GSL_SUCCESS;
    if (kept == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_advice_report_table(&kept->table.result.table, facts, error));
    SPEC_TRY(print(&kept->text, write_text, facts, error));
    SPEC_TRY(print(&kept->json, write_json, facts, error));
    *ret = kept;
    kept = NULL;
done:
    speclab_advice_free(kept);
    return status;
}

static int advise(speclab_advice **ret, const char *const *file, const speclab_advise_options *o,
                  spec_error *error)
{
    const spec_advice_paths paths = {.file = file,
                                     .n_files = count(file),
                                     .plain = o->plain,
                                     .n_plain = count(o->plain),
                                     .opt_before = o->before,
                                     .opt_format = o->engine,
                                     .K = &o->current,
                                     .n_K = o->current > 0,
                                     .opt_stop = o->opt_stop};
    spec_advice_question question;
    spec_asked_advice asked = {.advice = NULL};
    int status = GSL_SUCCESS;
    SPEC_TRY(make_question(&question, o, error));
    SPEC_TRY(spec_asked_advice_init(&asked, &paths, &question, error));
    status = keep(ret, &asked.facts, error);
done:
    spec_asked_advice_free(&asked);
    return status == GSL_EUNSUP ? GSL_EINVAL : status; /* the file cannot answer the question */
}

int32_t speclab_advise(speclab_advice **ret_advice, speclab *lab, const char *const *file,
                       const speclab_advise_options *opt_options, char *opt_error,
                       uint64_t error_size)
{
    speclab_advise_options options = {.size = 0};
    spec_lab_call call;
    int status = GSL_SUCCESS;
    if (ret_advice != NULL) *ret_advice = NULL;
    SPEC_TRY(spec_lab_enter(&call, lab));
    SPEC_TRY(spec_lab_need(ret_advice, "ret_advice", &call.error));
    SPEC_TRY(spec_lab_need(file, "file", &call.error));
    SPEC_TRY(spec_lab_take(&options, sizeof options, opt_options, "speclab_advise_options",
                           &call.error));
    status = advise(ret_advice, file, &options, &call.error);
done:
    return spec_lab_leave(&call, status, options.opt_stop, opt_error, error_size);
}

void speclab_advice_free(speclab_advice *advice)
{
    if (advice == NULL) return;
    spec_result_free(&advice->table.result);
    free(advice->text);
    free(advice->json);
    free(advice);
}

const char *speclab_advice_text(const speclab_advice *advice)
{
    return advice != NULL ? advice->text : "";
}

const char *speclab_advice_json(const speclab_advice *advice)
{
    return advice != NULL ? advice->json : "";
}

const speclab_table *speclab_advice_table(const speclab_advice *advice)
{
    return advice != NULL ? &advice->table : NULL;
}
