/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ptx_operations: the supported PTX instructions: those of our kernels, and close relatives.
 * A name is the instruction's with '_' for '.'; a, b and c are its sources with the given types,
 * followed by the result. [PTX] Parallel Thread Execution ISA, 9.0:
 * https://docs.nvidia.com/cuda/parallel-thread-execution/ */
#ifndef SPECLAB_PTX_OPERATIONS_H
#define SPECLAB_PTX_OPERATIONS_H

#include <stdint.h>

/* Instructions of single lanes: ONE(name, result, a, value), TWO(name, result, a, b, value),
 * THREE(...). */
#define PTX_ONE(X)                                                                                 \
    X(mov_u16, u16, u16, a)                                                                        \
    X(mov_b16, u16, u16, a)                                                                        \
    X(mov_u32, u32, u32, a)                                                                        \
    X(mov_s32, u32, u32, a)                                                                        \
    X(mov_b32, u32, u32, a)                                                                        \
    X(mov_f32, u32, u32, a)                                                                        \
    X(mov_u64, u64, u64, a)                                                                        \
    X(mov_b64, u64, u64, a)                                                                        \
    X(mov_f64, u64, u64, a)                                                                        \
    X(cvta_to_global_u64, u64, u64, a) /* no-op: addresses of the host */                          \
    X(cvta_global_u64, u64, u64, a)                                                                \
    X(cvta_local_u64, u64, u64, a)                                                                 \
    X(cvta_param_u64, u64, u64, a)                                                                 \
    X(cvta_shared_u64, u64, u64, a + (uintptr_t)ptx_shared)                                        \
    X(cvta_to_shared_u64, u64, u64, a - (uintptr_t)ptx_shared)                                     \
    X(low_half, u32, u64, (u32)a) /* the low half in mov.b64 {%r1, %r2}, %rd1 */                   \
    X(high_half, u32, u64, (u32)(a >> 32))                                                         \
    X(not_b32, u32, u32, ~a)                                                                       \
    X(not_b16, u16, u16, (u16)~a)                                                                  \
    X(not_b64, u64, u64, ~a)                                                                       \
    X(neg_s32, u32, u32, 0 - a)                                                                    \
    X(neg_s64, u64, u64, 0 - a)                                                                    \
    X(abs_s32, u32, s32, a < 0 ? 0 - (u32)a : (u32)a)                                              \
    X(neg_f32, u32, u32, a ^ 0x80000000u)                                                          \
    X(neg_f64, u64, u64, a ^ 0x8000000000000000u)                                                  \
    X(abs_f32, u32, u32, a & 0x7fffffffu)                                                          \
    X(abs_f64, u64, u64, a & 0x7fffffffffffffffu)                                                  \
    X(clz_b64, u32, u64, a == 0 ? 64 : (u32)__builtin_clzll(a))                                    \
    X(clz_b32, u32, u32, a == 0 ? 32 : (u32)__builtin_clz(a))                                      \
    X(popc_b32, u32, u32, (u32)__builtin_popcount(a))                                              \
    X(popc_b64, u32, u64, (u32)__builtin_popcountll(a))                                            \
    X(brev_b32, u32, u32, ptx_reversed(a))                                                         \
    X(cvt_u16_u32, u16, u32, (u16)a)                                                               \
    X(cvt_u32_u16, u32, u16, a)                                                                    \
    X(cvt_s32_s16, s32, s16, a)                                                                    \
    X(cvt_u64_u16, u64, u16, a)                                                                    \
    X(cvt_u32_u64, u32, u64, (u32)a)                                                               \
    X(cvt_u64_u32, u64, u32, a)                                                                    \
    X(cvt_s64_s32, s64, s32, a)                                                                    \
    X(cvt_f32_f16, f32, u16, ptx_float_of_half(a))                                                 \
    X(cvt_f64_f32, f64, f32, a)                                                                    \
    X(cvt_rn_f32_f64, f32, f64, (f32)a)                                                            \
    X(cvt_rn_f32_s16, f32, s16, (f32)a)                                                            \
    X(cvt_rn_f32_s32, f32, s32, (f32)a)                                                            \
    X(cvt_rn_f32_u16, f32, u16, (f32)a)                                                            \
    X(cvt_rn_f32_u32, f32, u32, (f32)a)                                                            \
    X(cvt_rn_f32_s64, f32, s64, (f32)a)                                                            \
    X(cvt_rn_f32_u64, f32, u64, (f32)a)                                                            \
    X(cvt_rn_f64_u32, f64, u32, (f64)a)                                                            \
    X(cvt_rn_f64_s64, f64, s64, (f64)a)                                                            \
    X(cvt_rn_f64_s32, f64, s32, (f64)a)                                                            \
    X(cvt_rn_f64_u64, f64, u64, (f64)a)                                                            \
    X(cvt_rni_f32_f32, f32, f32, __builtin_rintf(a))                                               \
    X(cvt_rni_f64_f64, f64, f64, __builtin_rint(a))                                                \
    X(cvt_rni_s32_f32, s32, f32, ptx_s32_of_float(__builtin_rintf(a)))                             \
    X(cvt_rzi_s32_f32, s32, f32, ptx_s32_of_float(a))                                              \
    X(cvt_rni_s32_f64, s32, f64, ptx_s32_of_double(a))                                             \
    X(cvt_rzi_u64_f64, u64, f64, ptx_u64_of_double(a))                                             \
    X(cvt_sat_f32_f32, f32, f32, a > 0 ? a < 1 ? a : 1 : 0)                                        \
    X(rcp_rn_f32, f32, f32, 1 / a)                                                                 \
    X(rcp_rn_f64, f64, f64, 1 / a)                                                                 \
    X(sqrt_rn_f32, f32, f32, __builtin_sqrtf(a))                                                   \
    X(sqrt_rn_f64, f64, f64, __builtin_sqrt(a))                                                    \
    X(ex2_approx_ftz_f32, f32, f32, ptx_ex2(a))

