// A CUDA program for tests without a GPU, which can fail in several ways. Each step is one copy,
// one memory set and the kernels, one after the other, in real time.
//   --steps N          steps (20); 0: no limit
//   --kernels N        kernels of a step (10): kernel_0, kernel_1, …
//   --step-ms X        length of a step (5)
//   --startup N        launches of kernels named warmup_… before the first step, over 10 ms
//   --graph            the kernels are nodes of a graph
//   --grid N           blocks of each kernel, instead of a size that differs by kernel
//   --untimed N        launches whose times CUPTI does not know
//   --nvtx NAME        each step is a range of this name
//   --calls-step       reports each step through CARPOOL_STEP_FILE, if set
//   --prints           prints "step N" at the end of each step
//   --subscribe N      subscribes to CUPTI at the end of step N, as a profiler of the program does;
//                      exit status 9 if it is refused
//   --profile PATH     records kernels with CUPTI as torch.profiler does, once this file exists;
//                      exit status 9 if it is refused; creates PATH.records when it has 100 records
//   --fork             forks a child that launches and exits normally
//   --fork-at N        so, at the end of step N
//   --child            starts this program again, with two steps, and waits for it
//   --crash N          dies of SIGSEGV at the end of step N
//   --exit N           exit status (0)
//   --no-gpu           never initialises CUDA
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "fake_driver.hpp"
#include "step_file.h"

namespace {

namespace fake = carpool::fake_cupti;
namespace cupti = carpool::gpu::cupti;

using Options = std::map<std::string, std::string>;

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const bool has_value = i + 1 < argc && !std::string_view(argv[i + 1]).starts_with("--");
    options[std::string(word.substr(2))] = has_value ? argv[++i] : "";
  }
  return options;
}

long number(const Options& options, const char* name, long otherwise) {
  const auto found = options.find(name);
  return found != options.end() ? std::atol(found->second.c_str()) : otherwise;
}

cupti::KernelRecord kernel(const char* name, long index, std::int64_t start, std::int64_t length) {
  cupti::KernelRecord record;
  record.kind = cupti::kKindConcurrentKernel;
  record.name = name;
  record.start = static_cast<std::uint64_t>(start);
  record.end = static_cast<std::uint64_t>(start + length);
  record.grid = {static_cast<std::int32_t>(100 + index), 2, 1};
  record.block = {128, 1, 1};
  record.registers_per_thread = static_cast<std::uint16_t>(32 + index);
  record.static_shared = 1024;
  record.dynamic_shared = static_cast<std::int32_t>(2048 * (index % 2));
  record.stream = 7;
  return record;
}

// Waits until this time.
void wait_until(std::int64_t at) {
  const std::int64_t left = at - carpool::monotonic_ns();
  if (left > 0) {
    carpool::pause_for(std::chrono::nanoseconds(left));
  }
}

// Valid until the process ends, like CUPTI's names.
const char* lasting(std::string text) {
  static auto* const texts = new std::set<std::string>;
  return texts->insert(std::move(text)).first->c_str();
}

bool is_asleep(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::size_t name_ends = text.rfind(") ");
  return name_ends == std::string::npos || text.compare(name_ends + 2, 1, "S") == 0;
}

// A thread that runs may hold a lock of the address sanitizer, which stays locked in a child: its
// check for leaks would never end.
void wait_until_other_threads_sleep() {
  const std::string own = std::to_string(::gettid());
  const auto runs = [&](const auto& task) {
    return task.path().filename() != own && !is_asleep(task.path());
  };
  const std::filesystem::path tasks = "/proc/self/task";
  while (std::ranges::any_of(std::filesystem::directory_iterator(tasks), runs)) {
    carpool::pause_for(std::chrono::milliseconds(1));
  }
}

// A child without exec, in which CUDA is not usable; it must not be recorded.
void fork_child() {
  wait_until_other_threads_sleep();
  const pid_t child = ::fork();
  if (child == 0) {
    fake::launch(kernel("in_the_child", 0, carpool::monotonic_ns(), 1000));
    std::exit(0);
  }
  ::waitpid(child, nullptr, 0);
}

class Program {
 public:
  explicit Program(Options options)
      : options_(std::move(options)),
        kernels_(number(options_, "kernels", 10)),
        step_ns_(static_cast<std::int64_t>(1e6 * step_ms())) {
    for (long i = 0; i < kernels_; ++i) {
      names_.push_back(lasting("kernel_" + std::to_string(i)));
    }
    if (options_.contains("calls-step") && std::getenv("CARPOOL_STEP_FILE") != nullptr) {
      steps_ = std::make_unique<carpool::StepFile>();
    }
  }

