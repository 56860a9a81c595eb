// Finds CUPTI and the driver in the process at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "gpu/cupti/abi.hpp"

namespace carpool::gpu::inject {

// Functions of CUPTI; null if the release lacks an optional one.
struct CuptiFunctions {
  cupti::Code (*version)(std::uint32_t*) = nullptr;
  cupti::Code (*result_string)(cupti::Code, const char**) = nullptr;
  cupti::Code (*subscribe)(cupti::Subscriber*, cupti::Callback, void*) = nullptr;
  cupti::Code (*unsubscribe)(cupti::Subscriber) = nullptr;
  cupti::Code (*enable_callback)(std::uint32_t,
                                 cupti::Subscriber,
                                 std::uint32_t,
                                 std::uint32_t) = nullptr;
  cupti::Code (*register_callbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  cupti::Code (*enable)(cupti::Kind) = nullptr;
  cupti::Code (*disable)(cupti::Kind) = nullptr;
  cupti::Code (*next_record)(std::uint8_t*, std::size_t, void**) = nullptr;
  cupti::Code (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
  cupti::Code (*flush_all)(std::uint32_t) = nullptr;
  cupti::Code (*set_attribute)(std::uint32_t, std::size_t*, void*) = nullptr;
  cupti::Code (*register_timestamp)(cupti::Timestamp) = nullptr;
  cupti::Code (*timestamp)(std::uint64_t*) = nullptr;
  cupti::Code (*finalize)() = nullptr;
};

struct Cupti {
  void* handle = nullptr;  // null: not found or unusable; `refusal` says why
  CuptiFunctions functions;
  std::uint32_t version = 0;
  std::string path;  // where it was found
  std::string refusal;
};

// Opens the named file if there is one; else searches the libraries that the program has loaded,
// the folders of its CUDA libraries, and the default folders; for CUDA 13 before 12.
[[nodiscard]] Cupti find_cupti(const std::string& named);

// CUPTI's text for the code, with the number.
[[nodiscard]] std::string code_text(const CuptiFunctions& functions, cupti::Code code);

// A function of the loaded driver; null if it is missing.
[[nodiscard]] void* driver_function(const char* name);

// Concatenates texts.
[[nodiscard]] std::string joined(std::initializer_list<std::string_view> parts);

}  // namespace carpool::gpu::inject