#define PTX_TWO(X)                                                                                 \
    X(two_halves, u64, u32, u32, a | (u64)b << 32) /* mov.b64 %rd1, {%r1, %r2} */                  \
    X(add_s32, u32, u32, u32, a + b)                                                               \
    X(add_s16, u16, u16, u16, (u16)(a + b))                                                        \
    X(add_u32, u32, u32, u32, a + b)                                                               \
    X(add_s64, u64, u64, u64, a + b)                                                               \
    X(add_u64, u64, u64, u64, a + b)                                                               \
    X(sub_s32, u32, u32, u32, a - b)                                                               \
    X(sub_s16, u16, u16, u16, (u16)(a - b))                                                        \
    X(sub_s64, u64, u64, u64, a - b)                                                               \
    X(mul_lo_s32, u32, u32, u32, a *b)                                                             \
    X(mul_lo_u32, u32, u32, u32, a *b)                                                             \
    X(mul_lo_s64, u64, u64, u64, a *b)                                                             \
    X(mul_hi_u32, u32, u32, u32, (u32)((u64)a * b >> 32))                                          \
    X(mul_hi_s32, u32, s32, s32, (u32)((u64)((s64)a * b) >> 32))                                   \
    X(mul_hi_u64, u64, u64, u64, (u64)((unsigned __int128)a * b >> 64))                            \
    X(mul_wide_s32, s64, s32, s32, (s64)a *b)                                                      \
    X(mul_wide_u32, u64, u32, u32, (u64)a *b)                                                      \
    X(div_s32, s32, s32, s32, b == 0 ? -1 : b == -1 ? (s32)(0 - (u32)a) : a / b)                   \
    X(rem_s32, s32, s32, s32, b == 0 ? a : b == -1 ? 0 : a % b)                                    \
    X(div_u32, u32, u32, u32, b == 0 ? ~0u : a / b)                                                \
    X(rem_u32, u32, u32, u32, b == 0 ? a : a % b)                                                  \
    X(div_u64, u64, u64, u64, b == 0 ? ~(u64)0 : a / b)                                            \
    X(rem_u64, u64, u64, u64, b == 0 ? a : a % b)                                                  \
    X(div_s64, s64, s64, s64, b == 0 ? -1 : b == -1 ? (s64)(0 - (u64)a) : a / b)                   \
    X(rem_s64, s64, s64, s64, b == 0 ? a : b == -1 ? 0 : a % b)                                    \
    X(and_b16, u16, u16, u16, a &b)                                                                \
    X(and_b32, u32, u32, u32, a &b)                                                                \
    X(and_b64, u64, u64, u64, a &b)                                                                \
    X(or_b32, u32, u32, u32, a | b)                                                                \
    X(or_b16, u16, u16, u16, a | b)                                                                \
    X(or_b64, u64, u64, u64, a | b)                                                                \
    X(xor_b32, u32, u32, u32, a ^ b)                                                               \
    X(xor_b16, u16, u16, u16, a ^ b)                                                               \
    X(xor_b64, u64, u64, u64, a ^ b)                                                               \
    X(shl_b32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))                                          \
    X(shl_b64, u64, u64, u32, b > 63 ? 0 : a << (b & 63))                                          \
    X(shr_u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))                                          \
    X(shr_s32, s32, s32, u32, a >> (b > 31 ? 31 : b))                                              \
    X(shr_u64, u64, u64, u32, b > 63 ? 0 : a >> (b & 63))                                          \
    X(shr_s64, s64, s64, u32, a >> (b > 63 ? 63 : b))                                              \
    X(shr_u16, u16, u16, u32, b > 15 ? 0 : (u16)(a >> b))                                          \
    X(shl_b16, u16, u16, u32, b > 15 ? 0 : (u16)(a << b))                                          \
    X(max_s32, s32, s32, s32, a > b ? a : b)                                                       \
    X(max_u32, u32, u32, u32, a > b ? a : b)                                                       \
    X(min_s32, s32, s32, s32, a < b ? a : b)                                                       \
    X(min_u32, u32, u32, u32, a < b ? a : b)                                                       \
    X(min_s64, s64, s64, s64, a < b ? a : b)                                                       \
    X(max_s64, s64, s64, s64, a > b ? a : b)                                                       \
    X(min_u64, u64, u64, u64, a < b ? a : b)                                                       \
    X(max_u64, u64, u64, u64, a > b ? a : b)                                                       \
    X(min_f32, f32, f32, f32, -ptx_max_float(-a, -b))                                              \
    X(min_f64, f64, f64, f64, -ptx_max_double(-a, -b))                                             \
    X(max_f32, f32, f32, f32, ptx_max_float(a, b))                                                 \
    X(max_f64, f64, f64, f64, ptx_max_double(a, b))                                                \
    X(add_rn_f32, f32, f32, f32, a + b)                                                            \
    X(add_rn_f64, f64, f64, f64, a + b)                                                            \
    X(sub_rn_f32, f32, f32, f32, a - b)                                                            \
    X(sub_rn_f64, f64, f64, f64, a - b)                                                            \
    X(mul_rn_f32, f32, f32, f32, a *b)                                                             \
    X(mul_rn_f64, f64, f64, f64, a *b)                                                             \
    X(div_rn_f32, f32, f32, f32, a / b)                                                            \
    X(div_rn_f64, f64, f64, f64, a / b)