  int run() {
    now_ = carpool::monotonic_ns();
    start_up();
    const long steps = number(options_, "steps", 20);
    for (long step = 1; steps == 0 || step <= steps; ++step) {
      one_step(step);
      if (steps_ != nullptr) {
        steps_->publish();
        if (!steps_->obey([] {})) {
          break;
        }
      }
    }
    return static_cast<int>(number(options_, "exit", 0));
  }

 private:
  [[nodiscard]] double step_ms() const {
    const auto found = options_.find("step-ms");
    return found != options_.end() ? std::atof(found->second.c_str()) : 5.0;
  }

  void start_up() {
    const long warmups = number(options_, "startup", 0);
    for (long i = 0; i < warmups; ++i) {
      const char* name = lasting("warmup_" + std::to_string(i * i % 7));
      fake::launch(kernel(name, i, now_ + i * 10'000'000 / warmups, 1000));
    }
    now_ += warmups != 0 ? 10'000'000 : 0;
    wait_until(now_);
    for (long i = 0; i < number(options_, "untimed", 0); ++i) {
      fake::launch(kernel("untimed", i, 0, 0));
    }
  }

  void one_step(long step) {
    const auto range = options_.find("nvtx");
    if (range != options_.end()) {
      fake::push_range(range->second.c_str());
    }
    cupti::MemcpyRecord copy;
    copy.kind = cupti::kKindMemcpy;
    copy.copy_kind = cupti::kCopyHostToDevice;
    copy.bytes = 4096;
    copy.start = static_cast<std::uint64_t>(now_);
    copy.end = copy.start + 500;
    fake::copy(copy);
    cupti::MemsetRecord set;
    set.kind = cupti::kKindMemset;
    set.bytes = 64;
    set.start = static_cast<std::uint64_t>(now_ + 600);
    set.end = set.start + 100;
    fake::set_memory(set);
    if (options_.contains("graph")) {
      fake::launch_graph();
    }
    // Four fifths of the step are busy, the last fifth is a gap.
    const std::int64_t length = step_ns_ * 4 / 5 / kernels_;
    for (long i = 0; i < kernels_; ++i) {
      const char* name = names_[static_cast<std::size_t>(i)];
      cupti::KernelRecord record = kernel(name, i, now_ + i * length, length - length / 10);
      if (const long blocks = number(options_, "grid", 0); blocks != 0) {
        record.grid = {static_cast<std::int32_t>(blocks), 1, 1};
      }
      record.graph_node = options_.contains("graph") ? static_cast<std::uint64_t>(i + 1) : 0;
      if (options_.contains("graph")) {
        fake::graph_kernel(record);
      } else {
        fake::launch(record);
      }
    }
    now_ += step_ns_;
    wait_until(now_);
    if (range != options_.end()) {
      fake::pop_range();
    }
    if (options_.contains("prints")) {
      std::printf("step %ld\n", step);
      std::fflush(stdout);
    }
    if (number(options_, "subscribe", 0) == step && !fake::subscribe()) {
      std::exit(9);
    }
    if (const auto path = options_.find("profile"); path != options_.end()) {
      profile(path->second);
    }
    if (number(options_, "fork-at", 0) == step) {
      fork_child();
    }
    if (number(options_, "crash", 0) == step) {
      std::signal(SIGSEGV, SIG_DFL);
      std::raise(SIGSEGV);
    }
  }

  void profile(const std::string& path) {
    if (!profiles_ && ::access(path.c_str(), F_OK) == 0) {
      profiles_ = true;
      if (!fake::profile()) {
        std::exit(9);
      }
    }
    if (profiles_ && fake::profiled_kernels() >= 100) {
      std::ofstream(path + ".records") << "";
    }
  }

  Options options_;
  bool profiles_ = false;
  long kernels_;
  std::int64_t step_ns_;
  std::int64_t now_ = 0;
  std::vector<const char*> names_;
  std::unique_ptr<carpool::StepFile> steps_;
};

void start_child(const char* program) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execl(program, program, "--steps", "2", "--kernels", "3", nullptr);
    std::_Exit(127);
  }
  ::waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  if (!options.contains("no-gpu")) {
    (void)fake::fake_cu_init();
  }
  if (options.contains("fork")) {
    fork_child();
  }
  if (options.contains("child")) {
    start_child(argv[0]);
  }
  return Program(options).run();
}
