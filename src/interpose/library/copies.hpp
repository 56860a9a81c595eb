// Counts copies and fills before they are passed on.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interpose/library/captures.hpp"
#include "interpose/library/devices.hpp"
#include "interpose/library/draining/draining.hpp"

namespace carpool::interpose {

[[nodiscard]] inline std::uint64_t bytes_of(const Copy2D* copy) {
  return copy == nullptr ? 0 : copy->width_bytes * copy->height;
}
[[nodiscard]] inline std::uint64_t bytes_of(const OldCopy2D* copy) {
  return copy == nullptr ? 0 : std::uint64_t{copy->width_bytes} * copy->height;
}
[[nodiscard]] inline std::uint64_t bytes_of(const Copy3D* copy) {
  return copy == nullptr ? 0 : copy->width_bytes * copy->height * copy->depth;
}
[[nodiscard]] inline std::uint64_t bytes_of(const OldCopy3D* copy) {
  return copy == nullptr ? 0 : std::uint64_t{copy->width_bytes} * copy->height * copy->depth;
}

// The extent of a batched copy is in elements for arrays; it is taken for bytes.
[[nodiscard]] inline std::uint64_t batch_bytes(const BatchCopy3D* copies, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; copies != nullptr && i < count; ++i) {
    bytes += copies[i].extent[0] * copies[i].extent[1] * copies[i].extent[2];
  }
  return bytes;
}
[[nodiscard]] inline std::uint64_t batch_bytes(const std::size_t* sizes, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; sizes != nullptr && i < count; ++i) {
    bytes += sizes[i];
  }
  return bytes;
}

inline void copied(std::uint64_t bytes, StreamKey stream) {
  if (!is_captured(stream)) {
    stop_if_draining();
    current_device().client.count_copy(bytes);
  }
}

}  // namespace carpool::interpose
