#include "measure/worker_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "measure/worker_command.hpp"
#include "profile/watch/without_mps.hpp"

namespace carpool::measure {
namespace {

constexpr std::chrono::milliseconds kMpsGrace{15'000};
constexpr std::chrono::milliseconds kPoll{20};

bool among(const Seat& seat, std::span<const Seat> seats) {
  return std::find(seats.begin(), seats.end(), seat) != seats.end();
}

bool share_a_process(std::span<const Seat> seats) {
  return seats.front().mechanism == Mechanism::Streams;
}

}  // namespace

WorkerPool::WorkerPool(const Plan& plan, MeasuringPlace place)
    : plan_(plan), place_(std::move(place)) {}

WorkerPool::~WorkerPool() {
  end_all_but({});
}

Result<void> WorkerPool::need_mps() {
  if (mps_ && mps_->alive()) {
    return {};
  }
  end_all_but({});  // clients of a daemon that is gone
  auto daemon = gpu::MpsDaemon::start(place_.gpu_uuid, place_.mps_folder);
  if (!daemon) {
    return tl::unexpected(daemon.error());
  }
  mps_ = std::move(*daemon);
  return {};
}

Result<void> WorkerPool::prepare(const Batch& batch) {
  look_after_deaths();
  end_all_but(batch.seats);
  return bring(batch.seats);
}

Result<Seated> WorkerPool::seat(std::span<const Seat> seats) {
  look_after_deaths();
  const bool hopeless =
      std::ranges::any_of(seats, [this](const Seat& seat) { return troubles_.hopeless(seat); });
  if (!ready(seats) && !hopeless) {
    static_cast<void>(make_room(seats));
    auto brought = bring(seats);
    if (brought && !ready(seats) && make_room(seats)) {
      brought = bring(seats);
    }
    if (!brought) {
      return tl::unexpected(brought.error());
    }
  }
  if (!ready(seats)) {
    return Seated(tl::unexpected(why_missing(seats)));
  }
  std::vector<std::shared_ptr<profile::StepFile>> files;
  files.reserve(seats.size());
  for (const Seat& seat : seats) {
    files.push_back(hosts_.step_file(seat));
  }
  return Seated(std::move(files));
}

// Who failed because of others gets another chance without them; whether that changes anything.
bool WorkerPool::make_room(std::span<const Seat> seats) {
  const std::string reason = why_missing(seats).reason;
  const std::size_t before = hosts_.size();
  if (reason == kOutOfMemory) {
    end_all_but(seats);
  } else if (reason == kMpsFailure) {
    end_all_but({});  // and the daemon
  }
  return reason == kMpsFailure || hosts_.size() < before;
}

Result<void> WorkerPool::bring(std::span<const Seat> seats) {
  if (seats.front().mechanism == Mechanism::Mps && !hosts_.missing(seats).empty()) {
    if (auto ready = need_mps(); !ready) {
      return ready;
    }
  }
  if (share_a_process(seats) && !hosts_.in_one_process(seats)) {
    end_all_but({});
  }
  const std::vector<Seat> absent = hosts_.missing(seats);
  start(absent);
  wait_until_ready(absent);
  return {};
}

bool WorkerPool::ready(std::span<const Seat> seats) const {
  return hosts_.all_held(seats) && (!share_a_process(seats) || hosts_.in_one_process(seats));
}

Failure WorkerPool::why_missing(std::span<const Seat> seats) const {
  return troubles_.last(hosts_.missing(seats))
      .value_or(Failure{.reason = std::string(kStopped),
                        .message = "asked to stop while workers started"});
}

std::optional<Failure> WorkerPool::death_among(std::span<const Seat> seats) {
  std::optional<Failure> first;
  Hosts dead;
  for (const Seat& seat : seats) {
    const auto host = hosts_.find(seat);
    if (const auto failure = host ? host->death() : std::nullopt) {
      // One client's fault takes the server's other clients along: memory is the likelier culprit.
      first = !first || failure->reason == kOutOfMemory ? failure : first;
      dead.insert(host);
    }
  }
  somebody_died_ = somebody_died_ || first;
  hosts_.remove(dead);
  return first;
}

// Who died while it was held, and what a death has done to the others: a faulted MPS server takes
// nobody until all its clients are gone, and those who are held have not noticed.
void WorkerPool::look_after_deaths() {
  static_cast<void>(death_among(hosts_.seats()));
  if (std::exchange(somebody_died_, false) && mps_) {
    const auto servers = mps_->servers().value_or(std::vector<gpu::MpsServer>());
    if (std::ranges::any_of(servers, &gpu::MpsServer::faulted)) {
      end_all_but({});
    }
  }
}

void WorkerPool::start(std::span<const Seat> seats) {
  std::vector<Seat> worth_it;
  std::ranges::copy_if(seats, std::back_inserter(worth_it), [this](const Seat& seat) {
    return !troubles_.hopeless(seat);
  });
  if (worth_it.empty()) {
    return;
  }
  if (share_a_process(worth_it)) {
    start_host(streams_command(plan_, worth_it), worth_it);
    return;
  }
  for (const Seat& seat : worth_it) {
    start_host(worker_command(plan_, seat), std::span(&seat, 1));
  }
}

void WorkerPool::start_host(Command command, std::span<const Seat> seats) {
  const Seat& seat = seats.front();
  if (seat.mechanism == Mechanism::Mps) {
    command.environment = mps_->client_environment(
        {.thread_percentage =
             seat.thread_percentage < 100.0 ? std::optional(seat.thread_percentage) : std::nullopt,
         .low_priority = seat.low_priority,
         .pinned_memory_bytes = std::nullopt});
  } else {
    command.environment =
        profile::environment_without_mps(place_.gpu_uuid, place_.scratch / "no-mps");
  }
  const auto folder = place_.scratch / fmt::format("worker{}", started_++);
  auto host = Host::start(std::move(command), seats.size(), folder);
  if (!host) {
    for (const Seat& gone : seats) {
      troubles_.remember(gone, {.reason = "crash", .message = host.error().message}, false);
    }
    return;
  }
  hosts_.put(seats, std::make_shared<Host>(std::move(*host)));
}

void WorkerPool::wait_until_ready(std::span<const Seat> seats) {
  const bool company = hosts_.size() > 1;
  const Stopwatch waited;
  for (bool waiting = true; waiting && !place_.stop();) {
    waiting = false;
    for (const Seat& seat : seats) {
      const auto host = hosts_.find(seat);
      if (!host) {
        continue;
      }
      if (auto failure = host->death()) {
        troubles_.remember(seat, std::move(*failure), company);
        hosts_.remove(seat);
        somebody_died_ = true;
      } else if (!host->all_held()) {
        waiting = true;
      }
    }
    if (waiting && waited.seconds() > plan_.workers.start_seconds) {
      give_up_waiting(seats);
      waiting = false;
    }
    if (waiting) {
      pause_for(kPoll);
    }
  }
  for (const Seat& seat : seats) {
    if (present(seat)) {
      troubles_.forget(seat);
    }
  }
}

void WorkerPool::give_up_waiting(std::span<const Seat> seats) {
  Hosts late;
  for (const Seat& seat : seats) {
    const auto host = hosts_.find(seat);
    if (host && !host->all_held()) {
      troubles_.remember(seat,
                         {.reason = "start-timeout",
                          .message = fmt::format("not ready after {} s: no step of it has ended",
                                                 plan_.workers.start_seconds)},
                         false);
      late.insert(host);
      hosts_.remove(seat);
    }
  }
  let_go(late);
}

void WorkerPool::end_where(const std::function<bool(const Seat&)>& goes) {
  const Hosts leaving = hosts_.holding(goes);
  // A streams process goes when one of its workloads goes: its others are then missing too.
  hosts_.remove(leaving);
  let_go(leaving);
}

void WorkerPool::let_go(const Hosts& leaving) {
  const auto grace = std::chrono::milliseconds(std::llround(plan_.workers.end_seconds * 1e3));
  end_hosts(leaving, grace, mps_.get());
}

void WorkerPool::drop(std::span<const Seat> seats) {
  end_where([&](const Seat& seat) { return among(seat, seats); });
}

void WorkerPool::end_all_but(std::span<const Seat> kept) {
  end_where([&](const Seat& seat) { return !among(seat, kept); });
  if (hosts_.empty() && mps_) {
    // The next batch may be of another mechanism, which a daemon must not disturb.
    static_cast<void>(mps_->stop(kMpsGrace));
    mps_.reset();
  }
}

}  // namespace carpool::measure
