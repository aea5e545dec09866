/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz step costs and length choices: any spec and any table of times gives a cost whose seconds
 * are finite and above 0, or a one-line error. The first line is the target's spec, the second the
 * draft's, the third a choice; the rest is the file that table:FILE and fit:FILE read. */
#include "sim/serving/length_choice.h"
#include "sim/serving/step_cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition)) abort();                                                                 \
    } while (0)

enum { SPEC_SIZE = 512, REQUESTS = 5, STEPS = 30 };

/* Returns the next line of the input, with FILE replaced by the table's path. */
static void next_spec(char *spec, const char **at, const char *end, const char *path)
{
    char line[SPEC_SIZE - 64];
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (stop == NULL) stop = end;
    const size_t length = (size_t)(stop - *at);
    const size_t n = length < sizeof line - 1 ? length : sizeof line - 1;
    memcpy(line, *at, n);
    line[n] = '\0';
    *at = stop == end ? end : stop + 1;
    const char *file = strstr(line, "FILE");
    if (file == NULL)
        snprintf(spec, SPEC_SIZE, "%s", line);
    else
        snprintf(spec, SPEC_SIZE, "%.*s%s%s", (int)(file - line), line, path, file + 4);
}

static bool names_other(const char *spec, const char *path)
{
    return (strncmp(spec, "table:", 6) == 0 || strncmp(spec, "fit:", 4) == 0) &&
           strstr(spec, path) == NULL;
}

static void check_error(const spec_error *error)
{
    REQUIRE(error->text[0] != '\0' && strchr(error->text, '\n') == NULL);
}

static void check_seconds(const spec_step_cost *cost)
{
    for (int64_t tokens = 1; tokens < 100000; tokens = tokens * 3 + 1) {
        for (int64_t kv = 0; kv < 10000000; kv = kv * 7 + 5) {
            const spec_step_work work = {.decode_tokens = tokens,
                                         .kv_tokens = kv,
                                         .drafted = tokens,
                                         .decoding = 1 + (int)(tokens / 4),
                                         .passes = 3};
            const double target = spec_step_cost_target(cost, &work),
                         draft = spec_step_cost_draft(cost, &work);
            REQUIRE(target > 0.0 && isfinite(target) && draft >= 0.0 && isfinite(draft));
        }
    }
}

static void check_choice(const spec_length_choice *choice)
{
    static const float alpha[REQUESTS] = {0.0f, 0.3f, 0.75f, 0.99f, 1.0f};
    static const int32_t slot[REQUESTS] = {4, 2, 0, 1, 3};
    const int most = spec_length_K_max(choice);
    void *state;
    REQUIRE(spec_length_begin(&state, choice, REQUESTS) == GSL_SUCCESS);
    for (int i = 0; i < REQUESTS; i++) spec_length_enter(choice, state, i);
    for (int s = 0; s < STEPS; s++) {
        const spec_step_batch batch = {.n = 1 + s % REQUESTS, .alpha = alpha, .slot = slot};
        int32_t K[REQUESTS] = {-1, -1, -1, -1, -1}, accepted[REQUESTS];
        const int common = spec_length_choose(choice, state, &batch, K);
        REQUIRE(common >= -1 && common <= most);
        for (int i = 0; i < batch.n; i++) {
            if (common >= 0) K[i] = common;
            REQUIRE(K[i] >= 0 && K[i] <= most);
            accepted[i] = K[i] * (s % 3) / 2;
        }
        spec_length_observe(choice, state, &batch, K, accepted, 1e-3);
    }
    spec_length_end(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64], target[SPEC_SIZE], draft[SPEC_SIZE], choice_spec[SPEC_SIZE];
    const char *at = (const char *)data, *end = at + size;
    spec_step_cost *cost;
    spec_error error = {.text = ""};
    const int memory = memfd_create("table", 0);
    REQUIRE(memory >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    next_spec(target, &at, end, path);
    next_spec(draft, &at, end, path);
    next_spec(choice_spec, &at, end, path);
    REQUIRE(write(memory, at, (size_t)(end - at)) == end - at);
    /* The fuzzer must not open files with other names. */
    const bool other = names_other(target, path) || names_other(draft, path);
    if (!other) {
        if (spec_step_cost_create(&cost, target, *draft != '\0' ? draft : NULL, &error) ==
            GSL_SUCCESS) {
            spec_length_choice *choice;
            check_seconds(cost);
            REQUIRE(strchr(spec_step_cost_warning(cost), '\n') == NULL);
            if (spec_length_choice_create(&choice, choice_spec, cost, &error) == GSL_SUCCESS) {
                check_choice(choice);
                spec_length_choice_free(choice);
            } else {
                REQUIRE(choice == NULL);
                check_error(&error);
            }
            spec_step_cost_free(cost);
        } else {
            REQUIRE(cost == NULL);
            check_error(&error);
        }
    }
    close(memory);
    return 0;
}
