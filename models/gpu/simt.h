/* SPDX-License-Identifier: GPL-3.0-or-later */
/* simt: the language of kernels: C that nvcc compiles for GPUs and gcc for the simulator.
 * A kernel has its arguments in the struct `a`, its position in the grid under the names below,
 * shared memory, barriers and shuffles. A .cu file may use only this header, and only code that is
 * valid in both C and C++. The simulator is in tests/simulator.
 *
 *     KERNEL(scale, 256)            256: most threads per block; struct scale_args in kernels_*.h
 *     {
 *         SHARED float sum[8];
 *         after_previous();         the previous launch's writes are visible from here on
 *         for (int i = THREAD; i < a.n; i += THREADS) a.y[i] = a.x[i] * a.factor;
 *     }
 *
 * Rules. All threads of a block reach the same barriers in the same order. All 32 lanes of a warp
 * reach the same shuffles, votes and products. Blocks of a launch run in any order. Launches are
 * ordered by after_previous(): all threads call it once, before they return, write, or read what
 * the previous launch writes. Products and sums are fused only where fmaf says so. */
#ifndef SPECLAB_SIMT_H
#define SPECLAB_SIMT_H

#include <stdbool.h>
#include <stdint.h>

enum { WARP_LANES = 32 };

#ifdef __CUDACC__
#define ALIGNED(bytes) __align__(bytes)
#else
#define ALIGNED(bytes) __attribute__((aligned(bytes)))
#endif

typedef struct ALIGNED(16) {
    uint32_t x, y, z, w;
} quad; /* 16 bytes, which one thread loads at once */

typedef struct ALIGNED(8) {
    uint32_t x, y;
} pair;

#ifdef __CUDACC__ /* on the GPU */

#define KERNEL(name, threads)                                                                      \
    extern "C" __global__ void __launch_bounds__(threads)                                          \
        spec_kernel_##name(const __grid_constant__ struct name##_args a)
/* KERNEL with `blocks` blocks resident per multiprocessor, which bounds the registers. */
#define KERNEL_RESIDENT(name, threads, blocks)                                                     \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        spec_kernel_##name(const __grid_constant__ struct name##_args a)
/* Not static: nvcc would put a hash of the folder's path into the names of their shared arrays. */
#define DEVICE __device__ __forceinline__
#define SHARED __shared__
#define UNROLL _Pragma("unroll")
#define ONE_BY_ONE _Pragma("unroll 1")
#define THREAD ((int)threadIdx.x)
#define THREADS ((int)blockDim.x)
#define BLOCK_X ((int)blockIdx.x)
#define BLOCK_Y ((int)blockIdx.y)
#define BLOCK_Z ((int)blockIdx.z)
#define GRID_X ((int)gridDim.x)

/* A launch may begin while the previous one in the stream still runs (card.h). This call waits for
 * its end and lets the next one begin. Before the call, a kernel may load weights, and what a
 * launch before the previous one wrote, since that one had ended before this one began. */
DEVICE void after_previous(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;\n griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* Barriers of the block and of the warp: earlier writes become visible. */
DEVICE void sync_block(void) { __syncthreads(); }
DEVICE void sync_warp(void) { __syncwarp(); }

/* Return the value of lane (own ^ mask); of lane `lane`; whether any lane's value is true. */
DEVICE float shuffle_xor(float value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}
DEVICE int shuffle_xor_int(int value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}
DEVICE double shuffle_xor_double(double value, int mask)
{
    return __shfl_xor_sync(0xffffffffu, value, mask);
}
DEVICE int shuffle_from_int(int value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }
DEVICE double shuffle_from_double(double value, int lane)
{
    return __shfl_sync(0xffffffffu, value, lane);
}
DEVICE bool vote_any(bool value) { return __any_sync(0xffffffffu, value); }

/* Loads 16, 8 or 4 aligned bytes of any type. _once: bypasses the L1 cache, for data that no other
 * thread reads. It stays before a barrier or after_previous() that follows it, whereas a compiler
 * may move a plain ld.global.nc past these. */
DEVICE quad load_once(const void *from)
{
    quad q;
    asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(q.x), "=r"(q.y), "=r"(q.z), "=r"(q.w)
                 : "l"(from));
    return q;
}
/* Loads into *q if `there`; otherwise *q keeps its value. One instruction, so that nothing waits
 * for the load. */
