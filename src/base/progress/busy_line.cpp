#include "base/progress/busy_line.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace carpool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSilentFor{2000};
constexpr milliseconds kBetween{500};

void tell(const std::stop_token& stop, const std::string& what) {
  const Stopwatch watch;
  std::mutex mutex;
  std::condition_variable_any ended;
  const auto over_within = [&](milliseconds span) {
    std::unique_lock lock(mutex);
    return ended.wait_for(lock, stop, span, [&] { return stop.stop_requested(); });
  };
  if (over_within(kSilentFor)) {
    return;
  }
  do {
    fmt::print(stderr, "\r\033[K{}  {:.0f} s", what, watch.seconds());
    std::fflush(stderr);
  } while (!over_within(kBetween));
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
}

}  // namespace

BusyLine::BusyLine(std::string what, Progress::Show show) {
  if (show == Progress::Show::OnTerminal && isatty(STDERR_FILENO) == 1) {
    try {
      thread_ = std::jthread(
          [words = std::move(what)](const std::stop_token& stop) { tell(stop, words); });
    } catch (const std::system_error&) {
      thread_ = {};  // the work goes on without the line
    }
  }
}

}  // namespace carpool
