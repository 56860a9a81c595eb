#include "gpu/nvml/reader.hpp"

#include <fmt/format.h>

namespace carpool::gpu::nvml {

std::string Reader::text(std::string_view what, Return (*function)(Device, char*, unsigned)) {
  std::string buffer(kTextBytes, '\0');
  if (const Return code = tried(function, buffer.data(), kTextBytes); code != kSuccess) {
    note(what, code);
  }
  return buffer.c_str();
}

void Reader::note(std::string_view what, Return code) {
  if (!error_) {
    error_ = gpu_.library->failure(fmt::format("read the {} of GPU {}", what, gpu_.index), code);
  }
}

}  // namespace carpool::gpu::nvml
