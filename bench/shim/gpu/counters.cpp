// What the library in front of the driver has written to the shared state, for programs in other
// languages: built by counters.py as a library of its own, with src/interpose/state.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

#include "interpose/state/reader.hpp"

namespace {

namespace interpose = carpool::interpose;

constexpr std::size_t kNumbers = 11;

// Calls `use` with a reader of each GPU's state.
template <class Use>
int each_state(Use use) {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  std::error_code problem;
  int found = 0;
  if (folder == nullptr) {
    return 0;
  }
  for (const auto& file : std::filesystem::directory_iterator(folder, problem)) {
    interpose::StateReader reader;
    if (file.path().extension() == ".state" &&
        reader.open(folder, file.path().stem().string(), ::geteuid()) ==
            interpose::StateError::None) {
      found += use(reader);
    }
  }
  return found;
}

}  // namespace

extern "C" {

// Launches, graph launches, nodes of them, copies, their bytes, allocations, refusals, bytes now
// and at most, requests and their median, of a process; the number of GPUs on which it is known.
__attribute__((visibility("default"))) int on_gpu_counters(int pid, std::uint64_t* numbers) {
  const auto add = [&](interpose::StateReader& reader) {
    interpose::StateReport state;
    int found = 0;
    if (reader.read(state) != interpose::StateError::None) {
      return 0;
    }
    for (const interpose::ClientReport& client : state.clients) {
      if (client.pid != pid) {
        continue;
      }
      const std::array<std::uint64_t, kNumbers> here{client.launches,
                                                     client.graph_launches,
                                                     client.graph_nodes,
                                                     client.copies,
                                                     client.copied_bytes,
                                                     client.allocations,
                                                     client.refusals,
                                                     client.used_bytes,
                                                     client.peak_bytes,
                                                     client.gate.requests,
                                                     client.gate.p50_ns};
      for (std::size_t i = 0; i < kNumbers; ++i) {
        numbers[i] += here[i];
      }
      ++found;
    }
    return found;
  };
  return each_state(add);
}

// Whether launches are logged from now on.
__attribute__((visibility("default"))) int on_gpu_want_log(int wanted) {
  return each_state([&](interpose::StateReader& reader) {
    return reader.want(wanted != 0 ? interpose::kWantLog : interpose::kWantNothing) ==
                   interpose::StateError::None
               ? 1
               : 0;
  });
}
}
