// Commands of the program that is asked to end while it has work on the GPU.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "base/clock.hpp"
#include "program.hpp"

namespace carpool::shim_test {
namespace {

constexpr double kLongest = 100.0;
constexpr int kHandled = 7;  // exit code
constexpr unsigned kNonBlocking = 1;

void handle(int /*signal*/) {
  ::_exit(kHandled);
}

void tell_done(void* /*unused*/) {
  touch("SHIM_TEST_DONE");
}

void set_action(const char* variable) {
  const char* const what = std::getenv(variable);
  if (what != nullptr) {
    for (const int signal : {SIGTERM, SIGINT}) {
      std::signal(signal, std::string_view(what) == "ignore" ? SIG_IGN : &handle);
    }
  }
}

// Before the program uses CUDA.
struct EarlyHandler {
  EarlyHandler() { set_action("SHIM_TEST_EARLY_SIGNALS"); }
};
const EarlyHandler early_handler;

// A kernel of so many ms, and a function of the host behind it.
int launch_long(Program& program, Handle& stream, int milliseconds) {
  const DriverDoor& cuda = program.cuda;
  int failures = cuda("cuStreamCreate", &stream, kNonBlocking);
  failures += use_kernel(program, ("spin_" + std::to_string(milliseconds) + "000us").c_str());
  failures += program.launch("cuLaunchKernel", stream);
  failures += cuda("cuLaunchHostFunc", stream, &tell_done, static_cast<void*>(nullptr));
  return failures + use_kernel(program, "spin_0us");
}

int capture_slowly(const Program& program, Handle stream, Handle beside) {
  const DriverDoor& cuda = program.cuda;
  Program own = program;
  Handle graph = nullptr;
  int failures = cuda("cuStreamBeginCapture_v2", stream, 0);  // global: others may break it
  failures += own.launch("cuLaunchKernel", stream);
  pause_for(std::chrono::milliseconds(20));
  failures += own.launch("cuLaunchKernel", beside);
  failures += own.launch("cuLaunchKernel", stream);
  failures += cuda("cuStreamEndCapture", stream, &graph);
  return failures + cuda("cuGraphDestroy", graph);
}

// How a child without exec ends: -1 if the signal does not kill it.
int signal_that_ends(pid_t child) {
  if (child == 0) {
    for (;;) {
      ::pause();
    }
  }
  pause_for(std::chrono::milliseconds(20));
  ::kill(child, SIGTERM);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

}  // namespace

// Launches until it is killed, behind a kernel of so many ms.
int run_drain(Program& program, int milliseconds) {
  Handle stream = nullptr;
  int failures = launch_long(program, stream, milliseconds);
  set_action("SHIM_TEST_LATE_SIGNALS");
  touch("SHIM_TEST_READY");
  const Stopwatch watch;
  while (watch.seconds() < kLongest) {
    failures += program.launch("cuLaunchKernel", stream);
    pause_for(std::chrono::milliseconds(1));
  }
  return failures;
}

// The same, with captures all the time.
int run_drain_captures(Program& program, int milliseconds) {
  Handle stream = nullptr;
  Handle captured = nullptr;
  int failures = launch_long(program, stream, milliseconds);
  failures += program.cuda("cuStreamCreate", &captured, kNonBlocking);
  const Stopwatch watch;
  for (int i = 0; watch.seconds() < kLongest; ++i) {
    if (failures + capture_slowly(program, captured, stream) != 0) {
      touch("SHIM_TEST_BROKEN");
    }
    if (i == 1) {
      touch("SHIM_TEST_READY");
    }
  }
  return failures;
}

// By fork(), and by a system call that the C library does not see.
int run_drain_fork(Program& program, int /*count*/) {
  Handle stream = nullptr;
  const int failures = launch_long(program, stream, 1);
  print("forked", static_cast<std::uint64_t>(signal_that_ends(::fork())));
  const auto cloned = static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
  print("cloned", static_cast<std::uint64_t>(signal_that_ends(cloned)));
  return failures;
}

}  // namespace carpool::shim_test
