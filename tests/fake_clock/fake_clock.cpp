// The wall clock, shifted by the whole seconds that the file in CARPOOL_FAKE_CLOCK holds when it is
// read. Other clocks are those of the machine.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

std::time_t shift() {
  const int kept = errno;
  const char* file = std::getenv("CARPOOL_FAKE_CLOCK");
  const int descriptor = file == nullptr ? -1 : ::open(file, O_RDONLY | O_CLOEXEC);
  std::array<char, 32> text{};
  if (descriptor >= 0) {
    [[maybe_unused]] const ssize_t got = ::read(descriptor, text.data(), text.size() - 1);
    ::close(descriptor);
  }
  errno = kept;
  return std::strtoll(text.data(), nullptr, 10);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const long failed = ::syscall(SYS_clock_gettime, clock, time);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += shift();
  }
  return static_cast<int>(failed);
}

int gettimeofday(timeval* time, void* /*zone*/) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

std::time_t time(std::time_t* out) noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) {
    *out = now.tv_sec;
  }
  return now.tv_sec;
}

}  // extern "C"
