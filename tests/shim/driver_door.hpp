// The ways by which programs reach the functions of the driver.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace carpool::shim_test {

enum class Door {
  Link,    // as a program that is linked with libcuda.so.1
  Symbol,  // dlopen() and dlsym(), as cuBLASLt and Triton
  Lookup,  // cuGetProcAddress, as the CUDA runtime
};

class DriverDoor {
 public:
  explicit DriverDoor(std::string_view name)
      : door_(name == "link"     ? Door::Link
              : name == "symbol" ? Door::Symbol
                                 : Door::Lookup),
        library_(::dlopen("libcuda.so.1", RTLD_NOW)) {}

  [[nodiscard]] bool open() const { return library_ != nullptr; }

  // By exported name, of which the look-up makes name, newest version and flags. Null if there is
  // none.
  [[nodiscard]] void* find(const std::string& exported) const {
    switch (door_) {
      case Door::Link:
        return ::dlsym(RTLD_DEFAULT, exported.c_str());
      case Door::Symbol:
        return ::dlsym(library_, exported.c_str());
      case Door::Lookup:
        break;
    }
    using GetProcAddress = int(const char*, void**, int, std::uint64_t, int*);
    auto* const look_up =
        reinterpret_cast<GetProcAddress*>(::dlsym(library_, "cuGetProcAddress_v2"));
    const std::size_t twin = exported.find("_pt");
    std::string name = exported.substr(0, twin);
    if (const std::size_t version = name.rfind("_v"); version != std::string::npos) {
      name.resize(version);
    }
    constexpr int kNewest = 13000;
    constexpr std::uint64_t kLegacy = 1;
    constexpr std::uint64_t kPerThread = 2;
    void* found = nullptr;
    int status = 0;
    return look_up(name.c_str(),
                   &found,
                   kNewest,
                   twin == std::string::npos ? kLegacy : kPerThread,
                   &status) == 0
               ? found
               : nullptr;
  }

  // Calls a function; -1 if there is none.
  template <class... Arguments>
  int operator()(const std::string& exported, Arguments... arguments) const {
    void* const found = find(exported);
    return found == nullptr ? -1 : reinterpret_cast<int (*)(Arguments...)>(found)(arguments...);
  }

 private:
  Door door_;
  void* library_;
};

}  // namespace carpool::shim_test
