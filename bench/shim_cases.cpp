// What the shared state costs a CUDA program: 1,000 operations a call.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "bench_case.hpp"
#include "interpose/guard/memory_guard.hpp"
#include "interpose/state/client.hpp"
#include "interpose/state/kernel_log.hpp"
#include "interpose/state/kernel_table.hpp"
#include "interpose/state/reader.hpp"

namespace carpool {
namespace {

constexpr int kOperations = 1000;
constexpr const char* kGpu = "GPU-bench";

// The shared state of a GPU with eight clients; the first one is measured.
struct SharedGpu {
  SharedGpu() {
    std::string name = (std::filesystem::temp_directory_path() / "carpool-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      return;
    }
    folder = name;
    interpose::StateReader reader;
    joined = reader.open(folder, kGpu, ::geteuid(), interpose::StateFile::Missing::Make) ==
                 interpose::StateError::None &&
             reader.want(interpose::kWantLog) == interpose::StateError::None;
    for (std::size_t index = 0; index < clients.size(); ++index) {
      joined =
          clients.at(index).join(folder, kGpu, {.job = index + 1}) == interpose::StateError::None &&
          joined;
    }
  }
  SharedGpu(const SharedGpu&) = delete;
  SharedGpu& operator=(const SharedGpu&) = delete;
  ~SharedGpu() {
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }

  std::string folder;
  std::array<interpose::Client, 8> clients;
  interpose::MemoryGuard guard{clients[0]};
  bool joined = false;
};

double log_launches(SharedGpu& gpu) {
  interpose::Client& client = gpu.clients[0];
  for (std::uint64_t launch = 0; launch < kOperations; ++launch) {
    if (interpose::KernelLogRing* ring = client.log(); ring != nullptr) {
      interpose::log_launch(client.slot().log_head, *ring, {.key = launch, .time_ns = launch});
    }
  }
  return static_cast<double>(client.slot().log_head.load());
}

double count_launches(SharedGpu& gpu) {
  for (std::uint64_t launch = 0; launch < kOperations; ++launch) {
    gpu.clients[0].count_launch(launch);
  }
  return static_cast<double>(gpu.clients[0].counters().launches.load());
}

double find_kernels(SharedGpu& gpu) {
  interpose::KernelTable table(gpu.clients[0].shared()->kernels);
  double sum = 0.0;
  for (std::uint32_t launch = 0; launch < kOperations; ++launch) {
    const std::uint64_t key =
        interpose::kernel_key(launch % 100, {.grid = {launch, 1, 1}, .block = {256, 1, 1}});
    sum += static_cast<double>(table.find(key).mean_ns);
  }
  return sum;
}

double charge_and_release(SharedGpu& gpu) {
  std::uint64_t released = 0;
  for (int allocation = 0; allocation < kOperations; ++allocation) {
    if (gpu.guard.charge(2 << 20) == interpose::Verdict::Admitted) {
      released += gpu.guard.release(2 << 20);
    }
  }
  return static_cast<double>(released);
}

}  // namespace

std::vector<BenchCase> shim_cases() {
  std::vector<BenchCase> cases;
  const auto gpu = std::make_shared<SharedGpu>();
  const auto add = [&](const char* name, double (*operation)(SharedGpu&)) {
    cases.push_back({.name = name,
                     .run = [gpu, operation] { return operation(*gpu); },
                     .answer = [gpu] { return nlohmann::json{{"joined", gpu->joined}}; }});
  };
  add("shim/log", log_launches);
  add("shim/count", count_launches);
  add("shim/find", find_kernels);
  add("shim/charge", charge_and_release);
  return cases;
}

}  // namespace carpool
