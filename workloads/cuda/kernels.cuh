// The kernels of micro.cu, one per resource.
#pragma once

#include <cstddef>
#include <cuda_bf16.h>
#include <mma.h>

constexpr int kChains = 8;                  // independent multiply-adds in flight in a thread
constexpr int kFragments = 4;               // independent matrix products in flight in a warp
constexpr std::size_t kL2Stagger = 12'344;  // vectors, whole cache lines

// Never true, but unknown to the compiler, which therefore keeps the computation.
__device__ bool keep(float value) {
  return value == 1234.5F;
}

__global__ void compute(float* sink, int iterations) {
  float chain[kChains];
  for (int i = 0; i < kChains; ++i) {
    chain[i] = static_cast<float>(threadIdx.x + i);
  }
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) {
      chain[i] = fmaf(chain[i], 0.999F, 0.001F);
    }
  }
  float sum = 0;
  for (float value : chain) {
    sum += value;
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

__global__ void tensor(float* sink, int iterations) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[kFragments];
  wmma::fill_fragment(a, __float2bfloat16(0.001F));
  wmma::fill_fragment(b, __float2bfloat16(0.001F));
  // Different sums that are all used: the compiler would remove equal or unused ones.
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
    wmma::fill_fragment(c[i], static_cast<float>(threadIdx.x + i));
  }
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
      wmma::mma_sync(c[i], a, b, c[i]);
    }
  }
  float sum = 0.0F;
  for (auto& fragment : c) {
    for (int i = 0; i < fragment.num_elements; ++i) {
      sum += fragment.x[i];
    }
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

// Each block copies `chunk` vectors after those of the previous launch, so that no cache has them. The
// size of the buffer is a power of two; `mask` is one less.
__global__ void dram(const float4* __restrict__ from,
                     float4* __restrict__ to,
                     std::size_t mask,
                     std::size_t first,
                     std::size_t chunk) {
  const std::size_t begin = first + blockIdx.x * chunk;
#pragma unroll 4
  for (std::size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
    const std::size_t place = (begin + i) & mask;
    to[place] = from[place];
  }
}

// Each block reads `chunk` vectors of a buffer that stays in L2, bypassing L1, from its own offset.
__global__ void l2(const float4* __restrict__ from,
                   float* sink,
                   std::size_t mask,
                   std::size_t chunk) {
  const std::size_t begin = blockIdx.x * kL2Stagger;
  float sum = 0;
#pragma unroll 4
  for (std::size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
    const float4 value = __ldcg(from + ((begin + i) & mask));
    sum += value.x + value.y + value.z + value.w;
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

__global__ void nearly_nothing(float* sink) {
  if (keep(static_cast<float>(threadIdx.x))) {
    *sink = 0;
  }
}
