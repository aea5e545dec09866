/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_lanes.h"

#include "tests/simulator/ptx/ptx_math.h"

/* Registers hold values of any type. */
typedef uint16_t u16;
typedef int16_t s16;
typedef uint32_t __attribute__((may_alias)) u32;
typedef int32_t __attribute__((may_alias)) s32;
typedef uint64_t __attribute__((may_alias)) u64;
typedef int64_t __attribute__((may_alias)) s64;
typedef float __attribute__((may_alias)) f32;
typedef double __attribute__((may_alias)) f64;
typedef u32 lane_u16, lane_s16, lane_u32;
typedef s32 lane_s32;
typedef u64 lane_u64;
typedef s64 lane_s64;
typedef f32 lane_f32;
typedef f64 lane_f64;

/* Wider registers where the machine has them. */
#if defined __x86_64__ && defined __gnu_linux__ && !defined __clang__ &&                           \
    !defined __SANITIZE_ADDRESS__
#define FOR_EACH_MACHINE                                                                           \
    __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define FOR_EACH_MACHINE
#endif
#if defined __clang__
#define INDEPENDENT
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

static const u32 bit_of[PTX_LANES] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,
    1u << 8,  1u << 9,  1u << 10, 1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15,
    1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21, 1u << 22, 1u << 23,
    1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

static inline u16 whole_u16(u16 value) { return value; }
static inline s16 whole_s16(s16 value) { return value; }
static inline u32 whole_u32(u32 value) { return value; }
static inline s32 whole_s32(s32 value) { return value; }
static inline u64 whole_u64(u64 value) { return value; }
static inline s64 whole_s64(s64 value) { return value; }
static inline f32 whole_f32(f32 value)
{
    return value == value ? value : ptx_float_bits(0x7fffffffu);
}
static inline f64 whole_f64(f64 value) { return value == value ? value : (f64)NAN; }

#define EACH_LANE(...)                                                                             \
    if (m == ~0u) {                                                                                \
        INDEPENDENT                                                                                \
        for (int l = 0; l < PTX_LANES; l++) __VA_ARGS__                                            \
    } else {                                                                                       \
        for (u32 rest = m; rest != 0; rest &= rest - 1) {                                          \
            const int l = __builtin_ctz(rest);                                                     \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

#define SOURCE(T, n) const lane_##T *const of##n = ptx_values(base, i->x[n])
#define RESULT(D) lane_##D *const result = ptx_values(base, i->x[0])
#define TAKE(T, name, n) const T name = (T)of##n[l]

#define CASE_ONE(name, D, A, value)                                                                \
    case PTX_##name: {                                                                             \
        SOURCE(A, 1);                                                                              \
        RESULT(D);                                                                                 \
        EACH_LANE({                                                                                \
            TAKE(A, a, 1);                                                                         \
            result[l] = (lane_##D)whole_##D((D)(value));                                           \
        })                                                                                         \
        continue;                                                                                  \
    }
#define CASE_TWO(name, D, A, B, value)                                                             \
    case PTX_##name: {                                                                             \
        SOURCE(A, 1);                                                                              \
        SOURCE(B, 2);                                                                              \
        RESULT(D);                                                                                 \
        EACH_LANE({                                                                                \
            TAKE(A, a, 1);                                                                         \
            TAKE(B, b, 2);                                                                         \
            result[l] = (lane_##D)whole_##D((D)(value));                                           \
        })                                                                                         \
        continue;                                                                                  \
    }
#define CASE_THREE(name, D, A, B, C, value)                                                        \
    case PTX_##name: {                                                                             \
        SOURCE(A, 1);                                                                              \
        SOURCE(B, 2);                                                                              \
        SOURCE(C, 3);                                                                              \
        RESULT(D);                                                                                 \
        EACH_LANE({                                                                                \
            TAKE(A, a, 1);                                                                         \
            TAKE(B, b, 2);                                                                         \
            TAKE(C, c, 3);                                                                         \
            result[l] = (lane_##D)whole_##D((D)(value));                                           \
        })                                                                                         \
        continue;                                                                                  \
    }
#define CASE_BFI(name, D)                                                                          \
    case PTX_##name: {                                                                             \
        SOURCE(D, 1);                                                                              \
        SOURCE(D, 2);                                                                              \
        SOURCE(u32, 3);                                                                            \
        SOURCE(u32, 4);                                                                            \
        RESULT(D);                                                                                 \
        EACH_LANE({                                                                                \
            const u32 from = of3[l] & 255;                                                         \
            const u32 bits = of4[l] & 255;                                                         \
            const D ones = bits >= 8 * sizeof(D) ? (D) ~(D)0 : (D)(((D)1 << bits) - 1);            \
            const D at = from >= 8 * sizeof(D) ? 0 : (D)(ones << from);                            \
            result[l] = from >= 8 * sizeof(D) ? of2[l] : (of2[l] & ~at) | (of1[l] << from & at);   \
        })                                                                                         \
        continue;                                                                                  \
    }
#define CASE_SELECT(name, D)                                                                       \
    case PTX_##name: {                                                                             \
        SOURCE(D, 1);                                                                              \
        SOURCE(D, 2);                                                                              \
        const u32 p = *(const u32 *)ptx_values(base, i->x[3]);                                     \
        RESULT(D);                                                                                 \
        EACH_LANE({ result[l] = (p & bit_of[l]) != 0 ? of1[l] : of2[l]; })                         \
        continue;                                                                                  \
    }