DEVICE void load_once_if(quad *q, bool there, const void *from)
{
    asm volatile("{ .reg .pred there;\n setp.ne.b32 there, %5, 0;\n"
                 " @there ld.global.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4]; }"
                 : "+r"(q->x), "+r"(q->y), "+r"(q->z), "+r"(q->w)
                 : "l"(from), "r"((int)there));
}
DEVICE quad load_quad(const void *from)
{
    const uint4 v = *(const uint4 *)from;
    const quad q = {v.x, v.y, v.z, v.w};
    return q;
}
DEVICE pair load_pair(const void *from)
{
    const uint2 v = *(const uint2 *)from;
    const pair p = {v.x, v.y};
    return p;
}
DEVICE uint32_t load_word(const void *from) { return *(const uint32_t *)from; }
DEVICE void store_quad(void *to, quad q)
{
    *(uint4 *)to = make_uint4(q.x, q.y, q.z, q.w);
}
DEVICE void store_pair(void *to, pair p)
{
    *(uint2 *)to = make_uint2(p.x, p.y);
}

/* Copies 16 aligned bytes to shared memory asynchronously; zeros if not `there`. _once: as
 * load_once. Copies since the last _commit form a group. _wait(n), n a constant, waits for all but
 * the thread's n latest groups; the thread may then read its copies, and after a barrier the whole
 * block. */
DEVICE void copy_async(void *shared, const void *from, bool there)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from), "r"(there ? 16 : 0)
                 : "memory");
}
DEVICE void copy_once(void *shared, const void *from)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 :
                 : "r"((uint32_t)__cvta_generic_to_shared(shared)), "l"(from)
                 : "memory");
}
DEVICE void copy_commit(void) { asm volatile("cp.async.commit_group;" ::: "memory"); }
#define copy_wait(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

/* Orders memory accesses, so that blocks of a launch can pass data to each other. The writer calls
 * fence(), then take_uint32 on a counter. A reader that sees that the counter is complete also
 * calls fence(), and then reads with load_fresh. */
DEVICE void fence(void) { __threadfence(); }
DEVICE quad load_fresh(const void *from)
{
    const uint4 v = __ldcg((const uint4 *)from);
    const quad q = {v.x, v.y, v.z, v.w};
    return q;
}

/* d += a b, by a warp: D (16, 8), A (16, k), B (k, 8), k = 16 of bf16 or 32 of int8, in the
 * fragments of PTX's mma.sync.m16n8k16 and m16n8k32. With g = lane/4, q = lane%4:
 *   bf16  a[0] A[g][2q..2q+1]  a[1] A[g+8][..]  a[2] A[g][2q+8..2q+9]  a[3] A[g+8][..]
 *         b[0] B[2q..2q+1][g]  b[1] B[2q+8..][g]
 *   int8  a[0] A[g][4q..4q+3]  a[1] A[g+8][..]  a[2] A[g][4q+16..]     a[3] A[g+8][..]
 *         b[0] B[4q..4q+3][g]  b[1] B[4q+16..][g]
 *   both  d[0], d[1] D[g][2q..2q+1]  d[2], d[3] D[g+8][2q..2q+1]
 * The lower bits of a word hold the lower index. */
