// A workload for tests without a GPU, with steps of a fixed length, which can fail in several ways.
// fake_workload NAME…: one step file per NAME, which is words separated by '-':
//   msN      step length N ms, without drift (default 20)
//   unitsN   N units per step (default 1)
//   dieN     exits with status 1 at step N
//   oomN     the same, with an out-of-memory message
//   faultN   the same, and leaves the MPS server faulted
//   crowded  ends with an out-of-memory message unless it is the only client of the MPS server
//   mute     never ends its first step
//   deafN    hangs in step N and follows no orders from then on
//   diesheld exits while it is held for the first time
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <poll.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "step_file.h"

namespace {

using Words = std::map<std::string, long>;

Words words_of(const std::string& name) {
  Words words;
  std::istringstream in(name);
  for (std::string word; std::getline(in, word, '-');) {
    const std::size_t digits = word.find_first_of("0123456789");
    words[word.substr(0, digits)] =
        digits == std::string::npos ? 1 : std::atol(word.c_str() + digits);
  }
  return words;
}

[[noreturn]] void leave(const char* last_words) {
  std::fprintf(stderr, "a warning\n%s\n", last_words);
  std::_Exit(1);
}

// The folder in which the fake MPS looks for clients and faults.
std::filesystem::path pipe_folder() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  return folder == nullptr ? "/nonexistent" : folder;
}

void become_client(bool must_be_alone) {
  if (!std::filesystem::exists(pipe_folder())) {
    return;
  }
  if (std::filesystem::exists(pipe_folder() / "fault")) {
    leave("RuntimeError: CUDA_ERROR_MPS_SERVER_NOT_READY");
  }
  for (const auto& entry : std::filesystem::directory_iterator(pipe_folder())) {
    const std::string name = entry.path().filename().string();
    if (must_be_alone && name.starts_with("client.") &&
        std::filesystem::exists("/proc/" + name.substr(7))) {
      leave("torch.OutOfMemoryError: CUDA out of memory");
    }
  }
  const std::ofstream client(pipe_folder() / ("client." + std::to_string(::getpid())));
}

void misbehave(const Words& words, long step) {
  const auto now = [&](const char* word) {
    const auto found = words.find(word);
    return found != words.end() && found->second == step;
  };
  if (now("die")) {
    leave("ValueError: no");
  }
  if (now("oom")) {
    leave("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB");
  }
  if (now("fault")) {
    const std::ofstream fault(pipe_folder() / "fault");
    leave("RuntimeError: CUDA error: an illegal memory access was encountered");
  }
  while (now("deaf")) {
    ::pause();
  }
}

int work(const Words& words) {
  become_client(words.contains("crowded"));
  while (words.contains("mute")) {
    ::pause();
  }
  const long step_ms = words.contains("ms") ? words.at("ms") : 20;
  carpool::StepFile steps;
  steps.set_units(words.contains("units") ? static_cast<double>(words.at("units")) : 1.0);
  std::uint64_t end = carpool::monotonic_nanoseconds();
  for (long step = 1;; ++step) {
    end += static_cast<std::uint64_t>(step_ms) * 1'000'000U;
    const timespec until{.tv_sec = static_cast<time_t>(end / 1'000'000'000U),
                         .tv_nsec = static_cast<long>(end % 1'000'000'000U)};
    ::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    misbehave(words, step);
    steps.publish();
    if (step == 1 && words.contains("diesheld")) {
      std::thread([] {
        ::poll(nullptr, 0, 100);
        leave("killed while it waited");
      }).detach();
    }
    const std::uint64_t before = carpool::monotonic_nanoseconds();
    if (!steps.obey([] {})) {
      return 0;
    }
    end += carpool::monotonic_nanoseconds() - before;  // time on hold does not count
  }
}

// With streams: one process, here with a child per workload.
int work_side_by_side(const std::vector<std::string>& names) {
  std::istringstream files(std::getenv("CARPOOL_STEP_FILE"));
  for (const std::string& name : names) {
    std::string file;
    std::getline(files, file, ':');
    if (::fork() == 0) {
      ::setenv("CARPOOL_STEP_FILE", file.c_str(), 1);
      return work(words_of(name));
    }
  }
  int status = 0;
  ::wait(&status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> names(argv + 1, argv + argc);
  return names.size() == 1 ? work(words_of(names.front())) : work_side_by_side(names);
}
