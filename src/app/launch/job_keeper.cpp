#include "app/launch/job_keeper.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/server/job_wait.hpp"
#include "app/server/server_client.hpp"
#include "base/clock.hpp"

namespace carpool::app {
namespace {

constexpr std::int64_t kReleased = 0;  // no job has this number

// The last number that was written before the other end was closed.
std::optional<std::int64_t> last_order(int orders) {
  std::optional<std::int64_t> last;
  std::int64_t number = 0;
  ssize_t got = 0;
  while ((got = ::read(orders, &number, sizeof number)) != 0) {
    if (got == sizeof number) {
      last = number;
    } else if (got > 0 || errno != EINTR) {
      break;
    }
  }
  return last;
}

void cancel_job(const ServerOptions& options, std::int64_t job) {
  const auto cancel = [&]() -> Result<void> {
    Result<ServerClient> server = ServerClient::connect(options);
    return server ? server->post(fmt::format("/v1/jobs/{}/cancel", job), nlohmann::json::object())
                        .map([](const nlohmann::json& /*done*/) {})
                  : tl::unexpected(server.error());
  };
  static_cast<void>(
      ask_through_restart(cancel, [](std::chrono::seconds span) { pause_for(span); }));
}

// In a session of its own: what is killed is often a whole process group.
[[noreturn]] void become_keeper(const ServerOptions& options, Descriptor orders) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(nothing, stream);
  }
  constexpr int kOrders = 3;
  if (orders.get() != kOrders) {
    ::dup2(orders.get(), kOrders);
  }
  ::close_range(kOrders + 1, ~0U, 0);
  if (const auto job = last_order(kOrders); job && *job != kReleased) {
    cancel_job(options, *job);
  }
  ::_exit(0);
}

}  // namespace

Result<JobKeeper> JobKeeper::start(const ServerOptions& server) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return fail(ErrorCode::Internal, fmt::format("create a pipe: {}", last_error()));
  }
  Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(ErrorCode::Internal, fmt::format("start a process: {}", last_error()));
  }
  if (pid == 0) {
    to.reset();
    become_keeper(server, std::move(from));
  }
  return JobKeeper(pid, std::move(to));
}

JobKeeper::~JobKeeper() {
  if (orders_.valid()) {
    orders_.reset();
    ::waitpid(pid_, nullptr, 0);
  }
}

void JobKeeper::keep(std::int64_t job) const {
  [[maybe_unused]] const ssize_t written = ::write(orders_.get(), &job, sizeof job);
}

void JobKeeper::release() const {
  keep(kReleased);
}

}  // namespace carpool::app
