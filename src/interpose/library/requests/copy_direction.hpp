// What a copy tells of the requests of an SLO job: a request may begin with one to the GPU, and the
// program may wait in one to the host.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "interpose/library/captures.hpp"
#include "interpose/library/driver_abi.hpp"

namespace carpool::interpose {

enum class CopyDirection : std::uint8_t {
  Unknown,  // the driver finds out by the addresses
  ToDevice,
  ToHost,
  OnDevice,
};

[[nodiscard]] constexpr bool is_part(std::string_view part, std::string_view name) {
  return name.find(part) != std::string_view::npos;
}

// By the name of a function.
[[nodiscard]] constexpr CopyDirection named_direction(std::string_view name) {
  if (is_part("HtoD", name) || is_part("HtoA", name)) {
    return CopyDirection::ToDevice;
  }
  if (is_part("DtoH", name) || is_part("AtoH", name)) {
    return CopyDirection::ToHost;
  }
  for (const std::string_view part : {"toD", "toA", "Memset", "Prefetch", "Batch", "Peer"}) {
    if (is_part(part, name)) {
      return CopyDirection::OnDevice;
    }
  }
  return CopyDirection::Unknown;
}

[[nodiscard]] constexpr CopyDirection direction_between(unsigned source, unsigned target) {
  const auto is_known = [](unsigned type) { return type >= kHostMemory && type <= kArrayMemory; };
  if (!is_known(source) || !is_known(target)) {
    return CopyDirection::Unknown;
  }
  if (target == kHostMemory) {
    return CopyDirection::ToHost;
  }
  return source == kHostMemory ? CopyDirection::ToDevice : CopyDirection::OnDevice;
}

struct RequestCopy {
  CopyDirection direction = CopyDirection::Unknown;
  bool returns_when_done = false;  // if it is one to the host
  Twin twin = Twin::Legacy;        // of its default stream
  // Where the driver finds the direction out by them.
  DevicePointer target = 0;
  DevicePointer source = 0;
};

[[nodiscard]] consteval RequestCopy named_copy(std::string_view name) {
  return {.direction = named_direction(name),
          .returns_when_done = !is_part("Async", name),
          .twin = is_part("_ptds", name) ? Twin::PerThread : Twin::Legacy};
}

// By the arguments as well: by a shape, or by addresses, about which the driver is asked later.
template <class First, class... Rest>
[[nodiscard]] constexpr RequestCopy request_copy(RequestCopy copy,
                                                 const First& first,
                                                 const Rest&... rest) {
  if (copy.direction != CopyDirection::Unknown) {
    return copy;
  }
  if constexpr (requires { first->target_type; }) {
    if (first != nullptr) {
      copy.direction = direction_between(first->source_type, first->target_type);
    }
  } else if constexpr (std::is_same_v<First, DevicePointer> && sizeof...(Rest) > 0) {
    const auto& second = std::get<0>(std::tie(rest...));
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(second)>, DevicePointer>) {
      copy.target = first;
      copy.source = second;
    }
  }
  return copy;
}

// Asks the driver.
[[nodiscard]] CopyDirection direction_by_address(DevicePointer source, DevicePointer target);

}  // namespace carpool::interpose
