/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/train/training_state.h"

#include "base/mapping.h"
#include "base/new_file.h"
#include "base/noise.h"
#include "speclab/no_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char magic[] = "speclab training state 4\n";

/* The file has magic, head, settings, arrays of floats, the caller's numbers, checksum. */
typedef struct {
    uint64_t settings;   /* bytes */
    uint64_t numbers;    /* in each array */
    uint64_t callers;    /* numbers of the caller */
    int64_t step;        /* steps done */
    int64_t kept_step;   /* step of the kept weights */
    double used;         /* seconds used of a time limit */
    spec_training_schedule schedule;
} state_head;

enum { ARRAYS = 4 };

/* Lists the arrays of a state, in order; returns their number. */
static int list_arrays(float *ret_array[ARRAYS], const spec_training *training)
{
    const spec_parameters *p = training->parameters;
    ret_array[0] = p->value;
    ret_array[1] = p->m;
    ret_array[2] = p->v;
    ret_array[3] = training->kept;
    return training->kept != NULL ? 4 : 3;
}

static uint64_t checksum(uint64_t sum, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (; bytes >= sizeof(uint64_t); at += sizeof(uint64_t), bytes -= sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = spec_noise_mix(sum ^ word);
    }
    for (; bytes > 0; at++, bytes--) sum = spec_noise_mix(sum ^ *at);
    return sum;
}

/* Writes a piece of the file, and updates the checksum. */
static void put(FILE *out, uint64_t *sum, const void *data, size_t bytes)
{
    *sum = checksum(*sum, data, bytes);
    fwrite(data, 1, bytes, out);
}

void spec_training_numbers_free(spec_training_numbers *numbers)
{
    free(numbers->number);
    *numbers = (spec_training_numbers){0};
}

int spec_training_state_write(const spec_training *training, const char *settings,
                              const spec_training_numbers *numbers, const char *path,
                              spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_parameters *p = training->parameters;
    const state_head head = {.settings = strlen(settings),
                             .numbers = p->numbers,
                             .callers = numbers->n,
                             .step = training->step,
                             .kept_step = training->kept_step,
                             .used = training->used,
                             .schedule = training->plan.schedule};
    float *array[ARRAYS];
    const int arrays = list_arrays(array, training);
    spec_new_file file = {0};
    uint64_t sum = 0;
    char *former = NULL;
    SPEC_TRY(spec_new_file_open(&file, path, error));
    put(file.out, &sum, magic, sizeof magic - 1);
    put(file.out, &sum, &head, sizeof head);
    put(file.out, &sum, settings, head.settings);
    for (int i = 0; i < arrays; i++) put(file.out, &sum, array[i], p->numbers * sizeof *array[i]);
    put(file.out, &sum, numbers->number, numbers->n * sizeof *numbers->number);
    fwrite(&sum, 1, sizeof sum, file.out);
    SPEC_TRY(spec_new_file_close(&file, error));
    if (file.kept > 0 && (former = spec_new_file_former(path, file.kept)) != NULL) unlink(former);
done:
    free(former);
    spec_new_file_free(&file);
    return status;
}

/* Reports the first line in which the settings differ, as it is on each side. */
static int other_settings(const char *path, const char *was, size_t length, const char *is,
                          spec_error *error)
{
    size_t line = 0, i = 0;
    while (i < length && is[i] != '\0' && was[i] == is[i])
        if (was[i++] == '\n') line = i;
    if (i == length && is[i] == '\0') return GSL_SUCCESS;
    size_t end = line;
    while (end < length && was[end] != '\n') end++;
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: was made with %.*s, now it is %.*s; give the same settings, or "
                     "delete the file to begin again",
                     path, (int)(end - line < 80 ? end - line : 80), was + line,
                     (int)(strcspn(is + line, "\n") < 80 ? strcspn(is + line, "\n") : 80),
                     is + line);
}

int spec_training_state_read(spec_training *training, spec_training_numbers *ret_numbers,
                             const char *settings, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_parameters *p = training->parameters;
    spec_mapping file = {0};
    state_head head;
    uint64_t sum;
    *ret_numbers = (spec_training_numbers){0};
    SPEC_TRY(spec_mapping_init(&file, path, error));
    const size_t begin = sizeof magic - 1 + sizeof head;
    if (file.length < begin + sizeof sum || memcmp(file.bytes, magic, sizeof magic - 1) != 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is not the state of a training", path));
    memcpy(&head, file.bytes + sizeof magic - 1, sizeof head);
    if (head.settings > file.length - begin - sizeof sum)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is damaged", path));
    SPEC_TRY(
        other_settings(path, (const char *)file.bytes + begin, head.settings, settings, error));
    memcpy(&sum, file.bytes + file.length - sizeof sum, sizeof sum);
    float *array[ARRAYS];
    const size_t bytes = p->numbers * sizeof *p->value,
                 arrays = (size_t)list_arrays(array, training);
    if (head.numbers != p->numbers || head.step < 0 ||
        !spec_training_schedule_is_valid(&head.schedule) ||
        head.step > spec_training_schedule_steps(&head.schedule, head.step) || head.kept_step < 0 ||
        head.kept_step > head.step || head.callers > file.length / sizeof(double) ||
        file.length !=
            begin + head.settings + arrays * bytes + head.callers * sizeof(double) + sizeof sum)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is damaged", path));
    uint64_t found = checksum(0, file.bytes, sizeof magic - 1);
    found = checksum(found, &head, sizeof head);
    found = checksum(found, file.bytes + begin, head.settings);
    const unsigned char *at = file.bytes + begin + head.settings;
    for (size_t i = 0; i < arrays; i++) found = checksum(found, at + i * bytes, bytes);
    const unsigned char *callers = at + arrays * bytes;
    found = checksum(found, callers, head.callers * sizeof(double));
    if (found != sum) SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: is damaged", path));
    ret_numbers->number = malloc(head.callers * sizeof(double) + 1);
    if (ret_numbers->number == NULL) SPEC_TRY(spec_no_memory_for(error, path));
    ret_numbers->n = head.callers;
    memcpy(ret_numbers->number, callers, head.callers * sizeof(double));
    for (size_t i = 0; i < arrays; i++) memcpy(array[i], at + i * bytes, bytes);
    training->step = head.step;
    training->kept_step = head.kept_step;
    training->used = head.used;
    training->plan.schedule = head.schedule;
done:
    spec_mapping_free(&file);
    return status;
}
