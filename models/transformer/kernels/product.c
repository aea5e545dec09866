/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product.h"

#include "base/int_math.h"
#include "models/transformer/kernels/product_kernels.h"

enum {
    COLUMNS = SPEC_PRODUCT_COLUMNS,
    BLOCK = SPEC_TENSOR_BLOCK,
    CUT = 1 << 17 /* bytes that stay in the second-level cache */
};

static const spec_product_kernels kernels_ref = {
    {spec_product_f32_ref, spec_product_f16_ref, spec_product_bf16_ref, spec_product_q8_0_ref,
     spec_product_q4_0_ref, spec_product_q4_k_ref, spec_product_q5_k_ref, spec_product_q6_k_ref},
    spec_product_quantise_ref};
#if defined(__x86_64__)
static const spec_product_kernels kernels_avx2 = {{spec_product_f32_avx2, spec_product_f16_avx2,
                                                   spec_product_bf16_avx2, spec_product_q8_0_avx2,
                                                   spec_product_q4_0_avx2, spec_product_q4_k_avx2,
                                                   spec_product_q5_k_avx2, spec_product_q6_k_avx2},
                                                  spec_product_quantise_avx2};
/* Without VNNI, there is no product of bytes in wider vectors that is exact for all weights. */
static const spec_product_kernels kernels_avx512 = {
    {spec_product_f32_avx512, spec_product_f16_avx512, spec_product_bf16_avx512,
     spec_product_q8_0_avx2, spec_product_q4_0_avx2, spec_product_q4_k_avx2, spec_product_q5_k_avx2,
     spec_product_q6_k_avx2},
    spec_product_quantise_avx512};
static const spec_product_kernels kernels_vnni = {{spec_product_f32_avx512, spec_product_f16_avx512,
                                                   spec_product_bf16_avx512, spec_product_q8_0_vnni,
                                                   spec_product_q4_0_vnni, spec_product_q4_k_vnni,
                                                   spec_product_q5_k_vnni, spec_product_q6_k_vnni},
                                                  spec_product_quantise_avx512};
#elif defined(__aarch64__)
/* gcc compiles the portable quantisation to as few instructions as a dedicated kernel. */
static const spec_product_kernels kernels_neon = {{spec_product_f32_neon, spec_product_f16_neon,
                                                   spec_product_bf16_neon, spec_product_q8_0_neon,
                                                   spec_product_q4_0_neon, spec_product_q4_k_neon,
                                                   spec_product_q5_k_neon, spec_product_q6_k_neon},
                                                  spec_product_quantise_ref};
static const spec_product_kernels kernels_dotprod = {
    {spec_product_f32_neon, spec_product_f16_neon, spec_product_bf16_neon,
     spec_product_q8_0_dotprod, spec_product_q4_0_dotprod, spec_product_q4_k_dotprod,
     spec_product_q5_k_dotprod, spec_product_q6_k_dotprod},
    spec_product_quantise_ref};
#endif

const spec_product_kernels *spec_product_kernels_of(spec_isa isa)
{
    switch (isa) {
#if defined(__x86_64__)
    case SPEC_ISA_VNNI: return &kernels_vnni;
    case SPEC_ISA_AVX512: return &kernels_avx512;
    case SPEC_ISA_AVX2: return &kernels_avx2;
#elif defined(__aarch64__)
    case SPEC_ISA_DOTPROD: return &kernels_dotprod;
    case SPEC_ISA_NEON: return &kernels_neon;
#endif
    default: return &kernels_ref;
    }
}

/* Returns the bytes of one column. */
static size_t column_bytes(spec_tensor_type type, int cols)
{
    return spec_tensor_is_quantised(type) ? (size_t)(cols / BLOCK * spec_product_x_bytes(type))
                                          : (size_t)cols * sizeof(float);
}

size_t spec_product_activation_bytes(int cols, int n)
{
    return (size_t)n * (size_t)cols * sizeof(float); /* blocks of 8 bits are smaller */
}

int spec_product_activation_pieces(int cols)
{
    return spec_int_ceil_div(cols, BLOCK);
}

void spec_product_activation_fill(void *ret_activation, const spec_product_kernels *kernels,
                                  spec_tensor_type type, const float *x, int cols, int n, int first,
                                  int end)
{
    unsigned char *group = ret_activation;
    for (int begin = 0; begin < n; begin += COLUMNS) {
        const int N = spec_int_min(n - begin, COLUMNS);
        if (spec_tensor_is_quantised(type)) {
            unsigned char *const block =
                group + (size_t)first * (size_t)(spec_product_x_bytes(type) * N);
            for (int u = 0; u < N; u++) {
                kernels->quantise(block, u, N,
                                  x + (size_t)(begin + u) * (size_t)cols + (size_t)first * BLOCK,
                                  end - first, type);
            }
        } else {
            for (int k = first * BLOCK; k < spec_int_min(end * BLOCK, cols); k++) {
                for (int u = 0; u < N; u++) {
                    memcpy(group + sizeof *x * ((size_t)k * (size_t)N + (size_t)u),
                           x + (size_t)(begin + u) * (size_t)cols + k, sizeof *x);
                }
            }
        }
        group += (size_t)N * column_bytes(type, cols);
    }
}

void spec_product(const spec_product_request *request, const spec_product_kernels *kernels,
                  int first, int end)
{
    const spec_matrix *w = request->w;
    const float *opt_bias = request->opt_bias;
    const int n = request->n;
    const size_t bytes = spec_panels_bytes(w->type, w->cols),
                 stride = (size_t)(request->opt_stride > 0 ? request->opt_stride : w->rows);
    /* Weights that are read again for the columns after the first 16 come from the second-level
     * cache. */
    const int run = n <= COLUMNS || bytes == 0 ? end - first : 1 + (int)(CUT / bytes);
    for (int p = first; p < end; p += run) {
        const int row = p * SPEC_PANEL_ROWS, p_end = spec_int_min(p + run, end);
        const unsigned char *x = request->activation;
        for (int begin = 0; begin < n; begin += COLUMNS) {
            const spec_product_task task = {
                .y = request->y + (size_t)begin * stride + row,
                .stride = stride,
                .panel = (const unsigned char *)w->data + (size_t)p * bytes,
                .bytes = bytes,
                .x = x,
                .cols = w->cols,
                .R = spec_int_min(w->rows, p_end * SPEC_PANEL_ROWS) - row,
                .N = spec_int_min(n - begin, COLUMNS),
                .opt_bias = opt_bias != NULL ? opt_bias + row : NULL,
                .add = request->add,
                .phase = begin / COLUMNS,
                .phases = spec_int_ceil_div(n, COLUMNS),
                .ahead = (size_t)(p_end - p) * bytes};
            kernels->product[w->type](&task);
            x += (size_t)task.N * column_bytes(w->type, w->cols);
        }
    }
}
