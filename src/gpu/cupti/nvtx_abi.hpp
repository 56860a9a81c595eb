// Declarations of the NVTX tool interface (NVTX_INJECTION64_PATH), for the same reason as in
// abi.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carpool::gpu::nvtx {

using Function = void (*)();
using FunctionTable = Function**;  // an array of pointers to the slots
using GetExportTable = const void* (*)(std::uint32_t table);

inline constexpr std::uint32_t kTableCallbacks = 1;

struct Callbacks {
  std::size_t size = 0;
  int (*module_functions)(std::uint32_t module, FunctionTable* table, unsigned* count) = nullptr;
};

inline constexpr std::uint32_t kModuleCore = 1;
inline constexpr unsigned kRangeStartEx = 4;
inline constexpr unsigned kRangeStartA = 5;
inline constexpr unsigned kRangeEnd = 7;
inline constexpr unsigned kRangePushEx = 8;
inline constexpr unsigned kRangePushA = 9;
inline constexpr unsigned kRangePop = 11;

inline constexpr std::uint32_t kModuleCore2 = 5;
inline constexpr unsigned kDomainRangeStartEx = 2;
inline constexpr unsigned kDomainRangeEnd = 3;
inline constexpr unsigned kDomainRangePushEx = 4;
inline constexpr unsigned kDomainRangePop = 5;
inline constexpr unsigned kDomainRegisterStringA = 10;
inline constexpr unsigned kDomainCreateA = 12;

inline constexpr std::int32_t kMessageAscii = 1;
inline constexpr std::int32_t kMessageRegistered = 3;

struct EventAttributes {
  std::uint16_t version = 0;
  std::uint16_t size = 0;
  std::uint32_t category = 0;
  std::int32_t color_type = 0;
  std::uint32_t color = 0;
  std::int32_t payload_type = 0;
  std::int32_t reserved = 0;
  std::uint64_t payload = 0;
  std::int32_t message_type = 0;
  const void* message = nullptr;  // text, or a handle of kDomainRegisterStringA
};
static_assert(sizeof(EventAttributes) == 48);

}  // namespace carpool::gpu::nvtx
