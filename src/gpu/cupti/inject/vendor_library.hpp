// NVIDIA's CUPTI and driver as they are found in the process at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/cupti/abi.hpp"

namespace carpool::gpu::inject {

// Functions of CUPTI; those that a release may lack are null then.
struct CuptiFunctions {
  cupti::Code (*version)(std::uint32_t*) = nullptr;
  cupti::Code (*result_string)(cupti::Code, const char**) = nullptr;
  cupti::Code (*subscribe)(cupti::Subscriber*, cupti::Callback, void*) = nullptr;
  cupti::Code (*register_callbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  cupti::Code (*enable)(cupti::Kind) = nullptr;
  cupti::Code (*disable)(cupti::Kind) = nullptr;
  cupti::Code (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
  cupti::Code (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
  cupti::Code (*flush_all)(std::uint32_t) = nullptr;
  cupti::Code (*set_attribute)(std::uint32_t, std::size_t*, void*) = nullptr;
  cupti::Code (*register_timestamp)(cupti::Timestamp) = nullptr;
  cupti::Code (*timestamp)(std::uint64_t*) = nullptr;
};

struct Cupti {
  void* handle = nullptr;  // null: not found, or not to be used; `refusal` says why
  CuptiFunctions functions;
  std::uint32_t version = 0;
  std::string path;  // where it was found
  std::string refusal;
};

// CUPTI: the file named, when one is; else the one that the program itself has loaded, then those
// beside the program's CUDA libraries, then those of the usual places; each for CUDA 13, then 12.
[[nodiscard]] Cupti find_cupti(const std::string& named);

// What CUPTI calls this code, and the number.
[[nodiscard]] std::string code_text(const CuptiFunctions& functions, cupti::Code code);

// A function of the driver, which the program has loaded by then; null: not there.
[[nodiscard]] void* driver_function(const char* name);

// One text of several.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> parts);

}  // namespace carpool::gpu::inject
