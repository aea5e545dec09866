/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/number_list.h"

#include "base/settings.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *spec_number_list_text(double value, char buffer[SPEC_NUMBER_SIZE])
{
    if (value == floor(value) && fabs(value) < 1e15) {
        /* write 1000000 rather than 1e+06, which a parser of whole numbers refuses */
        snprintf(buffer, SPEC_NUMBER_SIZE, "%.0f", value + 0.0);
        return buffer;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, SPEC_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    return buffer;
}

static int add_text(spec_number_list *list, const char *text)
{
    if (list->n == list->capacity) {
        int capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        char **value = realloc(list->value, (size_t)capacity * sizeof *value);
        if (value == NULL) return GSL_ENOMEM;
        list->value = value;
        list->capacity = capacity;
    }
    if ((list->value[list->n] = strdup(text)) == NULL) return GSL_ENOMEM;
    list->n++;
    return GSL_SUCCESS;
}

static int add_range(spec_number_list *list, const char *name, const char *item, double low,
                     double high, double step, spec_error *error)
{
    double count =
        floor((high - low) / step + 1e-9) + 1.0; /* the end belongs to the range, up to rounding */
    if (step == 0.0)
        return spec_fail(error, GSL_EINVAL, "%s: the step of '%.80s' is zero", name, item);
    if (!(count >= 1.0))
        return spec_fail(error, GSL_EINVAL, "%s: the range '%.80s' is empty", name, item);
    if (count > SPEC_NUMBER_LIST_MAX - list->n)
        return spec_fail(error, GSL_EINVAL, "%s: '%.80s' has over a million values", name, item);
    for (int i = 0; i < (int)count; i++) {
        char rounded[SPEC_NUMBER_SIZE], buffer[SPEC_NUMBER_SIZE];
        double value = low + i * step;
        if (fabs(value) < 1e-12 * fabs(step)) value = 0.0; /* -0.1:0.1:0.1 */
        snprintf(rounded, sizeof rounded, "%.12g", value);
        if (add_text(list, spec_number_list_text(strtod(rounded, NULL), buffer)) != GSL_SUCCESS)
            return spec_no_memory_for(error, name);
    }
    return GSL_SUCCESS;
}

/* Adds an item of `list_text`, the whole list. */
static int add_item(spec_number_list *list, const char *name, char *item, const char *list_text,
                    spec_error *error)
{
    char *part[3] = {item, NULL, NULL}, whole[100], buffer[SPEC_NUMBER_SIZE];
    double number[3];
    int n = 1;
    snprintf(whole, sizeof whole, "%s", item);
    if (item[strspn(item, " \t\n")] == '\0' && strchr(list_text, ',') != NULL)
        return spec_fail(error, GSL_EINVAL, "%s: '%.80s' has an empty value", name, list_text);
    for (char *c = item; *c != '\0'; c++) {
        if (*c != ':') continue;
        if (n == 3)
            return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not lo:hi:step", name, whole);
        *c = '\0';
        part[n++] = c + 1;
    }
    for (int i = 0; i < n; i++) {
        part[i] += strspn(part[i], " \t\n");
        for (size_t end = strlen(part[i]); end > 0 && strchr(" \t\n", part[i][end - 1]) != NULL;
             end--)
            part[i][end - 1] = '\0';
        if (!spec_settings_parse_double(&number[i], part[i]))
            return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not a number or lo:hi:step", name,
                             whole);
    }
    if (n == 2 && (number[0] != floor(number[0]) || number[1] != floor(number[1])))
        return spec_fail(error, GSL_EINVAL,
                         "%s: '%.80s' is not lo:hi:step; add a step, as in %.80s:0.1", name, whole,
                         whole);
    if (n == 2) number[2] = 1.0;
    if (n >= 2) return add_range(list, name, whole, number[0], number[1], number[2], error);
    if (list->n == SPEC_NUMBER_LIST_MAX)
        return spec_fail(error, GSL_EINVAL, "%s: over a million values", name);
    if (add_text(list, spec_number_list_text(number[0], buffer)) == GSL_SUCCESS) return GSL_SUCCESS;
    return spec_no_memory_for(error, name);
}

int spec_number_list_parse(spec_number_list *numbers, const char *name, const char *list,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    char *copy = strdup(list);
    *numbers = (spec_number_list){0};
    if (copy == NULL) return spec_no_memory_for(error, name);
    for (char *item = copy, *next; item != NULL; item = next) {
        next = strchr(item, ',');
        if (next != NULL) *next++ = '\0';
        SPEC_TRY(add_item(numbers, name, item, list, error));
    }
done:
    free(copy);
    if (status != GSL_SUCCESS) spec_number_list_free(numbers);
    return status;
}

void spec_number_list_free(spec_number_list *numbers)
{
    for (int i = 0; i < numbers->n; i++) free(numbers->value[i]);
    free(numbers->value);
    *numbers = (spec_number_list){0};
}
