// The worker's side of a step file, for workloads in C++; python/carpool/step_file.py describes the
// layout. Without the environment variable CARPOOL_STEP_FILE there is no watcher, and it does
// nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carpool {

inline std::uint64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Moves all threads of this process to the cores of the mask; 0: no change.
inline void run_on(std::uint64_t mask) {
  DIR* tasks = mask == 0 ? nullptr : opendir("/proc/self/task");
  if (tasks == nullptr) {
    return;
  }
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (unsigned core = 0; core < 64; ++core) {
    if ((mask >> core & 1U) != 0) {
      CPU_SET(core, &cores);
    }
  }
  while (const dirent* task = readdir(tasks)) {
    if (task->d_name[0] != '.') {
      // Fails for a thread that has ended or for unavailable cores.
      (void)sched_setaffinity(std::atoi(task->d_name), sizeof cores, &cores);
    }
  }
  closedir(tasks);
}

class StepFile {
 public:
  // Ends the program with status 2 if the file is not a step file.
  StepFile() {
    const char* path = std::getenv("CARPOOL_STEP_FILE");
    if (path != nullptr && *path != '\0') {
      map(path);
      layout_->pid = static_cast<std::uint64_t>(getpid());
    }
  }
  StepFile(const StepFile&) = delete;
  StepFile& operator=(const StepFile&) = delete;
  ~StepFile() {
    if (watched()) {
      set_state(State::Ended);
    }
  }

  [[nodiscard]] bool watched() const { return layout_ != nullptr; }

  void set_units(double units) {
    if (watched()) {
      layout_->units = units;
    }
  }

  // Publishes one more step, whose GPU work ended now.
  void publish() {
    if (watched()) {
      ring_[done_ & (layout_->capacity - 1)] = monotonic_nanoseconds();
      std::atomic_ref(layout_->done).store(++done_, std::memory_order_release);
    }
  }

  // Waits while the order is to hold; drain() is called first and publishes the steps in flight.
  // False: end the program.
  template <class Drain>
  [[nodiscard]] bool obey(Drain drain) {
    if (!watched() || order() == Order::Count) {
      return true;
    }
    if (running_ && order() == Order::Run) {
      return getppid() == watcher_;
    }
    drain();
    running_ = false;
    if (order() == Order::Hold) {
      set_state(State::Held);
    }
    while (order() == Order::Hold) {
      if (getppid() != watcher_) {
        return false;
      }
      usleep(4000);
    }
    if (order() == Order::End) {
      return false;
    }
    run_on(std::atomic_ref(layout_->cores).load(std::memory_order_acquire));
    set_state(State::Running);
    running_ = true;
    return true;
  }

 private:
  enum class State : std::uint32_t { Starting, Held, Running, Ended };
  enum class Order : std::uint32_t { Hold, Run, End, Count };
  struct Layout {
    char magic[8];
    std::uint32_t version;
    std::uint32_t capacity;
    std::uint64_t done;
    std::uint32_t state;
    std::uint32_t order;
    double units;
    std::uint64_t pid;
    std::uint64_t cores;
    std::uint64_t reserved;
  };
  static_assert(sizeof(Layout) == 64);

  void map(const char* path) {
    const int descriptor = open(path, O_RDWR | O_CLOEXEC);
    struct stat status{};
    if (descriptor < 0 || fstat(descriptor, &status) != 0) {
      refuse(path, "cannot be opened");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size < sizeof(Layout)) {
      refuse(path, "is no step file: too short");
    }
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) {
      refuse(path, "cannot be mapped");
    }
    layout_ = static_cast<Layout*>(memory);
    ring_ = reinterpret_cast<std::uint64_t*>(layout_ + 1);
    done_ = layout_->done;
    const std::size_t capacity = layout_->capacity;
    if (std::memcmp(layout_->magic, "CPSTEP1", 8) != 0 || layout_->version != 1 || capacity == 0 ||
        (capacity & (capacity - 1)) != 0 || size != sizeof(Layout) + 8 * capacity) {
      refuse(path, "is no step file of version 1");
    }
  }

  [[noreturn]] static void refuse(const char* path, const char* why) {
    std::fprintf(stderr, "carpool: the step file %s %s\n", path, why);
    std::exit(2);
  }

  [[nodiscard]] Order order() const {
    return static_cast<Order>(std::atomic_ref(layout_->order).load(std::memory_order_acquire));
  }

  void set_state(State state) {
    std::atomic_ref(layout_->state)
        .store(static_cast<std::uint32_t>(state), std::memory_order_release);
  }

  Layout* layout_ = nullptr;
  std::uint64_t* ring_ = nullptr;
  std::uint64_t done_ = 0;
  pid_t watcher_ = getppid();
  bool running_ = false;
};

}  // namespace carpool