#define PTX_THREE(X)                                                                               \
    X(mad_lo_s32, u32, u32, u32, u32, a *b + c)                                                    \
    X(mad_lo_s64, u64, u64, u64, u64, a *b + c)                                                    \
    X(mad_wide_s32, u64, s32, s32, u64, (u64)((s64)a * b) + c)                                     \
    X(mad_wide_u32, u64, u32, u32, u64, (u64)a *b + c)                                             \
    X(prmt_b32, u32, u32, u32, u32, ptx_prmt(a, b, c))                                             \
    X(fma_rn_f32, f32, f32, f32, f32, __builtin_fmaf(a, b, c))                                     \
    X(fma_rm_f32, f32, f32, f32, f32, ptx_fma_down(a, b, c))                                       \
    X(fma_rn_f64, f64, f64, f64, f64, __builtin_fma(a, b, c))

/* d = s with bits b .. b+c-1 replaced by a: X(name, type). */
#define PTX_BFI(X) X(bfi_b32, u32) X(bfi_b64, u64)

/* d = p ? a : b: X(name, type). */
#define PTX_SELECT(X)                                                                              \
    X(selp_b16, u16)                                                                               \
    X(selp_u16, u16)                                                                               \
    X(selp_b32, u32)                                                                               \
    X(selp_u32, u32)                                                                               \
    X(selp_f32, u32)                                                                               \
    X(selp_b64, u64)                                                                               \
    X(selp_u64, u64)                                                                               \
    X(selp_f64, u64)

/* p = a compared with b: X(name, type, condition). With a NaN lt, le, gt, ge, eq and ne are false;
 * ltu and so on are true. */