DEVICE void mma_bf16(float *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, "
                 "{%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_int8(int32_t *d, const uint32_t *a, const uint32_t *b)
{
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Atomic additions and maximum, only on integers, so that their order does not matter. */
DEVICE void add_uint32(uint32_t *to, uint32_t value) { atomicAdd(to, value); }
DEVICE void add_uint64(uint64_t *to, uint64_t value)
{
    atomicAdd((unsigned long long *)to, (unsigned long long)value);
}
DEVICE void raise_uint32(uint32_t *to, uint32_t value) { atomicMax(to, value); }

/* Atomic addition that returns the earlier value: indices into a list in any order. */
DEVICE uint32_t take_uint32(uint32_t *from, uint32_t value) { return atomicAdd(from, value); }

DEVICE float float_of_f16(uint16_t half)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
    return value;
}
DEVICE float float_of_bits(uint32_t bits) { return __uint_as_float(bits); }
DEVICE uint32_t bits_of_float(float value) { return __float_as_uint(value); }
DEVICE double double_of_bits(uint64_t bits) { return __longlong_as_double((long long)bits); }
DEVICE uint64_t bits_of_double(double value) { return (uint64_t)__double_as_longlong(value); }

#else /* in the simulator */

#include <math.h>
#include <string.h>

/* The simulator (tests/simulator) sets this before it resumes a thread. `moved` counts bytes of
 * quads and pairs, `blocks` the started blocks. */
typedef struct {
    int thread, threads, block[3], grid[3];
    uint64_t moved, blocks;
} simt_place;
extern simt_place simt;

/* Called by threads; each switches to other threads and returns once all participants have called
 * it. The threads exchange `value`, 8 bytes. `line` is for messages. */
void simt_after_previous(const char *file, int line);
void simt_sync_block(const char *file, int line);
void simt_sync_warp(const char *file, int line);
uint64_t simt_shuffle(uint64_t value, int lane, const char *file, int line);
uint32_t simt_vote(bool value, const char *file, int line);
void simt_mma_bf16(float *d, const uint32_t *a, const uint32_t *b, const char *file, int line);
void simt_mma_int8(int32_t *d, const uint32_t *a, const uint32_t *b, const char *file, int line);
void simt_add_uint32(uint32_t *to, uint32_t value);
void simt_add_uint64(uint64_t *to, uint64_t value);
void simt_raise_uint32(uint32_t *to, uint32_t value);
uint32_t simt_take_uint32(uint32_t *from, uint32_t value);
void simt_copy_async(void *shared, const void *from, bool there);
void simt_copy_commit(void);
void simt_copy_wait(int n);
void simt_fence(void);
quad simt_load_fresh(const void *from);
void simt_misaligned(const void *at, int bytes, const char *file, int line);
void simt_shared_begins(char *begin, const char *end);

#define KERNEL(name, most_threads)                                                                 \
    void spec_kernel_##name(struct name##_args a);                                                 \
    void spec_kernel_##name(struct name##_args a)
#define KERNEL_RESIDENT(name, threads, blocks) KERNEL(name, threads)
#define DEVICE static inline
#define SHARED SIMT_SHARED(SIMT_SECTION, __COUNTER__)
#define UNROLL
#define ONE_BY_ONE
/* Each shared array is in its own section, so we know where it begins and ends. The first thread of
 * the block that arrives begins it. The build passes SIMT_SECTION, a different one for each .cu
 * file. */
#define SIMT_SHARED(section, number) SIMT_SHARED_IN(section, number)
#define SIMT_SHARED_IN(in, number)                                                                 \
    extern char __start_##in##number[] __attribute__((visibility("hidden")));                      \
    extern char __stop_##in##number[] __attribute__((visibility("hidden")));                       \
    static uint64_t simt_begun_##number;                                                           \
    if (simt_begun_##number != simt.blocks)                                                        \
        simt_shared_begins(__start_##in##number, __stop_##in##number);                             \
    simt_begun_##number = simt.blocks;                                                             \
    static __attribute__((section(#in #number)))
#define THREAD (simt.thread)
#define THREADS (simt.threads)
#define BLOCK_X (simt.block[0])
#define BLOCK_Y (simt.block[1])
#define BLOCK_Z (simt.block[2])
#define GRID_X (simt.grid[0])

#define after_previous() simt_after_previous(__FILE__, __LINE__)
#define sync_block() simt_sync_block(__FILE__, __LINE__)
#define sync_warp() simt_sync_warp(__FILE__, __LINE__)
#define shuffle_xor(value, mask)                                                                   \
    simt_shuffle_float((value), simt.thread % WARP_LANES ^ (mask), __FILE__, __LINE__)
#define shuffle_xor_int(value, mask)                                                               \
    ((int)simt_shuffle((uint32_t)(value), simt.thread % WARP_LANES ^ (mask), __FILE__, __LINE__))
#define shuffle_xor_double(value, mask)                                                            \
    simt_shuffle_double((value), simt.thread % WARP_LANES ^ (mask), __FILE__, __LINE__)
#define shuffle_from_int(value, lane)                                                              \
    ((int)simt_shuffle((uint32_t)(value), (lane), __FILE__, __LINE__))
#define shuffle_from_double(value, lane) simt_shuffle_double((value), (lane), __FILE__, __LINE__)
#define vote_any(value) (simt_vote((value), __FILE__, __LINE__) != 0)
#define mma_bf16(d, a, b) simt_mma_bf16((d), (a), (b), __FILE__, __LINE__)
#define mma_int8(d, a, b) simt_mma_int8((d), (a), (b), __FILE__, __LINE__)
#define load_once(from) simt_load_quad((from), __FILE__, __LINE__)
#define load_quad(from) simt_load_quad((from), __FILE__, __LINE__)
#define load_once_if(q, there, from) ((void)((there) && (*(q) = load_once(from), true)))
#define load_pair(from) simt_load_pair((from), __FILE__, __LINE__)
#define load_word(from) simt_load_word((from), __FILE__, __LINE__)
#define store_quad(to, q) simt_store_quad((to), (q), __FILE__, __LINE__)
#define store_pair(to, p) simt_store_pair((to), (p), __FILE__, __LINE__)
#define add_uint32(to, value) simt_add_uint32((to), (value))
#define add_uint64(to, value) simt_add_uint64((to), (value))
#define raise_uint32(to, value) simt_raise_uint32((to), (value))
#define take_uint32(from, value) simt_take_uint32((from), (value))
#define copy_async(shared, from, there)                                                            \
    do {                                                                                           \
        simt_aligned((shared), 16, __FILE__, __LINE__);                                            \
        simt_aligned((from), 16, __FILE__, __LINE__);                                              \
        simt_copy_async((shared), (from), (there));                                                \
    } while (0)
#define copy_once(shared, from) copy_async((shared), (from), true)
#define fence() simt_fence()
#define load_fresh(from) simt_load_fresh(from)
#define copy_commit() simt_copy_commit()
#define copy_wait(n) simt_copy_wait(n)

DEVICE float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
DEVICE uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
DEVICE double double_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
DEVICE uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
DEVICE float simt_shuffle_float(float value, int lane, const char *file, int line)
{
    return float_of_bits((uint32_t)simt_shuffle(bits_of_float(value), lane, file, line));
}
DEVICE double simt_shuffle_double(double value, int lane, const char *file, int line)
{
    return double_of_bits(simt_shuffle(bits_of_double(value), lane, file, line));
}
/* A GPU faults on unaligned addresses. */
DEVICE void simt_aligned(const void *at, int bytes, const char *file, int line)
{
    if ((uintptr_t)at % (uintptr_t)bytes != 0) simt_misaligned(at, bytes, file, line);
    simt.moved += (uint64_t)bytes;
}
DEVICE quad simt_load_quad(const void *from, const char *file, int line)
{
    quad q;
    simt_aligned(from, sizeof q, file, line);
    memcpy(&q, from, sizeof q);
    return q;
}
DEVICE pair simt_load_pair(const void *from, const char *file, int line)
{
    pair p;
    simt_aligned(from, sizeof p, file, line);
    memcpy(&p, from, sizeof p);
    return p;
}
DEVICE uint32_t simt_load_word(const void *from, const char *file, int line)
{
    uint32_t word;
    simt_aligned(from, sizeof word, file, line);
    memcpy(&word, from, sizeof word);
    return word;
}
DEVICE void simt_store_quad(void *to, quad q, const char *file, int line)
{
    simt_aligned(to, sizeof q, file, line);
    memcpy(to, &q, sizeof q);
}
DEVICE void simt_store_pair(void *to, pair p, const char *file, int line)
{
    simt_aligned(to, sizeof p, file, line);
    memcpy(to, &p, sizeof p);
}

DEVICE float float_of_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) return float_of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    return float_of_bits(sign |
                         bits_of_float(float_of_bits(rest << 13) * 0x1p112f)); /* subnormals too */
}

#endif /* on both */

#define LANE (THREAD % WARP_LANES)
#define WARP (THREAD / WARP_LANES)

DEVICE float float_of_bf16(uint16_t half) { return float_of_bits((uint32_t)half << 16); }

/* Rounds to nearest, ties to even; a NaN stays NaN. */
DEVICE uint16_t bf16_of_float(float value)
{
    const uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
