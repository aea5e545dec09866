/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products of every shape, layout and instruction set have the bits of the plain loop. */
#include "base/noise.h"
#include "models/train/sgemm.h"
#include "tests/support/support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A matrix with a gap after each row, so that a wrong stride is noticed. */
typedef struct {
    float *at;
    spec_sgemm_matrix matrix;
} operand;

static float number(uint64_t key, uint64_t i)
{
    return (float)((double)(spec_noise_word(key, i) >> 40) * 0x1p-23 - 1.0);
}

static operand operand_of(int rows, int cols, bool transposed, uint64_t key)
{
    const size_t lines = (size_t)(transposed ? cols : rows),
                 line = (size_t)(transposed ? rows : cols) + 3;
    operand o = {.at = malloc((lines * line + 1) * sizeof *o.at)};
    assert_non_null(o.at);
    for (size_t i = 0; i < lines * line; i++) o.at[i] = number(key, i);
    o.matrix = (spec_sgemm_matrix){o.at, transposed ? 1 : line, transposed ? line : 1};
    return o;
}

static float element(const spec_sgemm_matrix *m, int i, int j)
{
    return m->at[(size_t)i * m->row + (size_t)j * m->col];
}

static void check(const spec_sgemm *work, const int size[3], int layout)
{
    const int m = size[0], n = size[1], k = size[2];
    const bool add = (layout & 4) != 0;
    operand a = operand_of(m, k, (layout & 1) != 0, 1), b = operand_of(k, n, (layout & 2) != 0, 2);
    const size_t stride = (size_t)n + 5, all = (size_t)m * stride;
    float *c = malloc((all + 1) * sizeof *c), *before = malloc((all + 1) * sizeof *before);
    assert_true(c != NULL && before != NULL);
    for (size_t i = 0; i < all; i++) c[i] = before[i] = number(3, i);
    spec_sgemm_run(work, &(spec_sgemm_product){m, n, k, a.matrix, b.matrix, c, stride, add});
    for (int i = 0; i < m; i++)
        for (size_t j = 0; j < stride; j++) {
            const size_t at = (size_t)i * stride + j;
            float sum = add || j >= (size_t)n ? before[at] : 0.0f;
            for (int q = 0; j < (size_t)n && q < k; q++)
                sum = fmaf(element(&a.matrix, i, q), element(&b.matrix, q, (int)j), sum);
            if (memcmp(&sum, &c[at], sizeof sum) != 0)
                fail_msg("m %d n %d k %d layout %d: element %d %zu is %a, not %a", m, n, k, layout,
                         i, j, (double)c[at], (double)sum);
        }
    free(a.at);
    free(b.at);
    free(c);
    free(before);
}

/* Tiles have 4, 6 or 14 rows and 16 or 32 columns; blocks 280 rows, 512 terms and 1,024 columns. */
TEST(every_element_has_the_bits_of_the_plain_loop)
{
    static const int sizes[][3] = {{1, 1, 1},    {1, 1, 0},     {0, 5, 3},    {14, 32, 16},
                                   {13, 31, 15}, {15, 33, 17},  {28, 64, 40}, {30, 16, 34},
                                   {7, 105, 9},  {281, 40, 20}, {5, 9, 1030}, {3, 1030, 5},
                                   {45, 70, 530}};
    for (int isa = SPEC_ISA_PORTABLE; isa <= (int)spec_cpu_isa(); isa++) {
        OWNED(spec_sgemm) work;
        assert_works(spec_sgemm_init(&work, (spec_isa)isa, &error));
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            for (int layout = 0; layout < 8; layout++) check(&work, sizes[s], layout);
    }
}
