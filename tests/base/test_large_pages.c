/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/large_pages.h"

#include "tests/support/support.h"

#include <unistd.h>

TEST(pieces_share_large_pages_and_are_freed_in_any_order)
{
    enum { N = 40, BYTES = 700001 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    spec_large_pages room = {0};
    unsigned char *piece[N];
    int adjacent = 0;
    for (int i = 0; i < N; i++) {
        const size_t bytes = i == N / 2 ? (size_t)100 << 20 : BYTES; /* larger than a region */
        piece[i] = spec_large_pages_take(&room, bytes);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % page, 0);
        assert_int_equal(piece[i][0] | piece[i][bytes - 1], 0);
        memset(piece[i], i + 1, BYTES);
        adjacent += i > 0 && piece[i] == piece[i - 1] + (BYTES + page - 1) / page * page;
    }
    assert_true(adjacent >= N - 3);
    spec_large_pages_free(&room);
    for (int k = 0; k < N; k++) {
        const int i = k * 7 % N; /* 7 and N have no common factor */
        for (size_t at = 0; at < BYTES; at += 997) assert_int_equal(piece[i][at], i + 1);
        spec_large_pages_give(piece[i], i == N / 2 ? (size_t)100 << 20 : BYTES);
    }
    assert_null(spec_large_pages_take(&room, SIZE_MAX));
    spec_large_pages_give(NULL, 5);
}

SUITE();
