// A CUDA program in a few commands, without NVIDIA's headers: shim_program DOOR COMMAND [NUMBER].
// It prints what it saw and what the library in front of the driver counted, one "name=value" a
// line.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "driver_door.hpp"
#include "interpose/library/driver_abi.hpp"
#include "interpose/state/reader.hpp"

namespace carpool::shim_test {
namespace {

using interpose::AllocationProperties;
using interpose::ArrayShape;
using interpose::DevicePointer;
using interpose::Handle;
using interpose::LaunchConfig;
using interpose::MemoryHandle;

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

void print(const char* name, std::uint64_t value) {
  std::printf("%s=%llu\n", name, static_cast<unsigned long long>(value));
}

struct Program {
  explicit Program(const char* door) : cuda(door) {}

  DriverDoor cuda;
  int device = 0;
  Handle context = nullptr;
  Handle module = nullptr;
  Handle kernel = nullptr;

  // False if the program cannot use CUDA.
  bool start() {
    const int initialised = cuda("cuInit", 0U);
    print("init", static_cast<std::uint64_t>(initialised));
    return initialised == 0 && cuda("cuDeviceGet", &device, 0) == 0 &&
           cuda("cuDevicePrimaryCtxRetain", &context, device) == 0 &&
           cuda("cuCtxSetCurrent", context) == 0 &&
           cuda("cuModuleLoadData", &module, static_cast<const void*>("kernels")) == 0 &&
           cuda("cuModuleGetFunction", &kernel, module, "spin_0us") == 0;
  }

  int launch(const std::string& name, Handle stream) {
    return cuda(name, kernel, 4U, 1U, 1U, 32U, 1U, 1U, 0U, stream, nothing(), nothing());
  }

  int launch_ex(const std::string& name, Handle stream) {
    const LaunchConfig config{.grid = {4, 1, 1},
                              .block = {32, 1, 1},
                              .shared_bytes = 0,
                              .stream = stream,
                              .attributes = nullptr,
                              .attribute_count = 0};
    return cuda(name, &config, kernel, nothing(), nothing());
  }

  int launch_cooperative(const std::string& name, Handle stream) {
    return cuda(name, kernel, 4U, 1U, 1U, 32U, 1U, 1U, 0U, stream, nothing());
  }

  static void** nothing() { return nullptr; }
};

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
                             "graph_launches",
                             "graph_kernel_nodes",
                             "copies",
                             "copy_bytes",
                             "sets",
                             "set_bytes",
                             "capture_violations",
                             "allocated_bytes"}) {
      print((std::string("driver_") + name).c_str(), count(name));
    }
    auto* const total = reinterpret_cast<Ask*>(::dlsym(driver, "fake_cuda_total"));
    print("driver_refused", total("refused_allocations"));
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
int run_graphs(Program& program, int count) {
  const DriverDoor& cuda = program.cuda;
  constexpr int kRelaxed = 2;
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
  expect(cuda("cuStreamBeginCapture_v2", origin, kRelaxed));
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
  expect(cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ULL));
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

// Allocates pieces until one is refused, frees all, and tells how many there were.
int run_fill(const Program& program, int megabytes) {
  const DriverDoor& cuda = program.cuda;
  std::size_t free = 0;
  std::size_t total = 0;
  int failures = cuda("cuMemGetInfo_v2", &free, &total) != 0 ? 1 : 0;
  print("free", free);
  print("total", total);
  failures += cuda("cuDeviceTotalMem_v2", &total, program.device) != 0 ? 1 : 0;
  print("device_total", total);
  std::vector<DevicePointer> pieces;
  const std::size_t bytes = static_cast<std::size_t>(megabytes) * kMegabyte;
  int status = 0;
  for (DevicePointer piece = 0; pieces.size() < 10000; pieces.push_back(piece)) {
    status = cuda("cuMemAlloc_v2", &piece, bytes);
    if (status != 0) {
      break;
    }
  }
  print("pieces", pieces.size());
  print("refused_with", static_cast<std::uint64_t>(status));
  failures += cuda("cuMemGetInfo_v2", &free, &total) != 0 ? 1 : 0;
  print("free_when_full", free);
  for (const DevicePointer piece : pieces) {
    failures += cuda("cuMemFree_v2", piece) != 0 ? 1 : 0;
  }
  return failures;
}

