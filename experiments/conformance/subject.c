#include "experiments/conformance/subject.h"

#include "models/names.h"

#include <string.h>

const spec_subject_kind *const spec_subject_kinds[] = {
    &spec_subject_rule,
    NULL,
};

static const char *name_of(int i)
{
    return spec_subject_kinds[i] != NULL ? spec_subject_kinds[i]->name : NULL;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

int spec_subject_open(spec_subject *subject, const char *spec, const spec_subject_limits *limits, spec_error *error)
{
    char name[32] = "plugin";
    const char *path = spec, *colon = strchr(spec, ':');
    *subject = (spec_subject){.limits = *limits};
    if (colon != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)(colon - spec), spec);
        path = colon + 1;
    } else if (!ends_with(spec, ".so")) {
        return spec_fail(error, GSL_EINVAL,
                         "'%.100s' names no sampler: rule:NAME, plugin:FILE.so or exec:COMMAND is wanted", spec);
    }
    const int line = spec_names_find(name_of, name, "kind of sampler", error);
    if (line < 0) return GSL_EINVAL;
    if (path[0] == '\0') return spec_fail(error, GSL_EINVAL, "'%.100s': nothing comes after the colon", spec);
    subject->kind = spec_subject_kinds[line];
    const int status = subject->kind->open(subject, path, error);
    if (status != GSL_SUCCESS) spec_subject_close(subject);
    return status;
}

void spec_subject_close(spec_subject *subject)
{
    if (subject->kind != NULL) subject->kind->close(subject);
    *subject = (spec_subject){.kind = NULL};
}

int spec_subject_begin(spec_subject *subject, const spec_fixture *fixture, uint32_t scope, int capacity,
                       spec_error *error)
{
    subject->fixture = fixture;
    subject->scope = scope;
    subject->capacity = capacity;
    return subject->kind->begin(subject, error);
}

int spec_subject_run(spec_subject *subject, int n, spec_error *error)
{
    return subject->kind->run(subject, n, error);
}

int spec_subject_generate(spec_subject *subject, int start, int K, uint64_t seed, int32_t *ret_token,
                          int64_t n_tokens, spec_error *error)
{
    return subject->kind->generate(subject, start, K, seed, ret_token, n_tokens, error);
}

int spec_subject_counters(spec_subject *subject, uint64_t ret[3], bool *ret_known, spec_error *error)
{
    *ret_known = false;
    return subject->kind->counters != NULL ? subject->kind->counters(subject, ret, ret_known, error) : GSL_SUCCESS;
}

/* ---- a batch in one block ---------------------------------------------------------------------------------------- */

enum { ALIGNED = 16 };

/* The next array of the block: `memory` NULL only counts. */
static void *lay(void *memory, size_t *used, size_t n, size_t size)
{
    void *array = memory != NULL ? (char *)memory + *used : NULL;
    *used += (n * size + ALIGNED - 1) / ALIGNED * ALIGNED;
    return array;
}

static size_t lay_all(spec_batch *batch, void *memory, int capacity, int nodes, int n_coins)
{
    const size_t n = (size_t)capacity, m = n * (size_t)nodes, k = n * (size_t)(nodes + 1);
    size_t used = 0;
    *batch = (spec_batch){.capacity = capacity, .nodes = nodes, .n_coins = n_coins};
    batch->n_nodes = lay(memory, &used, n, sizeof *batch->n_nodes);
    batch->token = lay(memory, &used, m, sizeof *batch->token);
    batch->state = lay(memory, &used, k, sizeof *batch->state);
    batch->request = lay(memory, &used, n, sizeof *batch->request);
    batch->seed = lay(memory, &used, n, sizeof *batch->seed);
    batch->offset = lay(memory, &used, n, sizeof *batch->offset);
    batch->coin = lay(memory, &used, n * (size_t)n_coins, sizeof *batch->coin);
    batch->emitted = lay(memory, &used, k, sizeof *batch->emitted);
    batch->n_emitted = lay(memory, &used, n, sizeof *batch->n_emitted);
    batch->n_accepted = lay(memory, &used, n, sizeof *batch->n_accepted);
    batch->fault = lay(memory, &used, n, sizeof *batch->fault);
    if (n_coins == 0) batch->coin = NULL;
    return used;
}

size_t spec_batch_bytes(int capacity, int nodes, int n_coins)
{
    spec_batch counted;
    return lay_all(&counted, NULL, capacity, nodes, n_coins);
}

void spec_batch_lay(spec_batch *batch, void *memory, int capacity, int nodes, int n_coins)
{
    lay_all(batch, memory, capacity, nodes, n_coins);
}
