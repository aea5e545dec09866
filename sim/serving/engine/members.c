/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/engine/members.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>

/* Wraps an index into the ring, whose size is a power of two. */
static int32_t ring(const spec_members *members, int32_t i)
{
    return (members->head + i) & (members->size - 1);
}

static int grow(spec_members *members)
{
    enum { FIRST = 64, MOST = 1 << 30 };
    if (members->size == MOST) return GSL_ENOMEM;
    const int32_t old = members->size, size = old == 0 ? FIRST : 2 * old;
    int32_t *queue = malloc((size_t)size * sizeof *queue);
    spec_member *at = realloc(members->at, (size_t)size * sizeof *at);
    if (at != NULL) members->at = at;
    int32_t *spare = realloc(members->spare, (size_t)size * sizeof *spare);
    if (spare != NULL) members->spare = spare;
    if (queue == NULL || at == NULL || spare == NULL) {
        free(queue);
        return GSL_ENOMEM;
    }
    for (int32_t i = 0; i < members->waiting; i++) queue[i] = members->queue[ring(members, i)];
    free(members->queue);
    members->queue = queue;
    members->head = 0;
    members->size = size;
    for (int32_t i = size; i > old; i--) members->spare[members->n_spare++] = i - 1;
    return GSL_SUCCESS;
}

int spec_members_add(spec_members *members, int32_t *ret_member)
{
    if (members->n_spare == 0 && grow(members) != GSL_SUCCESS) return GSL_ENOMEM;
    *ret_member = members->spare[--members->n_spare];
    return GSL_SUCCESS;
}

void spec_members_remove(spec_members *members, int32_t member)
{
    members->spare[members->n_spare++] = member;
}

void spec_members_append(spec_members *members, int32_t member)
{
    members->queue[ring(members, members->waiting++)] = member;
}

void spec_members_prepend(spec_members *members, int32_t member)
{
    members->head = ring(members, -1);
    members->queue[members->head] = member;
    members->waiting++;
}

int32_t spec_members_pop(spec_members *members)
{
    const int32_t member = members->queue[members->head];
    members->head = ring(members, 1);
    members->waiting--;
    return member;
}

void spec_members_free(spec_members *members)
{
    free(members->at);
    free(members->spare);
    free(members->queue);
    *members = (spec_members){0};
}
