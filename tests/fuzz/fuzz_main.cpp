// Entry points of libFuzzer. CARPOOL_FUZZ_TARGET names the target: libFuzzer starts its workers
// with the environment of the first process, but with options of its own.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "targets.hpp"

namespace {

const carpool::fuzz::Target* chosen_target() {
  const char* name = std::getenv("CARPOOL_FUZZ_TARGET");
  const auto* target = carpool::fuzz::find_target(name == nullptr ? "" : name);
  if (target == nullptr) {
    std::fputs("set CARPOOL_FUZZ_TARGET to one of:\n", stderr);
    for (const auto& known : carpool::fuzz::targets()) {
      std::fprintf(stderr, "%s\n", std::string(known.name).c_str());
    }
    std::exit(2);
  }
  return target;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer looks for this name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const carpool::fuzz::Target* const target = chosen_target();
  target->feed(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
