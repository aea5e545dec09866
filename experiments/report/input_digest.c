/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/input_digest.h"

#include "base/settings.h"
#include "models/ngram/corpus.h"
#include "sim/draft/drafter.h"
#include "speclab/no_memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t begin = 0xcbf29ce484222325u;

static uint64_t absorb(uint64_t hash, const void *bytes, size_t n)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < n; i++) hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

/* Hashes a text with its terminator, so that "ab", "c" differs from "a", "bc". */
static uint64_t absorb_text(uint64_t hash, const char *text)
{
    return absorb(hash, text, strlen(text) + 1);
}

/* ---- the experiment -------------------------------------------------------------------------- */

static uint64_t digest_plan(const spec_experiment *e)
{
    char numbers[128];
    uint64_t hash = absorb_text(begin, e->measure->name);
    const uint64_t size = spec_grid_size(&e->grid);
    snprintf(numbers, sizeof numbers, "%" PRIu64 " %.17g %" PRIu64,
             e->measure->simulates ? e->rounds : 0, e->standard_error, e->seed);
    hash = absorb_text(hash, numbers);
    for (uint64_t i = 0; i < size; i++)
        for (int a = 0; a < e->grid.n_axes; a++) {
            hash = absorb_text(hash, e->grid.axis[a].name);
            hash = absorb_text(hash, spec_grid_value(&e->grid, i, e->grid.axis[a].name));
        }
    return hash;
}

/* ---- the files ------------------------------------------------------------------------------- */

/* Hashes the files of a path or pattern; without files, *hash is unchanged. */
static int absorb_files(uint64_t *hash, const char *path, const char *opt_share, spec_error *error)
{
    spec_corpus corpus = {0};
    spec_block block;
    int status = GSL_SUCCESS;
    status = spec_corpus_init(&corpus, path, opt_share, 0, NULL);
    if (status == GSL_ENOMEM) return spec_no_memory(error);
    if (status != GSL_SUCCESS) return GSL_SUCCESS;
    *hash = absorb_text(*hash, path);
    do {
        SPEC_TRY(spec_corpus_next(&block, &corpus, 0, error));
        if (block.text != NULL) *hash = absorb(*hash, block.text, block.length);
        if (block.ends_text) *hash = absorb_text(*hash, "");
    } while (block.text != NULL);
done:
    spec_corpus_free(&corpus);
    return status;
}

/* Hashes the file that a model spec or a parameter names, if any: after its kind
 * ("ngram:a.txt?order=3"), or alone ("a.gguf"). */
static int absorb_named(uint64_t *hash, const char *value, const char *opt_share,
                        spec_error *error)
{
    spec_settings spec = {0};
    int status = spec_settings_init(&spec, spec_drafter_model_of(value), NULL);
    if (status != GSL_SUCCESS) return status == GSL_ENOMEM ? spec_no_memory(error) : GSL_SUCCESS;
    if (spec.path[0] != '\0') status = absorb_files(hash, spec.path, opt_share, error);
    else if (strpbrk(spec.name, "./") != NULL) 
        status = absorb_files(hash, spec.name, opt_share, error);
    spec_settings_free(&spec);
    return status;
}

/* Returns whether values of this axis name files. */
static bool names_files(const char *axis, const char *value)
{
    static const char *const axes[] = {"target",   "draft",      "inner_draft",
                                       "drafting", "accuracies", "verify"};
    double number;
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (strcmp(axes[i], axis) == 0) return !spec_settings_parse_double(&number, value);
    return false;
}

static bool is_repeated(const spec_axis *axis, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(axis->value[k], axis->value[i]) == 0) return true;
    return false;
}

/* Hashes all files; *ret_hash is `begin` if there are none. */
static int digest_files(uint64_t *ret_hash, const spec_experiment *e, const char *opt_share,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    *ret_hash = begin;
    for (int a = 0; a < e->grid.n_axes; a++) {
        const spec_axis *axis = &e->grid.axis[a];
        for (int i = 0; i < axis->n; i++)
            if (names_files(axis->name, axis->value[i]) && !is_repeated(axis, i))
                SPEC_TRY(absorb_named(ret_hash, axis->value[i], opt_share, error));
    }
done:
    return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

int spec_input_digest(char digest[SPEC_INPUT_DIGEST_SIZE], const spec_experiment *experiment,
                      const char *opt_share, spec_error *error)
{
    uint64_t files;
    digest[0] = '\0';
    const int status = digest_files(&files, experiment, opt_share, error);
    if (status != GSL_SUCCESS) return status;
    const int n = snprintf(digest, SPEC_INPUT_DIGEST_SIZE, "%016" PRIx64, digest_plan(experiment));
    if (files != begin)
        snprintf(digest + n, (size_t)(SPEC_INPUT_DIGEST_SIZE - n), "+%016" PRIx64, files);
    return status;
}

bool spec_input_digest_agrees(const spec_experiment *experiment, const char *opt_share)
{
    char digest[SPEC_INPUT_DIGEST_SIZE], plan[17];
    if (experiment->finding[0] == '\0' || experiment->finding_for[0] == '\0') return false;
    snprintf(plan, sizeof plan, "%016" PRIx64, digest_plan(experiment));
    if (strncmp(experiment->finding_for, plan, 16) != 0) return false;
    return spec_input_digest(digest, experiment, opt_share, NULL) == GSL_SUCCESS &&
           strcmp(digest, experiment->finding_for) == 0;
}
