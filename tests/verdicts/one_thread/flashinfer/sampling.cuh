/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stands in for CUDA, CUB and FlashInfer where a kernel is compiled for one thread per block: a sum
 * over a block is that of the thread's own values, and a barrier is nothing. */
#pragma once
#include <algorithm>
#include <cstdint>

#define __global__
#define __shared__
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __syncthreads() ((void)0)
static struct { uint32_t x; } blockIdx, threadIdx;
using std::max;

namespace cub {
enum BlockScanAlgorithm { BLOCK_SCAN };
enum BlockReduceAlgorithm { BLOCK_REDUCE };

template <typename T, uint32_t THREADS, BlockReduceAlgorithm ALGORITHM> struct BlockReduce {
    explicit BlockReduce(int &) {}
    template <uint32_t N> T Sum(const T (&values)[N])
    {
        T sum = 0;
        for (T value : values) sum += value;
        return sum;
    }
};
} // namespace cub

namespace flashinfer {
template <typename T, uint32_t N> struct vec_t {
    T values[N];
    T &operator[](uint32_t i) { return values[i]; }
    void fill(T value) { std::fill(values, values + N, value); }
    void load(const T *from) { std::copy(from, from + N, values); }
};
inline uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }

namespace sampling {
template <uint32_t THREADS, cub::BlockScanAlgorithm SCAN, cub::BlockReduceAlgorithm REDUCE>
struct SamplingTempStorage {
    struct { int reduce; } block_prim;
    struct { float value; } block_aggregate;
    int sampled_id, last_valid_id;
};

/* The first value at which the running sum passes u. */
template <uint32_t N, uint32_t THREADS, cub::BlockScanAlgorithm SCAN,
          cub::BlockReduceAlgorithm REDUCE, bool DETERMINISTIC, typename PREDICATE, typename STORAGE>
void DeviceSamplingFromProb(uint32_t i, uint32_t d, PREDICATE valid, float u,
                            vec_t<float, N> values, float &aggregate, STORAGE *storage)
{
    for (uint32_t j = 0; j < N && i * N + j < d; j++) {
        if (!valid(values[j])) continue;
        storage->last_valid_id = (int)(i * N + j);
        if (aggregate <= u && aggregate + values[j] > u) storage->sampled_id = (int)(i * N + j);
        aggregate += values[j];
    }
}
} // namespace sampling
} // namespace flashinfer

/* g++ asks for the keyword, nvcc does not. */
#define Sum template Sum
