// A CUDA program in a few commands, without NVIDIA's headers: shim_program DOOR COMMAND [NUMBER].
// It prints what it saw and what the library in front of the driver counted, one "name=value" a
// line.
#include "program.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "interpose/state/reader.hpp"

namespace carpool::shim_test {
namespace {

// What the library has written to the shared state for this process.
void report() {
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  std::error_code problem;
  std::uint64_t joined = 0;
  std::uint64_t used = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder, problem)) {
    interpose::StateReader reader;
    interpose::StateReport state;
    if (file.path().extension() != ".state" ||
        reader.open(folder, file.path().stem().string(), ::geteuid()) !=
            interpose::StateError::None ||
        reader.read(state) != interpose::StateError::None) {
      continue;
    }
    for (const interpose::ClientReport& client : state.clients) {
      if (client.pid == ::getpid()) {
        ++joined;
        used += client.used_bytes;
        print("launches", client.launches);
        print("graph_launches", client.graph_launches);
        print("graph_nodes", client.graph_nodes);
        print("copies", client.copies);
        print("copied_bytes", client.copied_bytes);
        print("allocations", client.allocations);
        print("refusals", client.refusals);
        print("peak_bytes", client.peak_bytes);
        interpose::LogFollower follower;
        const auto records = reader.follow(client.id, follower);
        print("logged", records.size());
        print("logged_by_name",
              static_cast<std::uint64_t>(std::ranges::count_if(
                  records, [](const auto& record) { return record.key != 0; })));
      }
    }
    print("clients", state.clients.size());
  }
  if (joined != 0) {
    print("gpus", joined);
    print("used_bytes", used);
  }
}

// What the fake driver did, as it tells itself.
void report_of_driver() {
  const char* const path = std::getenv("CARPOOL_REAL_LIBCUDA");
  void* const driver = path == nullptr ? nullptr : ::dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  using Ask = std::uint64_t(const char*);
  auto* const count =
      driver == nullptr ? nullptr : reinterpret_cast<Ask*>(::dlsym(driver, "fake_cuda_count"));
  if (count != nullptr) {
    for (const char* name : {"kernel_launches",
                             "green_launches",
                             "value_writes",
                             "value_waits",
                             "graph_launches",
                             "graph_kernel_nodes",
                             "copies",
                             "copy_bytes",
                             "sets",
                             "set_bytes",
                             "capture_violations",
                             "event_records",
                             "allocated_bytes"}) {
      print((std::string("driver_") + name).c_str(), count(name));
    }
    auto* const total = reinterpret_cast<Ask*>(::dlsym(driver, "fake_cuda_total"));
    print("driver_refused", total("refused_allocations"));
    auto* const calls = reinterpret_cast<Ask*>(::dlsym(driver, "fake_cuda_calls"));
    print("driver_name_queries", calls("cuFuncGetName") + calls("cuKernelGetName"));
  }
}

int run_launches(Program& program, int count) {
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    failures += program.launch("cuLaunchKernel", nullptr) != 0 ? 1 : 0;  // the legacy stream
    failures += program.launch("cuLaunchKernel_ptsz", nullptr) != 0 ? 1 : 0;
    failures += program.launch_ex("cuLaunchKernelEx", nullptr) != 0 ? 1 : 0;
    failures += program.launch_ex("cuLaunchKernelEx_ptsz", nullptr) != 0 ? 1 : 0;
    failures += program.launch_cooperative("cuLaunchCooperativeKernel", nullptr) != 0 ? 1 : 0;
    failures += program.launch_cooperative("cuLaunchCooperativeKernel_ptsz", nullptr) != 0 ? 1 : 0;
  }
  return failures;
}