#define PTX_TEST_SAME(X, name, T)                                                                  \
    X(setp_eq_##name, T, a == b)                                                                   \
    X(setp_ne_##name, T, a != b)
#define PTX_TEST_ORDER(X, T)                                                                       \
    PTX_TEST_SAME(X, T, T)                                                                         \
    X(setp_lt_##T, T, a < b)                                                                       \
    X(setp_le_##T, T, a <= b)                                                                      \
    X(setp_gt_##T, T, a > b)                                                                       \
    X(setp_ge_##T, T, a >= b)
#define PTX_TEST_FLOATS(X, T)                                                                      \
    X(setp_eq_##T, T, a == b)                                                                      \
    X(setp_ne_##T, T, a<b || a> b)                                                                 \
    X(setp_lt_##T, T, a < b)                                                                       \
    X(setp_le_##T, T, a <= b)                                                                      \
    X(setp_gt_##T, T, a > b)                                                                       \
    X(setp_ge_##T, T, a >= b)                                                                      \
    X(setp_equ_##T, T, !(a < b || a > b))                                                          \
    X(setp_neu_##T, T, a != b)                                                                     \
    X(setp_ltu_##T, T, !(a >= b))                                                                  \
    X(setp_leu_##T, T, !(a > b))                                                                   \
    X(setp_gtu_##T, T, !(a <= b))                                                                  \
    X(setp_geu_##T, T, !(a < b))                                                                   \
    X(setp_num_##T, T, a == a && b == b)                                                           \
    X(setp_nan_##T, T, a != a || b != b)
#define PTX_TEST(X)                                                                                \
    PTX_TEST_SAME(X, b16, u16)                                                                     \
    PTX_TEST_SAME(X, b32, u32)                                                                     \
    PTX_TEST_SAME(X, b64, u64)                                                                     \
    PTX_TEST_ORDER(X, s16)                                                                         \
    PTX_TEST_ORDER(X, u16) PTX_TEST_ORDER(X, s32) PTX_TEST_ORDER(X, u32) PTX_TEST_ORDER(X, s64)    \
        PTX_TEST_ORDER(X, u64) PTX_TEST_FLOATS(X, f32) PTX_TEST_FLOATS(X, f64)

/* Predicates: X(name, sources, value), one bit per lane. */
#define PTX_LOGIC(X)                                                                               \
    X(mov_pred, 1, a)                                                                              \
    X(not_pred, 1, ~a)                                                                             \
    X(and_pred, 2, a &b)                                                                           \
    X(or_pred, 2, a | b)                                                                           \
    X(xor_pred, 2, a ^ b)

/* Multi-word arithmetic: X(name, sources, whether it sets the carry, sum of 64 bits whose bit 32 is
 * the carry). */
#define PTX_CARRY(X)                                                                               \
    X(add_cc_u32, 2, 1, (u64)a + b)                                                                \
    X(addc_cc_u32, 2, 1, (u64)a + b + carry)                                                       \
    X(addc_u32, 2, 0, (u64)a + b + carry)                                                          \
    X(sub_cc_u32, 2, 1, (u64)a - b)                                                                \
    X(subc_cc_u32, 2, 1, (u64)a - b - carry)                                                       \
    X(subc_u32, 2, 0, (u64)a - b - carry)                                                          \
    X(mad_lo_cc_u32, 3, 1, (u64)(u32)(a * b) + c)                                                  \
    X(madc_lo_cc_u32, 3, 1, (u64)(u32)(a * b) + c + carry)                                         \
    X(madc_hi_cc_u32, 3, 1, ((u64)a * b >> 32) + c + carry)                                        \
    X(madc_hi_u32, 3, 0, ((u64)a * b >> 32) + c + carry)

/* Instructions across lanes or without values: ptx_run. */
#define PTX_OTHER(X)                                                                               \
    X(after_previous)                                                                              \
    X(bra)                                                                                         \
    X(ret)                                                                                         \
    X(load)                                                                                        \
    X(store)                                                                                       \
    X(atom_add)                                                                                    \
    X(atom_max)                                                                                    \
    X(copy_async)                                                                                  \
    X(copy_commit)                                                                                 \
    X(copy_wait)                                                                                   \
    X(bar_sync)                                                                                    \
    X(bar_warp_sync)                                                                               \
    X(shfl)                                                                                        \
    X(vote_any)                                                                                    \
    X(mma_bf16)                                                                                    \
    X(mma_s8)

#define PTX_NUMBER_OF(name, ...) PTX_##name,
typedef enum {
    PTX_ONE(PTX_NUMBER_OF) PTX_TWO(PTX_NUMBER_OF) PTX_THREE(PTX_NUMBER_OF) PTX_BFI(PTX_NUMBER_OF)
        PTX_SELECT(PTX_NUMBER_OF) PTX_TEST(PTX_NUMBER_OF) PTX_LOGIC(PTX_NUMBER_OF)
            PTX_CARRY(PTX_NUMBER_OF) PTX_OTHER(PTX_NUMBER_OF)
} ptx_operation;

#endif
