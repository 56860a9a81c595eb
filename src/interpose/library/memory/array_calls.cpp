// Wrappers of the functions that make and destroy arrays.
#include "interpose/library/memory/charge.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// Flags of arrays that have no memory of their own.
constexpr unsigned kSparse = 0x40;
constexpr unsigned kDeferredMapping = 0x80;

// CUarray_format; formats that are compressed or new count as four bytes.
std::uint64_t bytes_of_format(int format) {
  switch (format) {
    case 0x01:  // unsigned and signed, 8 bits
    case 0x08:
      return 1;
    case 0x02:  // unsigned and signed, 16 bits; half
    case 0x09:
    case 0x10:
      return 2;
    default:
      return 4;
  }
}

std::uint64_t at_least_one(std::uint64_t length) {
  return length == 0 ? 1 : length;
}

template <class Shape>
std::uint64_t bytes_of_array(const Shape& shape) {
  std::uint64_t elements = at_least_one(shape.width) * at_least_one(shape.height);
  if constexpr (requires { shape.depth; }) {
    if ((shape.flags & (kSparse | kDeferredMapping)) != 0) {
      return 0;
    }
    elements *= at_least_one(shape.depth);
  }
  return elements * shape.channels * bytes_of_format(shape.format);
}

// Each level has an eighth to a half of the one before.
std::uint64_t bytes_of_levels(const ArrayShape3D& shape, unsigned levels) {
  std::uint64_t bytes = 0;
  ArrayShape3D level = shape;
  for (unsigned i = 0; i < levels && i < 32; ++i) {
    bytes += bytes_of_array(level);
    level.width = at_least_one(level.width / 2);
    level.height /= 2;
    level.depth /= 2;
  }
  return bytes;
}

template <class AskDriver>
Status allocate_array(const Handle* array, std::uint64_t bytes, const AskDriver& ask_driver) {
  return allocate(current_device(), AllocationKind::Array, bytes, ask_driver, [array] {
    return std::uint64_t{reinterpret_cast<std::uintptr_t>(*array)};
  });
}

template <class AskDriver>
Status free_array(Handle array, const AskDriver& ask_driver) {
  return free_allocation(
      AllocationKind::Array, reinterpret_cast<std::uintptr_t>(array), ask_driver);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

#define CREATE_ARRAY(NAME, SHAPE)                                     \
  Status NAME(Handle* array, const SHAPE* shape) {                    \
    const Call call;                                                  \
    const auto ask_driver = [&] { return REAL(NAME, array, shape); }; \
    if (!call.counts() || array == nullptr || shape == nullptr) {     \
      return ask_driver();                                            \
    }                                                                 \
    return allocate_array(array, bytes_of_array(*shape), ask_driver); \
  }
CREATE_ARRAY(cuArrayCreate, OldArrayShape)
CREATE_ARRAY(cuArrayCreate_v2, ArrayShape)
CREATE_ARRAY(cuArray3DCreate, OldArrayShape3D)
CREATE_ARRAY(cuArray3DCreate_v2, ArrayShape3D)

Status cuMipmappedArrayCreate(Handle* array, const ArrayShape3D* shape, unsigned levels) {
  const Call call;
  const auto ask_driver = [&] { return REAL(cuMipmappedArrayCreate, array, shape, levels); };
  if (!call.counts() || array == nullptr || shape == nullptr) {
    return ask_driver();
  }
  return allocate_array(array, bytes_of_levels(*shape, levels), ask_driver);
}

#define DESTROY_ARRAY(NAME)                                              \
  Status NAME(Handle array) {                                            \
    const Call call;                                                     \
    const auto ask_driver = [&] { return REAL(NAME, array); };           \
    return call.counts() ? free_array(array, ask_driver) : ask_driver(); \
  }
DESTROY_ARRAY(cuArrayDestroy)
DESTROY_ARRAY(cuMipmappedArrayDestroy)

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
