// The part of NVTX's interface for tools that is used here; the numbers are NVIDIA's
// (nvtx3/nvtxDetail/nvtxTypes.h). tests/shim/nvtx_header_commands.cpp compares them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace carpool::interpose::nvtx {

using Function = void (*)();
using FunctionTable = Function**;  // an array of pointers to the slots
using GetExportTable = const void* (*)(std::uint32_t table);

inline constexpr std::uint32_t kCallbacksTable = 1;
struct CallbacksTable {
  std::size_t size = 0;
  int (*module_functions)(std::uint32_t module, FunctionTable* table, unsigned* count) = nullptr;
};

enum class Module : std::uint32_t { Core = 1, Core2 = 5 };

enum class CoreCall : unsigned {
  RangeStartEx = 4,
  RangeStartA = 5,
  RangeStartW = 6,
  RangeEnd = 7,
  RangePushEx = 8,
  RangePushA = 9,
  RangePushW = 10,
  RangePop = 11,
};

enum class Core2Call : unsigned {
  DomainRangeStartEx = 2,
  DomainRangeEnd = 3,
  DomainRangePushEx = 4,
  DomainRangePop = 5,
  DomainRegisterStringA = 10,
  DomainRegisterStringW = 11,
  DomainCreateA = 12,
  DomainCreateW = 13,
};

enum class MessageType : std::int32_t { Ascii = 1, Wide = 2, Registered = 3 };

struct EventAttributes {
  std::uint16_t version = 0;
  std::uint16_t size = 0;
  std::uint32_t category = 0;
  std::int32_t color_type = 0;
  std::uint32_t color = 0;
  std::int32_t payload_type = 0;
  std::int32_t reserved = 0;
  std::uint64_t payload = 0;
  MessageType message_type{};
  const void* message = nullptr;  // a text, or a handle of DomainRegisterString
};

}  // namespace carpool::interpose::nvtx
