/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/shard.h"

#include "base/settings.h"
#include "experiments/grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Parses the first `length` bytes of the text as "I/N" with 1 <= I <= N. */
static bool parse_pair(uint64_t *ret_first, uint64_t *ret_second, const char *text, size_t length)
{
    char copy[48];
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *slash = strchr(copy, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    return spec_settings_parse_u64(ret_first, copy) &&
           spec_settings_parse_u64(ret_second, slash + 1) && *ret_first >= 1 &&
           *ret_first <= *ret_second;
}

int spec_shard_parse(spec_shard *ret, const char *text, spec_error *error)
{
    spec_shard shard;
    *ret = (spec_shard){0};
    if (!parse_pair(&shard.number, &shard.of, text, strlen(text)))
        return spec_fail(error, GSL_EINVAL,
                         "'%.60s' is not I/N, shard I of N, with I from 1 to N; such as 3/16",
                         text);
    if (shard.of > SPEC_GRID_POINTS_MAX)
        return spec_fail(error, GSL_EINVAL, "'%.60s' has over %d million shards", text,
                         (int)(SPEC_GRID_POINTS_MAX / 1000000));
    *ret = shard;
    return GSL_SUCCESS;
}

uint64_t spec_shard_size(const spec_shard *shard, uint64_t points)
{
    if (shard->of == 0) return points;
    return points < shard->number ? 0 : (points - shard->number) / shard->of + 1;
}

uint64_t spec_shard_index(const spec_shard *shard, uint64_t k)
{
    return shard->of == 0 ? k : shard->number - 1 + k * shard->of;
}

const char *spec_shard_row_text(char text[SPEC_SHARD_ROW_SIZE], const spec_shard_row *row)
{
    snprintf(text, SPEC_SHARD_ROW_SIZE, "%" PRIu64 "/%" PRIu64 " %" PRIu64 "/%" PRIu64, row->point,
             row->points, row->row, row->rows);
    return text;
}

bool spec_shard_row_parse(spec_shard_row *ret, const char *text)
{
    const char *blank = strchr(text, ' ');
    return blank != NULL && parse_pair(&ret->point, &ret->points, text, (size_t)(blank - text)) &&
           parse_pair(&ret->row, &ret->rows, blank + 1, strlen(blank + 1)) &&
           ret->points <= SPEC_GRID_POINTS_MAX;
}
