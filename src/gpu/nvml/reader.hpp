// Reads values of one device and keeps the first error.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/nvml/library.hpp"

namespace carpool::gpu::nvml {

// One device of the driver; used only on the thread that owns the library.
struct DeviceRef {
  const Library* library = nullptr;
  Device handle = nullptr;
  unsigned index = 0;
};

class Reader {
 public:
  explicit Reader(const DeviceRef& gpu) : gpu_(gpu) {}

  // function(device, arguments…, &value); nothing if the driver or GPU does not provide it or an
  // earlier read failed.
  template <class T, class... Declared, class... Given>
  [[nodiscard]] std::optional<T> read(std::string_view what,
                                      Return (*function)(Device, Declared...),
                                      Given... arguments) {
    T value{};
    const Return code = tried(function, arguments..., &value);
    if (code == kSuccess) {
      return value;
    }
    if (!is_absence(code)) {
      note(what, code);
    }
    return std::nullopt;
  }

  // The same for values that every GPU has: absence is an error.
  template <class T, class... Declared, class... Given>
  [[nodiscard]] T require(std::string_view what,
                          Return (*function)(Device, Declared...),
                          Given... arguments) {
    T value{};
    if (const Return code = tried(function, arguments..., &value); code != kSuccess) {
      note(what, code);
    }
    return value;
  }

  [[nodiscard]] std::string text(std::string_view what,
                                 Return (*function)(Device, char*, unsigned));

  template <class T>
  [[nodiscard]] Result<T> finish(T value) {
    if (error_) {
      return tl::unexpected(std::move(*error_));
    }
    return value;
  }

 private:
  template <class... Declared, class... Given>
  Return tried(Return (*function)(Device, Declared...), Given... arguments) {
    if (function == nullptr || error_) {
      return kFunctionNotFound;
    }
    return function(gpu_.handle, arguments...);
  }

  // Keeps the first error.
  void note(std::string_view what, Return code);

  DeviceRef gpu_;
  std::optional<Error> error_;
};

}  // namespace carpool::gpu::nvml