int run_copies(const Program& program, int /*count*/) {
  const DriverDoor& cuda = program.cuda;
  std::vector<char> host(4096, 'x');
  DevicePointer memory = 0;
  int failures = cuda("cuMemAlloc_v2", &memory, host.size()) != 0 ? 1 : 0;
  const auto* const from = static_cast<const void*>(host.data());
  auto* const to = static_cast<void*>(host.data());
  const Handle stream = nullptr;
  failures += cuda("cuMemcpyHtoD_v2", memory, from, std::size_t{1000}) != 0 ? 1 : 0;
  failures += cuda("cuMemcpyDtoH_v2", to, memory, std::size_t{200}) != 0 ? 1 : 0;
  failures += cuda("cuMemcpyHtoDAsync_v2", memory, from, std::size_t{30}, stream) != 0 ? 1 : 0;
  failures += cuda("cuMemsetD32_v2", memory, 7U, std::size_t{1}) != 0 ? 1 : 0;
  failures += cuda("cuMemFree_v2", memory) != 0 ? 1 : 0;
  return failures;
}

// Three kernels in a stream, two in another that joins and leaves the capture by events. Meanwhile
// `outside` kernels run in a third stream.
int run_graphs(Program& program, int count, int mode, bool other_capture = false) {
  const DriverDoor& cuda = program.cuda;
  constexpr unsigned kNonBlocking = 1;
  constexpr unsigned kNoFlags = 0;
  Handle origin = nullptr;
  Handle side = nullptr;
  Handle outside = nullptr;
  Handle fork = nullptr;
  Handle join = nullptr;
  Handle graph = nullptr;
  Handle executable = nullptr;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  expect(cuda("cuStreamCreate", &origin, kNonBlocking));
  expect(cuda("cuStreamCreate", &side, kNonBlocking));
  expect(cuda("cuStreamCreate", &outside, kNonBlocking));
  expect(cuda("cuEventCreate", &fork, kNoFlags));
  expect(cuda("cuEventCreate", &join, kNoFlags));
  expect(cuda("cuStreamBeginCapture_v2", origin, mode));
  expect(program.launch("cuLaunchKernel", origin));
  expect(cuda("cuEventRecord", fork, origin));
  expect(cuda("cuStreamWaitEvent", side, fork, kNoFlags));
  expect(program.launch("cuLaunchKernel", side));
  expect(program.launch_ex("cuLaunchKernelEx", side));
  expect(program.launch("cuLaunchKernel", outside));
  expect(cuda("cuEventRecord", join, side));
  expect(cuda("cuStreamWaitEvent", origin, join, kNoFlags));
  expect(program.launch("cuLaunchKernel", origin));
  expect(program.launch_ex("cuLaunchKernelEx", origin));
  expect(cuda("cuStreamEndCapture", origin, &graph));
  if (other_capture) {
    expect(cuda("cuStreamBeginCapture_v2", side, mode));
  }
  expect(cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ULL));
  if (other_capture) {
    Handle other = nullptr;
    expect(cuda("cuStreamEndCapture", side, &other));
  }
  for (int i = 0; i < count; ++i) {
    expect(cuda("cuGraphLaunch", executable, origin));
  }
  // After the capture the streams are as before.
  expect(program.launch("cuLaunchKernel", origin));
  expect(program.launch("cuLaunchKernel", side));
  expect(cuda("cuStreamSynchronize", origin));
  expect(cuda("cuGraphExecDestroy", executable));
  return failures;
}

// A child without exec must not count for its parent, nor hang where the library was busy.
int run_fork(Program& program, int count) {
  int failures = run_launches(program, count);
  const pid_t child = ::fork();
  if (child == 0) {
    static_cast<void>(run_launches(program, count));
    DevicePointer pointer = 0;
    static_cast<void>(program.cuda("cuMemAlloc_v2", &pointer, kMegabyte));
    ::_exit(0);
  }
  int status = -1;
  failures += ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  failures += run_launches(program, count);
  return failures;
}

