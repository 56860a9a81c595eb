#include "control.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "driver/driver.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint64_t kUnknown = ~std::uint64_t{0};

constexpr std::array<std::string_view, static_cast<std::size_t>(Entry::Count)> kFunctions{
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) #name,
#include "abi/all.inc"
#undef FAKE_CUDA_FUNCTION
};

std::optional<Count> count_named(std::string_view name) {
  const auto found = std::ranges::find(kCountNames, name);
  return found == kCountNames.end()
             ? std::nullopt
             : std::optional(static_cast<Count>(found - kCountNames.begin()));
}

}  // namespace
}  // namespace fake_cuda

using fake_cuda::Driver;

FAKE_CUDA_EXPORT std::uint64_t fake_cuda_count(const char* name) {
  const auto count = fake_cuda::count_named(name);
  return count ? Driver::get().counts()[*count].load() : fake_cuda::kUnknown;
}

FAKE_CUDA_EXPORT std::uint64_t fake_cuda_total(const char* name) {
  const auto count = fake_cuda::count_named(name);
  return count ? Driver::get().device().total(*count) : fake_cuda::kUnknown;
}

FAKE_CUDA_EXPORT std::uint64_t fake_cuda_calls(const char* function) {
  const auto found = std::ranges::find(fake_cuda::kFunctions, std::string_view(function));
  return found == fake_cuda::kFunctions.end() ? fake_cuda::kUnknown
                                              : fake_cuda::calls_of(static_cast<fake_cuda::Entry>(
                                                    found - fake_cuda::kFunctions.begin()));
}

FAKE_CUDA_EXPORT std::uint64_t fake_cuda_device_used(int gpu) {
  fake_cuda::SharedDevice& device = Driver::get().device();
  device.sweep();
  return device.file().gpus.at(static_cast<std::size_t>(gpu)).used_bytes;
}

FAKE_CUDA_EXPORT std::uint64_t fake_cuda_device_peak(int gpu) {
  return Driver::get().device().file().gpus.at(static_cast<std::size_t>(gpu)).peak_bytes;
}

FAKE_CUDA_EXPORT void fake_cuda_pass_time(std::int64_t ns) {
  Driver::get().pass_time(ns);
}

FAKE_CUDA_EXPORT std::int64_t fake_cuda_now() {
  return Driver::get().device().clock_ns();
}
