/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/index/suffix_array.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Sorts positions by their class, stably. `from` lists them in the order that members of the same
 * class keep; count (n_classes) is workspace. */
static void sort_by_class(int *ret_position, const int *from, const int *class, int n,
                          int n_classes, int *count)
{
    memset(count, 0, (size_t)n_classes * sizeof *count);
    for (int i = 0; i < n; i++) count[class[i]]++;
    for (int c = 0, sum = 0; c < n_classes; c++) {
        const int members = count[c];
        count[c] = sum;
        sum += members;
    }
    for (int i = 0; i < n; i++) ret_position[count[class[from[i]]]++] = from[i];
}

/* Returns the class at a position; -1 after the end, which sorts first. */
static int class_at(const int *class, int n, int place)
{
    return place < n ? class[place] : -1;
}

/* Turns the order by the first `width` tokens into the order by twice as many, by sorting pairs of
 * classes. Returns the new number of classes. */
static int double_width(int *position, int *class, int *other, int *count, int n, int n_classes,
                        int width)
{
    int k = 0;
    for (int i = n - width; i < n; i++) other[k++] = i;
    for (int i = 0; i < n; i++)
        if (position[i] >= width) other[k++] = position[i] - width;
    sort_by_class(position, other, class, n, n_classes, count);
    int classes = 0;
    for (int i = 0; i < n; i++) {
        const int here = position[i], before = i > 0 ? position[i - 1] : here;
        if (i == 0 || class[here] != class[before] ||
            class_at(class, n, here + width) != class_at(class, n, before + width))
            classes++;
        other[here] = classes - 1;
    }
    memcpy(class, other, (size_t)n * sizeof *class);
    return classes;
}

int spec_suffix_array_init(spec_suffix_array *array, const int *token, int n, int vocab, int reach,
                           spec_error *error)
{
    assert(n >= 0 && n <= SPEC_SUFFIX_ARRAY_MAX && vocab >= 1 && reach >= 1);
    const size_t size = (size_t)n + 1, classes = size > (size_t)vocab ? size : (size_t)vocab;
    int *class = malloc(size * sizeof *class), *other = malloc(size * sizeof *other),
        *count = malloc(classes * sizeof *count), status = GSL_SUCCESS;
    *array = (spec_suffix_array){.token = token, .n = n};
    array->position = malloc(size * sizeof *array->position);
    if (class == NULL || other == NULL || count == NULL || array->position == NULL) {
        spec_suffix_array_free(array);
        status = spec_fail(error, GSL_ENOMEM, "out of memory for an index of %d tokens", n);
        goto done;
    }
    for (int i = 0; i < n; i++) other[i] = i;
    memcpy(class, token, (size_t)n * sizeof *class);
    sort_by_class(array->position, other, class, n, vocab, count);
    int n_classes = vocab;
    bool sorted = false;
    for (int width = 1; width < reach && width < n && !sorted; width *= 2) {
        n_classes = double_width(array->position, class, other, count, n, n_classes, width);
        sorted = n_classes == n;
    }
done:
    free(class);
    free(other);
    free(count);
    return status;
}

void spec_suffix_array_free(spec_suffix_array *array)
{
    free(array->position);
    *array = (spec_suffix_array){0};
}

int spec_suffix_array_end(const spec_suffix_array *array, int low, int high, int offset)
{
    const int *position = array->position, token = array->token[position[low] + offset];
    int step = 1;
    while (low + step < high && array->token[position[low + step] + offset] == token) {
        low += step;
        step *= 2;
    }
    int end = low + step < high ? low + step : high; /* low has the token, end does not have it */
    while (low + 1 < end) {
        const int middle = low + (end - low) / 2;
        if (array->token[position[middle] + offset] == token)
            low = middle;
        else
            end = middle;
    }
    return end;
}

/* Returns the first index in the array whose position does not sort before the string or, with
 * `after`, the first one that sorts after it. */
static int bound(const spec_suffix_array *array, const int *string, int length, bool after, int low)
{
    const int *token = array->token;
    int high = array->n;
    while (low < high) {
        const int middle = low + (high - low) / 2, at = array->position[middle];
        int i = 0;
        while (i < length && at + i < array->n && token[at + i] == string[i]) i++;
        const bool before = i == length ? after : at + i == array->n || token[at + i] < string[i];
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void spec_suffix_array_find(int *ret_low, int *ret_high, const spec_suffix_array *array,
                            const int *string, int length)
{
    *ret_low = bound(array, string, length, false, 0);
    *ret_high = bound(array, string, length, true, *ret_low);
}