int run_threads(Program& program, int count) {
  std::vector<std::thread> threads;
  std::array<int, 4> failures{};
  threads.reserve(failures.size());
  for (int& failed : failures) {
    threads.emplace_back([&program, &failed, count] {
      failed = program.cuda("cuCtxSetCurrent", program.context) != 0 ? 1 : 0;
      failed += run_launches(program, count);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return failures[0] + failures[1] + failures[2] + failures[3];
}

// Children that are made while other threads are inside the library: a lock that such a thread
// holds has no owner in the child.
int run_busy_fork(Program& program, int children) {
  std::atomic<bool> stop{false};
  constexpr std::size_t kBusyThreads = 2;
  std::vector<std::thread> threads;
  threads.reserve(kBusyThreads);
  for (std::size_t i = 0; i < kBusyThreads; ++i) {
    threads.emplace_back([&program, &stop] {
      static_cast<void>(program.cuda("cuCtxSetCurrent", program.context));
      while (!stop.load()) {
        DevicePointer pointer = 0;
        static_cast<void>(program.cuda("cuMemAlloc_v2", &pointer, kMegabyte));
        static_cast<void>(program.cuda("cuMemFree_v2", pointer));
      }
    });
  }
  int failures = 0;
  for (int i = 0; i < children; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      DevicePointer pointer = 0;
      static_cast<void>(program.cuda("cuMemAlloc_v2", &pointer, kMegabyte));
      static_cast<void>(program.launch("cuLaunchKernel", nullptr));
      ::_exit(0);
    }
    int status = -1;
    failures += ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  }
  stop.store(true);
  for (std::thread& thread : threads) {
    thread.join();
  }
  return failures;
}

// The same program again, in a new process.
int run_exec(Program& program, int count) {
  int failures = run_launches(program, count);
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDOUT_FILENO);
    ::execl("/proc/self/exe", "shim_program", "lookup", "launches", "1", nullptr);
    ::_exit(1);
  }
  int status = -1;
  failures += ::waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
  return failures;
}

// One allocation on each GPU, through contexts that are pushed and popped.
int run_gpus(Program& program, int gpus) {
  const DriverDoor& cuda = program.cuda;
  int failures = 0;
  for (int device = 0; device < gpus; ++device) {
    Handle context = nullptr;
    Handle popped = nullptr;
    DevicePointer memory = 0;
    failures += cuda("cuDevicePrimaryCtxRetain", &context, device) != 0 ? 1 : 0;
    failures += cuda("cuCtxPushCurrent_v2", context) != 0 ? 1 : 0;
    failures += cuda("cuMemAlloc_v2", &memory, kMegabyte << device) != 0 ? 1 : 0;
    failures += cuda("cuCtxPopCurrent_v2", &popped) != 0 ? 1 : 0;
  }
  return failures + (program.launch("cuLaunchKernel", nullptr) != 0 ? 1 : 0);
}

// A library whose constructor uses CUDA, before main().
struct EarlyUser {
  EarlyUser() {
    if (std::getenv("SHIM_TEST_EARLY") != nullptr) {
      print("early_init", static_cast<std::uint64_t>(DriverDoor("lookup")("cuInit", 0U)));
      struct sigaction action{};
      ::sigaction(SIGTERM, nullptr, &action);
      print("early_handler", action.sa_handler == SIG_DFL ? 0 : 1);
    }
  }
};
const EarlyUser early_user;

int run_nothing(Program& /*program*/, int /*count*/) {
  return 0;
}