// Takes and frees all that it gets, again and again.
int run_race(const Program& program, int rounds) {
  const DriverDoor& cuda = program.cuda;
  std::uint64_t most = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<DevicePointer> pieces;
    DevicePointer piece = 0;
    while (pieces.size() < 1000 && cuda("cuMemAlloc_v2", &piece, kMegabyte) == 0) {
      pieces.push_back(piece);
    }
    most = std::max(most, std::uint64_t{pieces.size()});
    for (const DevicePointer each : pieces) {
      static_cast<void>(cuda("cuMemFree_v2", each));
    }
  }
  print("most", most);
  return 0;
}

// Free memory that the driver reports, before and after an allocation of each family.
int run_families(const Program& program, int /*count*/) {
  const DriverDoor& cuda = program.cuda;
  const Handle stream = nullptr;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  const auto free_now = [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    expect(cuda("cuMemGetInfo_v2", &free, &total));
    return free;
  };
  const auto told = [&](const char* family, std::size_t before) {
    print(family, before - free_now());
  };
  const std::size_t start = free_now();
  constexpr std::size_t kBytes = 8 * kMegabyte;
  DevicePointer pointer = 0;
  expect(cuda("cuMemAllocManaged", &pointer, kBytes, 1U));
  told("managed", start);
  expect(cuda("cuMemFree_v2", pointer));
  std::size_t pitch = 0;
  expect(cuda("cuMemAllocPitch_v2", &pointer, &pitch, std::size_t{4096}, std::size_t{2048}, 4U));
  told("pitched", start);
  expect(cuda("cuMemFree_v2", pointer));
  expect(cuda("cuMemAllocAsync", &pointer, kBytes, stream));
  told("stream_ordered", start);
  expect(cuda("cuMemFreeAsync", pointer, stream));
  expect(cuda("cuStreamSynchronize", stream));
  constexpr int kUnsigned32 = 3;
  const ArrayShape shape{.width = 1024, .height = 2048, .format = kUnsigned32, .channels = 1};
  Handle array = nullptr;
  expect(cuda("cuArrayCreate_v2", &array, &shape));
  told("array", start);
  expect(cuda("cuArrayDestroy", array));

  AllocationProperties properties{};
  properties.type = 1;
  properties.location = {.type = interpose::kLocationDevice, .id = 0};
  MemoryHandle memory = 0;
  DevicePointer range = 0;
  expect(cuda("cuMemCreate", &memory, kBytes, &properties, 0ULL));
  told("physical", start);
  expect(cuda("cuMemAddressReserve", &range, kBytes, std::size_t{0}, DevicePointer{0}, 0ULL));
  expect(cuda("cuMemMap", range, kBytes, std::size_t{0}, memory, 0ULL));
  expect(cuda("cuMemRelease", memory));
  told("physical_mapped", start);
  expect(cuda("cuMemUnmap", range, kBytes));
  told("physical_gone", start);
  constexpr int kLocationHost = 2;
  properties.location = {.type = kLocationHost, .id = 0};
  if (cuda("cuMemCreate", &memory, kBytes, &properties, 0ULL) == 0) {
    told("host", start);
    expect(cuda("cuMemRelease", memory));
  }
  print("at_end", start - free_now());
  // A pointer that this process has not allocated: the driver refuses, and nothing is given back.
  print("foreign_free", static_cast<std::uint64_t>(cuda("cuMemFree_v2", DevicePointer{4096})));
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

struct Route {
  std::string exported;
  std::string name;
  int version;
  std::string twin;
};

// Every function of the fake driver, asked for by name, version and flags.
int run_routes(Program& program, int /*count*/) {
  const std::vector<Route> routes{
#define FAKE_CUDA_FUNCTION(EXPORTED, NAME, VERSION, TWIN, PARAMETERS) \
  {#EXPORTED, #NAME, VERSION, #TWIN},
#include "all.inc"
#undef FAKE_CUDA_FUNCTION
  };
  const std::set<std::string> with_wrapper{
#define DRIVER_CALL(NAME, TYPES) #NAME,
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) #NAME,
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
  };
  const std::string own = std::getenv("LD_PRELOAD");
  const char* const shim = std::getenv("CARPOOL_SHIM");
  const bool off = shim != nullptr && std::string(shim) == "off";
  std::uint64_t wrapped = 0;
  std::uint64_t wrong = 0;
  for (const Route& route : routes) {
    void* found = nullptr;
    int status = 0;
    const std::uint64_t flags = route.twin == "any" ? 1 : 2;
    Dl_info info{};
    const bool answered =
        program.cuda(
            "cuGetProcAddress_v2", route.name.c_str(), &found, route.version, flags, &status) ==
            0 &&
        ::dladdr(found, &info) != 0 && info.dli_sname != nullptr;
    const bool is_wrapper = answered && std::filesystem::equivalent(info.dli_fname, own);
    wrapped += is_wrapper ? 1 : 0;
    if (!answered || info.dli_sname != route.exported ||
        is_wrapper != (with_wrapper.contains(route.exported) && !off)) {
      ++wrong;
      std::fprintf(stderr, "%s: %s\n", route.exported.c_str(), answered ? info.dli_sname : "none");
    }
  }
  print("asked", routes.size());
  print("wrapped", wrapped);
  print("wrong", wrong);
  return 0;
}

int run_absent(Program& program, int /*count*/) {
  void* found = nullptr;
  int status = -1;
  static_cast<void>(program.cuda(
      "cuGetProcAddress_v2", "cuLaunchKernelEx", &found, 13000, std::uint64_t{0}, &status));
  print("found", found == nullptr ? 0 : 1);
  print("symbol_status", static_cast<std::uint64_t>(status));
  return 0;
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

// A library of NVIDIA's, and a function of it that makes it look for the driver.
int load_library(const char* path, const char* function) {
  void* const library = ::dlopen(path, RTLD_NOW);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, function);
  if (found == nullptr) {
    return 4;
  }
  std::array<std::uint64_t, 8> result{};
  print("returned",
        static_cast<std::uint64_t>(reinterpret_cast<int (*)(void*)>(found)(result.data())));
  void* const driver = ::dlopen(std::getenv("CARPOOL_REAL_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  auto* const calls = reinterpret_cast<std::uint64_t (*)(const char*)>(
      driver == nullptr ? nullptr : ::dlsym(driver, "fake_cuda_calls"));
  print("lookups", calls == nullptr ? 0 : calls("cuGetProcAddress_v2"));
  print("inits", calls == nullptr ? 0 : calls("cuInit"));
  return 0;
}

int run_nothing(Program& /*program*/, int /*count*/) {
  return 0;
}

}  // namespace
}  // namespace carpool::shim_test

int main(int argc, char** argv) {
  using namespace carpool::shim_test;  // NOLINT
  const std::map<std::string, int (*)(Program&, int)> commands{
      {"launches", run_launches},
      {"graphs", run_graphs},
      {"copies", [](Program& program, int count) { return run_copies(program, count); }},
      {"fill", [](Program& program, int count) { return run_fill(program, count); }},
      {"families", [](Program& program, int count) { return run_families(program, count); }},
      {"race", [](Program& program, int count) { return run_race(program, count); }},
      {"fork", run_fork},
      {"exec", run_exec},
      {"gpus", run_gpus},
      {"routes", run_routes},
      {"absent", run_absent},
      {"start", run_nothing},
  };
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
