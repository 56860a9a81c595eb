// Wrappers of the functions that allocate by pointer: plain, pitched and managed.
#include "interpose/library/memory/charge.hpp"
#include "interpose/library/memory/pools.hpp"
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

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

// ALLOCATE(name, parameters, bytes, whether the call is charged, arguments…); `pointer` is the
// result.
#define ALLOCATE(NAME, PARAMETERS, BYTES, ...)                       \
  Status NAME PARAMETERS {                                           \
    const Call call;                                                 \
    const auto ask_driver = [&] { return REAL(NAME, __VA_ARGS__); }; \
    if (!call.counts() || pointer == nullptr) {                      \
      return ask_driver();                                           \
    }                                                                \
    return allocate_pointer(pointer, BYTES, ask_driver);             \
  }

ALLOCATE(cuMemAlloc, (OldDevicePointer * pointer, unsigned bytes), bytes, pointer, bytes)
ALLOCATE(cuMemAlloc_v2, (DevicePointer * pointer, std::size_t bytes), bytes, pointer, bytes)
ALLOCATE(cuMemAllocManaged,
         (DevicePointer * pointer, std::size_t bytes, unsigned flags),
         bytes,
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
         pointer,
         pitch,
         width,
         height,
         element)

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

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
