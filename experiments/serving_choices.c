/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving_choices.h"

#include "base/settings.h"
#include "experiments/number_list.h"
#include "speclab/no_memory.h"
#include "speclab/round.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ----------------------------------------------------------------------------------- */

/* Returns the length of the next item of a list: up to a comma outside of brackets. */
static size_t item_length(const char *list)
{
    int depth = 0;
    size_t n = 0;
    for (; list[n] != '\0' && (list[n] != ',' || depth > 0); n++)
        depth += (list[n] == '[') - (list[n] == ']');
    return n;
}

/* Moves to the item after this one; returns false at the end. */
static bool next_item(const char **list, size_t n)
{
    *list += n;
    if (**list != ',') return false;
    (*list)++;
    return true;
}

static bool is_fixed(const char *item, size_t n)
{
    return n == strlen("fixed") && strncmp(item, "fixed", n) == 0;
}

/* Reads the list of K, in its order. */
static int read_K(int K[SPEC_SERVING_WAYS], int *ret_n, const char *list, spec_error *error)
{
    spec_number_list numbers;
    int status = GSL_SUCCESS;
    *ret_n = 0;
    SPEC_TRY(spec_number_list_parse(&numbers, "K", list, error));
    if (numbers.n > SPEC_SERVING_WAYS - 1)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "K: more than %d values", SPEC_SERVING_WAYS - 1));
    for (int i = 0; i < numbers.n; i++) {
        if (!spec_settings_parse_int(&K[i], numbers.value[i]) || K[i] < 0 || K[i] > SPEC_K_MAX)
            SPEC_TRY(spec_fail(error, GSL_EDOM, "K: %.40s is not a whole number from 0 to %d",
                               numbers.value[i], SPEC_K_MAX));
        for (int k = 0; k < i; k++)
            if (K[k] == K[i]) SPEC_TRY(spec_fail(error, GSL_EINVAL, "K: %d is given twice", K[i]));
    }
    *ret_n = numbers.n;
done:
    spec_number_list_free(&numbers);
    return status;
}

int spec_serving_choices_count(uint64_t *ret_rows, const char *K, const char *lengths,
                               spec_error *error)
{
    int list[SPEC_SERVING_WAYS], n_K, status = GSL_SUCCESS;
    uint64_t rows = 0;
    size_t n;
    *ret_rows = 0;
    SPEC_TRY(read_K(list, &n_K, K, error));
    do {
        n = item_length(lengths);
        rows += is_fixed(lengths, n) ? (uint64_t)n_K : 1;
    } while (next_item(&lengths, n));
    if (rows > SPEC_SERVING_WAYS - 1)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "lengths: more than %d rows, counting each K",
                           SPEC_SERVING_WAYS - 1));
    *ret_rows = rows;
done:
    return status;
}

/* ---- ways ------------------------------------------------------------------------------------ */

/* Returns the key that sets a choice's largest K: K or K_max. NULL if the choice has no such key,
 * or if the spec already gives it. */
static const char *key_of_K(const spec_settings *settings)
{
    static const char *const keys[] = {"K", "K_max"};
    const char *usage, *summary, *reference;
    const size_t n = strlen(settings->name);
    for (int i = 0; spec_length_choice_line(i, &usage, &summary, &reference); i++)
        for (int k = 0; k < 2; k++) {
            char pair[16];
            snprintf(pair, sizeof pair, "%s=", keys[k]);
            const char *at = strstr(usage, pair);
            if (strncmp(usage, settings->name, n) == 0 && usage[n] == '?' && at != NULL &&
                (at[-1] == '?' || at[-1] == '&'))
                return spec_settings_text(settings, keys[k]) == NULL ? keys[k] : NULL;
        }
    return NULL;
}

/* Returns the spec of a choice, with K as its largest K if it takes one and does not give it. NULL:
 * out of memory. */
static char *spec_with_K(const char *lengths, int K)
{
    spec_settings settings = {0};
    char *text = NULL;
    const int status = spec_settings_init(&settings, lengths, NULL);
    if (status == GSL_ENOMEM) return NULL;
    const char *key = status == GSL_SUCCESS ? key_of_K(&settings) : NULL;
    const int n = key == NULL || K < 0
                      ? asprintf(&text, "%s", lengths)
                      : asprintf(&text, "%s%c%s=%d", lengths, settings.n > 0 ? '&' : '?', key, K);
    spec_settings_free(&settings);
    return n < 0 ? NULL : text;
}

static int add_way(spec_serving_choices *choices, const char *lengths, size_t n, int K, bool asked,
                   const spec_step_cost *cost, spec_error *error)
{
    spec_serving_way *way = &choices->way[choices->n];
    spec_error inner = {""};
    char *spec = NULL;
    int status = GSL_SUCCESS;
    *way = (spec_serving_way){.fixed = is_fixed(lengths, n), .asked = asked};
    way->lengths = strndup(lengths, n);
    if (way->lengths != NULL) spec = spec_with_K(way->lengths, K);
    choices->n++;
    if (spec == NULL) SPEC_TRY(spec_no_memory(error));
    status = spec_length_choice_create(&way->choice, spec, cost, &inner);
    if (status != GSL_SUCCESS) SPEC_TRY(spec_fail(error, status, "lengths: %s", inner.text));
    way->K = spec_length_K_max(way->choice);
done:
    free(spec);
    return status;
}

int spec_serving_choices_init(spec_serving_choices *choices, const char *K, const char *lengths,
                              const spec_step_cost *cost, spec_error *error)
{
    int list[SPEC_SERVING_WAYS], n_K, most = 0, status = GSL_SUCCESS;
    uint64_t rows;
    size_t n;
    *choices = (spec_serving_choices){0};
    SPEC_TRY(spec_serving_choices_count(&rows, K, lengths, error));
    SPEC_TRY(read_K(list, &n_K, K, error));
    for (int i = 0; i < n_K; i++) most = list[i] > most ? list[i] : most;
    choices->plain = -1;
    do {
        n = item_length(lengths);
        if (!is_fixed(lengths, n)) {
            SPEC_TRY(add_way(choices, lengths, n, most > 0 ? most : -1, true, cost, error));
            continue;
        }
        for (int i = 0; i < n_K; i++) {
            if (list[i] == 0) choices->plain = choices->n;
            SPEC_TRY(add_way(choices, lengths, n, list[i], true, cost, error));
        }
    } while (next_item(&lengths, n));
    if (choices->plain < 0) {
        choices->plain = choices->n;
        SPEC_TRY(add_way(choices, "fixed", strlen("fixed"), 0, false, cost, error));
    }
done:
    if (status != GSL_SUCCESS) spec_serving_choices_free(choices);
    return status;
}

void spec_serving_choices_free(spec_serving_choices *choices)
{
    for (int i = 0; i < choices->n; i++) {
        free(choices->way[i].lengths);
        spec_length_choice_free(choices->way[i].choice);
    }
    *choices = (spec_serving_choices){0};
}