#define CASE_TEST(name, A, condition)                                                              \
    case PTX_##name: {                                                                             \
        SOURCE(A, 1);                                                                              \
        SOURCE(A, 2);                                                                              \
        u32 *const p = ptx_values(base, i->x[0]);                                                  \
        u32 holds = 0;                                                                             \
        EACH_LANE({                                                                                \
            TAKE(A, a, 1);                                                                         \
            TAKE(A, b, 2);                                                                         \
            holds |= (condition) ? bit_of[l] : 0;                                                  \
        })                                                                                         \
        *p = (*p & ~m) | holds;                                                                    \
        continue;                                                                                  \
    }
#define CASE_LOGIC(name, sources, value)                                                           \
    case PTX_##name: {                                                                             \
        const u32 a = *(const u32 *)ptx_values(base, i->x[1]);                                     \
        const u32 b = sources > 1 ? *(const u32 *)ptx_values(base, i->x[2]) : 0;                   \
        u32 *const p = ptx_values(base, i->x[0]);                                                  \
        (void)b;                                                                                   \
        *p = (*p & ~m) | ((value)&m);                                                              \
        continue;                                                                                  \
    }
/* After the sources: the lanes' carries. */
#define CASE_CARRY(name, sources, leaves, sum)                                                     \
    case PTX_##name: {                                                                             \
        SOURCE(u32, 1);                                                                            \
        SOURCE(u32, 2);                                                                            \
        SOURCE(u32, 3);                                                                            \
        u32 *const carries = ptx_values(base, i->x[sources + 1]);                                  \
        RESULT(u32);                                                                               \
        EACH_LANE({                                                                                \
            TAKE(u32, a, 1);                                                                       \
            TAKE(u32, b, 2);                                                                       \
            TAKE(u32, c, 3);                                                                       \
            const u32 carry = carries[l];                                                          \
            const u64 whole = (sum);                                                               \
            (void)c, (void)carry;                                                                  \
            if (leaves) carries[l] = whole >> 32 & 1;                                              \
            result[l] = (u32)whole;                                                                \
        })                                                                                         \
        continue;                                                                                  \
    }

FOR_EACH_MACHINE int ptx_lanes_run(const ptx_instruction *code, int at, int stop, uint32_t mask,
                                   char *const base[2])
{
    for (; at != stop; at++) {
        const ptx_instruction *const i = &code[at];
        const u32 m = ptx_guard(i, mask, base);
        switch (i->op) {
            PTX_ONE(CASE_ONE)
            PTX_TWO(CASE_TWO)
            PTX_THREE(CASE_THREE)
            PTX_BFI(CASE_BFI)
            PTX_SELECT(CASE_SELECT)
            PTX_TEST(CASE_TEST)
            PTX_LOGIC(CASE_LOGIC)
            PTX_CARRY(CASE_CARRY)
        case PTX_bra:
            if (m == 0) continue;
            if (m != mask || i->target >= stop) return at;
            at = i->target - 1;
            continue;
        default: return at;
        }
    }
    return at;
}
