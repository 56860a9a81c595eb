// A CUDA program in a few commands, without NVIDIA's headers. It uses the driver through one of the
// doors, and prints what it saw, one "name=value" a line.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>

#include "driver_door.hpp"
#include "interpose/library/driver_abi.hpp"

namespace carpool::shim_test {

using interpose::DevicePointer;
using interpose::Handle;

inline constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

inline void print(const char* name, std::uint64_t value) {
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
    const interpose::LaunchConfig config{.grid = {4, 1, 1},
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

// The file that a variable of the environment names.
void touch(const char* variable);
bool exists(const char* variable);
// Makes the file SHIM_TEST_READY, and returns once SHIM_TEST_GO exists, where the variable is set.
void wait_for_go();
// Launches are of this kernel from now on; 1 if there is none.
int use_kernel(Program& program, const char* name);

// Calls a function of the library, as a program finds it.
void declare(const char* name);
// What the shared state tells of the gate of this process.
void report_gate();

// The commands. Each returns how many calls of the driver failed.
int run_fill(Program& program, int megabytes);
int run_race(Program& program, int rounds);
int run_families(Program& program, int count);
int run_graph_memory(Program& program, int megabytes);
int run_pool(Program& program, int megabytes);
int run_counted(Program& program, int most);
int run_pool_growth(Program& program, int megabytes);
int run_contexts(Program& program, int count);
int run_total_memory(Program& program, int gpus);
int run_timed(Program& program, int count);
int run_timed_captures(Program& program, int count);
int run_timed_fork(Program& program, int count);
int run_serve(Program& program, int requests);
int run_serve_slowly(Program& program, int requests);
int run_serve_ahead(Program& program, int steps);
int run_serve_polling(Program& program, int requests);
int run_serve_beside_copies(Program& program, int requests);
int run_serve_with_callbacks(Program& program, int requests);
int run_serve_plainly(Program& program, int requests);
int run_serve_and_leave(Program& program, int requests);
int run_serve_with_inputs(Program& program, int requests);
int run_serve_with_late_inputs(Program& program, int requests);
int run_serve_with_strays(Program& program, int requests);
int run_serve_by_threads(Program& program, int requests);
int run_serve_by_address(Program& program, int requests);
int run_serve_and_ask_late(Program& program, int requests);
int run_serve_in_pipeline(Program& program, int requests);
int run_serve_and_wait_later(Program& program, int requests);
int run_serve_beside_others(Program& program, int requests);
int run_serve_two_at_a_time(Program& program, int requests);
int run_serve_beside_short(Program& program, int requests);
int run_serve_beside_questions(Program& program, int requests);
int run_serve_long(Program& program, int requests);
int run_serve_for_another(Program& program, int requests);
int run_serve_and_ask_between(Program& program, int requests);
int run_serve_with_error(Program& program, int requests);
int run_serve_after_strays(Program& program, int requests);
int run_serve_at_random(Program& program, int steps);
int run_serve_beside_captures(Program& program, int requests);
int run_flood(Program& program, int count);
int run_iterations(Program& program, int count);
int run_ahead(Program& program, int count);
int run_ahead_with_streams(Program& program, int count);
int run_ahead_with_priorities(Program& program, int count);
int run_ahead_beside_legacy(Program& program, int flags);
int run_ahead_after_release(Program& program, int count);
int run_tangled(Program& program, int count);
int run_drips(Program& program, int count);
int run_products(Program& program, int rounds);
int run_believed(Program& program, int count);
int run_flood_captures(Program& program, int count);
int run_endless_request(Program& program, int count);
int run_long_wait(Program& program, int count);
int run_declared(Program& program, int requests);
int run_declared_on_two(Program& program, int requests);
int run_nvtx(Program& program, int count);
int run_nvtx_header(Program& program, int count);  // where NVTX is installed
int run_drain(Program& program, int milliseconds);
int run_drain_captures(Program& program, int milliseconds);
int run_drain_fork(Program& program, int count);
int run_routes(Program& program, int count);
int run_old_driver(Program& program, int count);
int run_absent(Program& program, int count);

// One stream is captured again and again. While the mode is global, no other thread may ask or
// wait.
inline constexpr int kGlobalCapture = 0;
inline constexpr int kRelaxedCapture = 2;
int capture_until(Program& program, const std::atomic<bool>& stop, int mode = kGlobalCapture);

// A library of NVIDIA's, and a function of it that makes it look for the driver. Returns the exit
// code.
int load_library(const char* path, const char* function);

}  // namespace carpool::shim_test
