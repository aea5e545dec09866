/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/train/sgemm.h"

#include "base/int_math.h"
#include "models/train/sgemm_kernels.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* A block of a (ROWS, DEPTH) stays in the second-level cache, a strip of b (DEPTH, tile) in the
 * first. Buffers have room for an incomplete last panel, and for numbers that are copied past the
 * end of a panel. */
enum { DEPTH = 512, ROWS = 280, COLS = 1024, TURN = SPEC_SGEMM_TURN };

static const spec_sgemm_kernel *kernel_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI:
    case SPEC_ISA_AVX512: return &spec_sgemm_kernel_avx512;
    case SPEC_ISA_AVX2: return &spec_sgemm_kernel_avx2;
#elif defined(__aarch64__)
    case SPEC_ISA_DOTPROD:
    case SPEC_ISA_NEON: return &spec_sgemm_kernel_neon;
#endif
    default: return &spec_sgemm_kernel_ref;
    }
}

int spec_sgemm_init(spec_sgemm *work, spec_isa isa, spec_error *error)
{
    const size_t a = (ROWS + SPEC_SGEMM_ROWS_MAX) * DEPTH, b = (COLS + SPEC_SGEMM_COLS_MAX) * DEPTH;
    *work = (spec_sgemm){.kernel = kernel_of(isa),
                         .a = aligned_alloc(64, a * sizeof(float)),
                         .b = aligned_alloc(64, b * sizeof(float))};
    if (work->a != NULL && work->b != NULL) return GSL_SUCCESS;
    spec_sgemm_free(work);
    return spec_no_memory(error);
}

void spec_sgemm_free(spec_sgemm *work)
{
    free(work->a);
    free(work->b);
    *work = (spec_sgemm){0};
}

/* Transposes a block of TURN lines, of which the first n are packed. */
static void pack_turned(float *panel, size_t width, const spec_sgemm_kernel *kernel,
                        const float *from, size_t across, int n)
{
    if (n == TURN) {
        kernel->turn(panel, width, from, across, n);
        return;
    }
    float block[TURN * TURN];
    kernel->turn(block, TURN, from, across, n);
    for (size_t q = 0; q < TURN; q++)
        memcpy(panel + q * width, block + q * TURN, (size_t)n * sizeof *panel);
}

/* n lines of k elements: element q of a line is at[line * across + q * along]. `spare` more lines
 * follow in memory. */
typedef struct {
    const float *at;
    size_t across, along;
    int n, k, spare;
} lines;

/* Packs panels of `width` lines, (k, width) each, with zeros beyond the last line. */
static void pack(float *panel, const spec_sgemm_kernel *kernel, int width, const lines *from)
{
    const size_t across = from->across, along = from->along, w = (size_t)width;
    const int k = from->k, there = from->n + from->spare;
    for (int first = 0; first < from->n; first += width, panel += w * (size_t)k) {
        const float *const base = from->at + (size_t)first * across;
        const int n = spec_int_min(width, from->n - first);
        const int whole = (width + TURN - 1) / TURN * TURN; /* lines that `turn` reads */
        int q = 0;
        if (along == 1 && first + whole <= there && n == width)
            for (; q + TURN <= k; q += TURN)
                for (size_t r = 0; r < w; r += TURN)
                    pack_turned(panel + (size_t)q * w + r, w, kernel, base + r * across + q, across,
                                spec_int_min(TURN, width - (int)r));
        for (; q < k; q++) {
            const float *const column = base + (size_t)q * along;
            float *const to = panel + (size_t)q * w;
            if (across == 1 && width <= TURN && first + TURN <= there && n == width) {
                memcpy(to, column, TURN * sizeof *to); /* the next element overwrites the excess */
                continue;
            }
            if (across == 1)
                memcpy(to, column, (size_t)n * sizeof *to);
            else
                for (int r = 0; r < n; r++) to[r] = column[(size_t)r * across];
            for (int r = n; r < width; r++) to[r] = 0.0f;
        }
    }
}

/* Computes a tile at the lower or right edge, through a copy. */
static void edge(const spec_sgemm_kernel *kernel, const spec_sgemm_product *p, int i, int j,
                 const float *a, const float *b, int k, bool add)
{
    float tile[SPEC_SGEMM_ROWS_MAX * SPEC_SGEMM_COLS_MAX] = {0};
    const int rows = spec_int_min(kernel->rows, p->m - i),
              cols = spec_int_min(kernel->cols, p->n - j);
    float *const c = p->c + (size_t)i * p->stride + j;
    const size_t bytes = (size_t)cols * sizeof *c, width = (size_t)kernel->cols;
    for (size_t r = 0; add && r < (size_t)rows; r++)
        memcpy(tile + r * width, c + r * p->stride, bytes);
    kernel->tile(tile, width, a, b, k, add);
    for (size_t r = 0; r < (size_t)rows; r++) memcpy(c + r * p->stride, tile + r * width, bytes);
}

/* Multiplies packed blocks: rows from i0 on, columns from j0 on, k terms. */
static void multiply(const spec_sgemm *work, const spec_sgemm_product *p, int i0, int rows, int j0,
                     int cols, int k, bool add)
{
    const spec_sgemm_kernel *kernel = work->kernel;
    for (int j = 0; j < cols; j += kernel->cols)
        for (int i = 0; i < rows; i += kernel->rows) {
            const float *a = work->a + (size_t)i * (size_t)k, *b = work->b + (size_t)j * (size_t)k;
            if (i + kernel->rows <= rows && j + kernel->cols <= cols)
                kernel->tile(p->c + (size_t)(i0 + i) * p->stride + j0 + j, p->stride, a, b, k, add);
            else
                edge(kernel, p, i0 + i, j0 + j, a, b, k, add);
        }
}

void spec_sgemm_run(const spec_sgemm *work, const spec_sgemm_product *p)
{
    const spec_sgemm_kernel *kernel = work->kernel;
    const int rows_most = ROWS / kernel->rows * kernel->rows;
    for (int i = 0; p->k == 0 && !p->add && i < p->m; i++)
        memset(p->c + (size_t)i * p->stride, 0, (size_t)p->n * sizeof *p->c);
    for (int j = 0; j < p->n; j += COLS) {
        const int cols = spec_int_min(COLS, p->n - j);
        for (int q = 0; q < p->k; q += DEPTH) {
            const int k = spec_int_min(DEPTH, p->k - q);
            pack(work->b, kernel, kernel->cols,
                 &(lines){p->b.at + (size_t)q * p->b.row + (size_t)j * p->b.col, p->b.col, p->b.row,
                          cols, k, p->n - j - cols});
            for (int i = 0; i < p->m; i += rows_most) {
                const int rows = spec_int_min(rows_most, p->m - i);
                pack(work->a, kernel, kernel->rows,
                     &(lines){p->a.at + (size_t)i * p->a.row + (size_t)q * p->a.col, p->a.row,
                              p->a.col, rows, k, p->m - i - rows});
                multiply(work, p, i, rows, j, cols, k, p->add || q > 0);
            }
        }
    }
}
