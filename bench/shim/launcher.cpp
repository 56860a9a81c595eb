// shim_launcher LAUNCHES ROUNDS THREADS WANTED: prints the nanoseconds of processor time of one
// launch, a line per round. WANTED is 1 to have every launch written to the log of the shared
// state, 2 to have durations measured, 5 to have the log also read every 10 ms, as `carpool run`
// does; 8 to stay, idle, until standard input ends; 16 to launch into a stream other than the
// default one.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "interpose/state/reader.hpp"

namespace {

using Launch = int(void*,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   unsigned,
                   void*,
                   void**,
                   void**);

void want(std::uint64_t wanted) {
  namespace interpose = carpool::interpose;
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    interpose::StateReader reader;
    if (reader.open(folder, file.path().stem().string(), ::geteuid()) ==
        interpose::StateError::None) {
      static_cast<void>(reader.want(wanted));
    }
  }
}

// Until all launches are made.
void read_logs(const std::atomic<bool>& done) {
  namespace interpose = carpool::interpose;
  constexpr std::chrono::milliseconds kEvery{10};
  const char* const folder = std::getenv("CARPOOL_STATE_DIR");
  const auto file = *std::filesystem::directory_iterator(folder);
  interpose::StateReader reader;
  interpose::StateReport report;
  interpose::LogFollower follower;
  if (reader.open(folder, file.path().stem().string(), ::geteuid()) !=
      interpose::StateError::None) {
    return;
  }
  while (!done.load()) {
    if (reader.read(report) == interpose::StateError::None && !report.clients.empty()) {
      static_cast<void>(reader.follow(report.clients.front().id, follower));
    }
    std::this_thread::sleep_for(kEvery);
  }
}

double thread_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double time_launches(Launch* launch, long count, void* stream) {
  const double began = thread_ns();
  for (long i = 0; i < count; ++i) {
    launch(reinterpret_cast<void*>(4096), 8, 8, 1, 128, 1, 1, 0, stream, nullptr, nullptr);
  }
  return (thread_ns() - began) / static_cast<double>(count);
}

// The mean over the threads.
double time_threads(Launch* launch, long count, int threads, void* stream) {
  std::vector<double> times(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  running.reserve(times.size());
  for (double& time : times) {
    running.emplace_back(
        [&time, launch, count, stream] { time = time_launches(launch, count, stream); });
  }
  double sum = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    running[i].join();
    sum += times[i];
  }
  return sum / static_cast<double>(threads);
}

}  // namespace

int main(int argc, char** argv) {
  void* const driver = argc == 5 ? ::dlopen("libcuda.so.1", RTLD_NOW) : nullptr;
  if (driver == nullptr) {
    return 2;
  }
  const auto find = [driver](const char* name) { return ::dlsym(driver, name); };
  void* context = nullptr;
  void* launch = nullptr;
  int status = 0;
  reinterpret_cast<int (*)(unsigned)>(find("cuInit"))(0);
  reinterpret_cast<int (*)(void**, int)>(find("cuDevicePrimaryCtxRetain"))(&context, 0);
  reinterpret_cast<int (*)(void*)>(find("cuCtxSetCurrent"))(context);
  reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, int*)>(
      find("cuGetProcAddress_v2"))("cuLaunchKernel", &launch, 13000, 0, &status);
  const int wanted = std::atoi(argv[4]);
  constexpr int kRead = 4;
  constexpr int kStay = 8;
  constexpr int kInStream = 16;
  const int of_state = wanted & ~(kRead | kStay | kInStream);
  if (of_state != 0) {
    want(static_cast<std::uint64_t>(of_state));
  }
  // The driver does nothing, so that any handle is one of a stream.
  void* const stream = (wanted & kInStream) != 0 ? reinterpret_cast<void*>(8192) : nullptr;
  std::atomic<bool> done{false};
  std::thread reader;
  if ((wanted & kRead) != 0) {
    reader = std::thread([&done] { read_logs(done); });
  }
  for (int round = 0; round < std::atoi(argv[2]); ++round) {
    std::printf(
        "%.3f\n",
        time_threads(
            reinterpret_cast<Launch*>(launch), std::atol(argv[1]), std::atoi(argv[3]), stream));
    std::fflush(stdout);
  }
  while ((wanted & kStay) != 0 && std::getchar() != EOF) {
  }
  done.store(true);
  if (reader.joinable()) {
    reader.join();
  }
  return 0;
}
