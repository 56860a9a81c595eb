// Every function that the fake exports. A row of the lists is
//   FAKE_CUDA_FUNCTION(exported name, name that is looked up, CUDA version, twin, (parameters))
// as in NVIDIA's cudaTypedefs.h; twin is any, or ptsz or ptds for the functions of the per-thread
// default stream. From the rows come declarations, look-up table, counters and ABI check.
#pragma once

#include "types.hpp"

#define FAKE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) name,
namespace fake_cuda {
enum class Entry : int {
#include "all.inc"
  Count
};
}  // namespace fake_cuda
#undef FAKE_CUDA_FUNCTION

namespace fake_cuda {
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) \
  FAKE_CUDA_EXPORT Result name parameters;
#include "all.inc"
#undef FAKE_CUDA_FUNCTION
}  // namespace fake_cuda
// NOLINTEND(readability-identifier-naming)
