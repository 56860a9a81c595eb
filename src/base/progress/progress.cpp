#include "base/progress/progress.hpp"

#include <cstdio>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.hpp"

namespace carpool {
namespace {

constexpr std::chrono::seconds kQuietStart{2};

}  // namespace

Progress::Progress(std::string what, std::size_t total, Show show)
    : what_(std::move(what)),
      total_(total),
      visible_(show == Show::OnTerminal && isatty(STDERR_FILENO) == 1),
      started_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (drawn_) {
    std::fputs("\r\033[K", stderr);
    std::fflush(stderr);
  }
}

void Progress::advance(const std::string& detail, std::size_t units) {
  done_ += units;
  const auto elapsed = std::chrono::steady_clock::now() - started_;
  if (!visible_ || elapsed < kQuietStart) {
    return;
  }
  const double seconds = std::chrono::duration<double>(elapsed).count();
  const double left = seconds / static_cast<double>(done_) * static_cast<double>(total_ - done_);
  fmt::print(stderr,
             "\r\033[K{}  {}/{}  {:.0f} s elapsed, about {:.0f} s left  {}",
             what_,
             done_,
             total_,
             seconds,
             left,
             printable(detail));
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::note(const std::string& what) {
  if (visible_) {
    fmt::print(stderr, "\r\033[K{}  {}/{}  {}", what_, done_, total_, printable(what));
    std::fflush(stderr);
    drawn_ = true;
  }
}

}  // namespace carpool
