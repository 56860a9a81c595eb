// Wrappers of the functions that allocate by pointer: plain, pitched, managed and stream-ordered.
#include "interpose/library/captures.hpp"
#include "interpose/library/charge.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// The driver chooses a pitch of at most the next multiple of this above the width.
constexpr std::uint64_t kMostPitchStep = 512;

std::uint64_t pitched_bytes(std::uint64_t width, std::uint64_t height) {
  return (width + kMostPitchStep - 1) / kMostPitchStep * kMostPitchStep * height;
}

template <class Pointer, class AskDriver>
Status allocate_pointer(Pointer* pointer, std::uint64_t bytes, const AskDriver& ask_driver) {
  return allocate(current_device(), AllocationKind::Pointer, bytes, ask_driver, [pointer] {
    return std::uint64_t{*pointer};
  });
}

template <class AskDriver>
Status free_pointer(std::uint64_t pointer, const AskDriver& ask_driver) {
  return free_allocation(AllocationKind::Pointer, pointer, ask_driver);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

// ALLOCATE(name, parameters, bytes, whether the call is charged, arguments…); `pointer` is the
// result.
#define ALLOCATE(NAME, PARAMETERS, BYTES, CHARGED, ...)              \
  Status NAME PARAMETERS {                                           \
    const Call call;                                                 \
    const auto ask_driver = [&] { return REAL(NAME, __VA_ARGS__); }; \
    if (!call.counts() || pointer == nullptr || !(CHARGED)) {        \
      return ask_driver();                                           \
    }                                                                \
    return allocate_pointer(pointer, BYTES, ask_driver);             \
  }

ALLOCATE(cuMemAlloc, (OldDevicePointer * pointer, unsigned bytes), bytes, true, pointer, bytes)
ALLOCATE(cuMemAlloc_v2, (DevicePointer * pointer, std::size_t bytes), bytes, true, pointer, bytes)
ALLOCATE(cuMemAllocManaged,
         (DevicePointer * pointer, std::size_t bytes, unsigned flags),
         bytes,
         true,
         pointer,
         bytes,
         flags)
ALLOCATE(cuMemAllocPitch,
         (OldDevicePointer * pointer,
          unsigned* pitch,
          unsigned width,
          unsigned height,
          unsigned element),
         pitched_bytes(width, height),
         true,
         pointer,
         pitch,
         width,
         height,
         element)
ALLOCATE(cuMemAllocPitch_v2,
         (DevicePointer * pointer,
          std::size_t* pitch,
          std::size_t width,
          std::size_t height,
          unsigned element),
         pitched_bytes(width, height),
         true,
         pointer,
         pitch,
         width,
         height,
         element)

// In a captured stream an allocation is a node: it is charged when the graph is made executable.
#define ALLOCATE_ASYNC(NAME, TWIN)                                      \
  ALLOCATE(NAME,                                                        \
           (DevicePointer * pointer, std::size_t bytes, Handle stream), \
           bytes,                                                       \
           !is_captured(stream_key(stream, Twin::TWIN)),                \
           pointer,                                                     \
           bytes,                                                       \
           stream)
ALLOCATE_ASYNC(cuMemAllocAsync, Legacy)
ALLOCATE_ASYNC(cuMemAllocAsync_ptsz, PerThread)

#define ALLOCATE_FROM_POOL(NAME, TWIN)                                               \
  ALLOCATE(NAME,                                                                     \
           (DevicePointer * pointer, std::size_t bytes, Handle pool, Handle stream), \
           bytes,                                                                    \
           !is_captured(stream_key(stream, Twin::TWIN)),                             \
           pointer,                                                                  \
           bytes,                                                                    \
           pool,                                                                     \
           stream)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync, Legacy)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, PerThread)

Status cuMemFree(OldDevicePointer pointer) {
  const Call call;
  const auto ask_driver = [&] { return REAL(cuMemFree, pointer); };
  return call.counts() ? free_pointer(pointer, ask_driver) : ask_driver();
}

Status cuMemFree_v2(DevicePointer pointer) {
  const Call call;
  const auto ask_driver = [&] { return REAL(cuMemFree_v2, pointer); };
  return call.counts() ? free_pointer(pointer, ask_driver) : ask_driver();
}

#define FREE_ASYNC(NAME, TWIN)                                           \
  Status NAME(DevicePointer pointer, Handle stream) {                    \
    const Call call;                                                     \
    const auto ask_driver = [&] { return REAL(NAME, pointer, stream); }; \
    return call.counts() && !is_captured(stream_key(stream, Twin::TWIN)) \
               ? free_pointer(pointer, ask_driver)                       \
               : ask_driver();                                           \
  }
FREE_ASYNC(cuMemFreeAsync, Legacy)
FREE_ASYNC(cuMemFreeAsync_ptsz, PerThread)

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