std::map<std::string, int (*)(Program&, int)> commands_by_name() {
  return {
      {"launches", run_launches},
      {"graphs-global", [](Program& program, int count) { return run_graphs(program, count, 0); }},
      {"graphs-thread", [](Program& program, int count) { return run_graphs(program, count, 1); }},
      {"graphs-relaxed", [](Program& program, int count) { return run_graphs(program, count, 2); }},
      {"graphs-beside-another",
       [](Program& program, int count) { return run_graphs(program, count, 2, true); }},
      {"graph-memory", run_graph_memory},
      {"pool", run_pool},
      {"pool-growth", run_pool_growth},
      {"counted", run_counted},
      {"contexts", run_contexts},
      {"total-memory", run_total_memory},
      {"timed", run_timed},
      {"timed-captures", run_timed_captures},
      {"timed-fork", run_timed_fork},
      {"serve", run_serve},
      {"serve-slowly", run_serve_slowly},
      {"serve-ahead", run_serve_ahead},
      {"serve-polling", run_serve_polling},
      {"serve-beside-copies", run_serve_beside_copies},
      {"serve-with-callbacks", run_serve_with_callbacks},
      {"serve-plainly", run_serve_plainly},
      {"serve-and-leave", run_serve_and_leave},
      {"serve-with-inputs", run_serve_with_inputs},
      {"serve-with-late-inputs", run_serve_with_late_inputs},
      {"serve-with-strays", run_serve_with_strays},
      {"serve-by-threads", run_serve_by_threads},
      {"serve-by-address", run_serve_by_address},
      {"serve-and-ask-late", run_serve_and_ask_late},
      {"serve-in-pipeline", run_serve_in_pipeline},
      {"serve-and-wait-later", run_serve_and_wait_later},
      {"serve-beside-others", run_serve_beside_others},
      {"serve-two-at-a-time", run_serve_two_at_a_time},
      {"serve-beside-short", run_serve_beside_short},
      {"serve-beside-questions", run_serve_beside_questions},
      {"serve-long", run_serve_long},
      {"serve-for-another", run_serve_for_another},
      {"serve-and-ask-between", run_serve_and_ask_between},
      {"serve-with-error", run_serve_with_error},
      {"serve-after-strays", run_serve_after_strays},
      {"serve-at-random", run_serve_at_random},
      {"serve-beside-captures", run_serve_beside_captures},
      {"drips", run_drips},
      {"flood", run_flood},
      {"iterations", run_iterations},
      {"ahead", run_ahead},
      {"ahead-with-streams", run_ahead_with_streams},
      {"ahead-with-priorities", run_ahead_with_priorities},
      {"ahead-beside-legacy", run_ahead_beside_legacy},
      {"ahead-after-release", run_ahead_after_release},
      {"tangled", run_tangled},
      {"products", run_products},
      {"believed", run_believed},
      {"flood-captures", run_flood_captures},
      {"endless-request", run_endless_request},
      {"long-wait", run_long_wait},
      {"declared", run_declared},
      {"declared-on-two", run_declared_on_two},
      {"nvtx", run_nvtx},
#ifdef SHIM_TEST_NVTX_HEADER
      {"nvtx-header", run_nvtx_header},
#endif
      {"drain", run_drain},
      {"drain-captures", run_drain_captures},
      {"drain-fork", run_drain_fork},
      {"threads", run_threads},
      {"copies", [](Program& program, int count) { return run_copies(program, count); }},
      {"fill", run_fill},
      {"families", run_families},
      {"race", run_race},
      {"fork", run_fork},
      {"busy-fork", run_busy_fork},
      {"exec", run_exec},
      {"gpus", run_gpus},
      {"routes", run_routes},
      {"absent", run_absent},
      {"old-driver", run_old_driver},
      {"start", run_nothing},
  };
}

}  // namespace
}  // namespace carpool::shim_test

int main(int argc, char** argv) {
  using namespace carpool::shim_test;  // NOLINT
  const auto commands = commands_by_name();
  if (argc == 5 && std::string(argv[2]) == "load") {
    return load_library(argv[3], argv[4]);
  }
  if (argc < 3 || !commands.contains(argv[2])) {
    return 2;
  }
  Program program(argv[1]);
  if (!program.cuda.open()) {
    return 3;
  }
  if (!program.start()) {
    return 0;
  }
  const int failures = commands.at(argv[2])(program, argc > 3 ? std::atoi(argv[3]) : 1);
  print("failures", static_cast<std::uint64_t>(failures));
  report_of_driver();
  report();
  return 0;
}
