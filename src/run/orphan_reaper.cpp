#include "run/orphan_reaper.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "base/clock.hpp"
#include "base/process/process_table.hpp"

namespace carpool::run {
namespace {

constexpr std::chrono::milliseconds kReapAgain{2};

// A lock of the process, which fork() does not pass on: it is held as long as the reaper lives.
struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

bool read_byte(const Descriptor& from) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(from.get(), &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

void write_byte(const Descriptor& to) {
  const char byte = 1;
  [[maybe_unused]] const ssize_t written = ::write(to.get(), &byte, 1);
}

void kill_descendants() {
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    const auto left = job_processes(list_processes(), ::getpid(), 0);
    if (left.empty()) {
      return;
    }
    for (const ProcessEntry& process : left) {
      kill_process(process);
    }
    pause_for(kReapAgain);
  }
}

[[noreturn]] void reap_after(pid_t supervisor, const Descriptor& order, const Descriptor& answer) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, nullptr);
  if (read_byte(order)) {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    write_byte(answer);
    pid_t ended = 0;
    do {
      ended = ::waitpid(-1, nullptr, 0);
    } while (ended != supervisor && (ended > 0 || errno == EINTR));
    kill_descendants();
  }
  ::_exit(0);
}

}  // namespace

OrphanReaper OrphanReaper::above_this_process(const RunFolder& folder, Descriptor& starter) {
  OrphanReaper reaper;
  std::array<int, 2> order{};
  std::array<int, 2> answer{};
  if (::pipe2(order.data(), O_CLOEXEC) != 0) {
    return reaper;
  }
  const Descriptor order_read(order[0]);
  reaper.order_ = Descriptor(order[1]);
  if (::pipe2(answer.data(), O_CLOEXEC) != 0) {
    reaper.order_.reset();
    return reaper;
  }
  reaper.answer_ = Descriptor(answer[0]);
  const Descriptor answer_write(answer[1]);
  ::signal(SIGPIPE, SIG_IGN);  // either may be killed while the other writes
  const Descriptor held(
      ::open((folder.path() / "reaper").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  struct flock lock = whole_file();
  ::fcntl(held.get(), F_SETLK, &lock);
  const pid_t supervisor = ::fork();
  if (supervisor > 0) {
    starter.reset();
    reaper.order_.reset();
    reaper.answer_.reset();
    reap_after(supervisor, order_read, answer_write);
  }
  if (supervisor < 0) {
    reaper.order_.reset();
    reaper.answer_.reset();
  }
  return reaper;
}

void OrphanReaper::begin() {
  if (order_.valid()) {
    write_byte(order_);
    order_.reset();
    static_cast<void>(
        read_byte(answer_));  // fails when the reaper was killed: the job runs without
    answer_.reset();
  }
}

bool await_orphan_reaper(const RunFolder& folder, std::chrono::milliseconds limit) {
  const Descriptor held(
      ::open((folder.path() / "reaper").c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  const Stopwatch watch;
  bool continued = false;
  while (held.valid()) {
    struct flock lock = whole_file();
    if (::fcntl(held.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) {
      return true;
    }
    if (!std::exchange(continued, true) && lock.l_pid > 1) {
      ::kill(lock.l_pid, SIGCONT);  // it may have been stopped
    }
    if (watch.seconds() > std::chrono::duration<double>(limit).count()) {
      return false;
    }
    pause_for(kReapAgain);
  }
  return true;
}

}  // namespace carpool::run
