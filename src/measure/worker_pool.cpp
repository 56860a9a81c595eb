#include "measure/worker_pool.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "measure/worker_command.hpp"

namespace carpool::measure {
namespace {

constexpr std::chrono::milliseconds kMpsGrace{15'000};
constexpr std::chrono::milliseconds kWorkerPoll{20};

bool among(const Member& member, std::span<const Member> members) {
  return std::find(members.begin(), members.end(), member) != members.end();
}

bool share_a_process(std::span<const Member> members) {
  return members.front().mechanism == Mechanism::Streams;
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
  end_all_but({});  // clients of the ended daemon
  auto daemon = gpu::MpsDaemon::start(place_.gpu_uuid, place_.mps_folder);
  if (!daemon) {
    return tl::unexpected(daemon.error());
  }
  mps_ = std::move(*daemon);
  return {};
}

Result<void> WorkerPool::prepare(const Batch& batch) {
  check_for_deaths();
  end_all_but(batch.members);
  return start_missing(batch.members);
}

Result<ReadyMembers> WorkerPool::acquire(std::span<const Member> members) {
  check_for_deaths();
  const bool given_up = std::ranges::any_of(
      members, [this](const Member& member) { return start_failures_.given_up(member); });
  if (!ready(members) && !given_up) {
    static_cast<void>(make_room(members));
    auto started = start_missing(members);
    if (started && !ready(members) && make_room(members)) {
      started = start_missing(members);
    }
    if (!started) {
      return tl::unexpected(started.error());
    }
  }
  if (!ready(members)) {
    return ReadyMembers(tl::unexpected(why_missing(members)));
  }
  std::vector<std::shared_ptr<profile::StepFile>> files;
  files.reserve(members.size());
  for (const Member& member : members) {
    files.push_back(hosts_.step_file(member));
  }
  return ReadyMembers(std::move(files));
}

// Ends the workers that may have caused the failure. False if there were none.
bool WorkerPool::make_room(std::span<const Member> members) {
  const std::string reason = why_missing(members).reason;
  const std::size_t before = hosts_.size();
  if (reason == kOutOfMemory) {
    end_all_but(members);
  } else if (reason == kMpsFailure) {
    end_all_but({});  // and the daemon
  }
  return reason == kMpsFailure || hosts_.size() < before;
}

Result<void> WorkerPool::start_missing(std::span<const Member> members) {
  if (members.front().mechanism == Mechanism::Mps && !hosts_.missing(members).empty()) {
    if (auto ready = need_mps(); !ready) {
      return ready;
    }
  }
  if (share_a_process(members) && !hosts_.in_one_process(members)) {
    end_all_but({});
  }
  const std::vector<Member> absent = hosts_.missing(members);
  start(absent);
  wait_until_ready(absent);
  return {};
}

bool WorkerPool::ready(std::span<const Member> members) const {
  return hosts_.all_held(members) && (!share_a_process(members) || hosts_.in_one_process(members));
}

Failure WorkerPool::why_missing(std::span<const Member> members) const {
  return start_failures_.last(hosts_.missing(members))
      .value_or(Failure{.reason = std::string(kStopped),
                        .message = "stop requested while workers started"});
}

std::optional<Failure> WorkerPool::death_among(std::span<const Member> members) {
  std::optional<Failure> first;
  Hosts dead;
  for (const Member& member : members) {
    const auto host = hosts_.find(member);
    if (const auto failure = host ? host->death() : std::nullopt) {
      // One client's fault ends the server's other clients; out of memory is the likely cause.
      first = !first || failure->reason == kOutOfMemory ? failure : first;
      dead.insert(host);
    }
  }
  worker_died_ = worker_died_ || first;
  hosts_.remove(dead);
  return first;
}

// Removes workers that died while held. If that faulted the MPS server, ends all its clients: it
// accepts no new client before, and held clients have not noticed the fault.
void WorkerPool::check_for_deaths() {
  static_cast<void>(death_among(hosts_.members()));
  if (std::exchange(worker_died_, false) && mps_) {
    const auto servers = mps_->servers().value_or(std::vector<gpu::MpsServer>());
    if (std::ranges::any_of(servers, &gpu::MpsServer::faulted)) {
      end_all_but({});
    }
  }
}

void WorkerPool::start(std::span<const Member> members) {
  std::vector<Member> worth_it;
  std::ranges::copy_if(members, std::back_inserter(worth_it), [this](const Member& member) {
    return !start_failures_.given_up(member);
  });
  if (worth_it.empty()) {
    return;
  }
  if (share_a_process(worth_it)) {
    start_host(streams_command(plan_, worth_it), worth_it);
    return;
  }
  for (const Member& member : worth_it) {
    start_host(worker_command(plan_, member), std::span(&member, 1));
  }
}

void WorkerPool::start_host(Command command, std::span<const Member> members) {
  const Member& member = members.front();
  if (member.mechanism == Mechanism::Mps) {
    command.environment =
        mps_->client_environment({.thread_percentage = member.thread_percentage < 100.0
                                                           ? std::optional(member.thread_percentage)
                                                           : std::nullopt,
                                  .low_priority = member.low_priority,
                                  .pinned_memory_bytes = std::nullopt});
  } else {
    command.environment = gpu::environment_without_mps(place_.gpu_uuid, place_.scratch / "no-mps");
  }
  const auto folder = place_.scratch / fmt::format("worker{}", started_++);
  auto host = Host::start(std::move(command), members.size(), folder);
  if (!host) {
    for (const Member& gone : members) {
      start_failures_.record(gone, {.reason = "crash", .message = host.error().message}, false);
    }
    return;
  }
  hosts_.put(members, std::make_shared<Host>(std::move(*host)));
}

void WorkerPool::wait_until_ready(std::span<const Member> members) {
  const bool beside_others = hosts_.size() > 1;
  const Stopwatch waited;
  for (bool waiting = true; waiting && !place_.stop();) {
    waiting = false;
    for (const Member& member : members) {
      const auto host = hosts_.find(member);
      if (!host) {
        continue;
      }
      if (auto failure = host->death()) {
        start_failures_.record(member, std::move(*failure), beside_others);
        hosts_.remove(member);
        worker_died_ = true;
      } else if (!host->all_held()) {
        waiting = true;
      }
    }
    if (waiting && waited.seconds() > plan_.workers.start_seconds) {
      give_up_waiting(members);
      waiting = false;
    }
    if (waiting) {
      pause_for(kWorkerPoll);
    }
  }
  for (const Member& member : members) {
    if (present(member)) {
      start_failures_.forget(member);
    }
  }
}

void WorkerPool::give_up_waiting(std::span<const Member> members) {
  Hosts late;
  for (const Member& member : members) {
    const auto host = hosts_.find(member);
    if (host && !host->all_held()) {
      start_failures_.record(
          member,
          {.reason = "start-timeout",
           .message = fmt::format("not ready after {} s: it has not ended a step",
                                  plan_.workers.start_seconds)},
          false);
      late.insert(host);
      hosts_.remove(member);
    }
  }
  end(late);
}

void WorkerPool::end_where(const std::function<bool(const Member&)>& goes) {
  const Hosts leaving = hosts_.holding(goes);
  // A streams process ends with any of its workloads; its other members are then missing too.
  hosts_.remove(leaving);
  end(leaving);
}

void WorkerPool::end(const Hosts& leaving) {
  const auto grace = std::chrono::milliseconds(std::llround(plan_.workers.end_seconds * 1e3));
  end_hosts(leaving, grace, mps_.get());
}

void WorkerPool::drop(std::span<const Member> members) {
  end_where([&](const Member& member) { return among(member, members); });
}

void WorkerPool::end_all_but(std::span<const Member> kept) {
  end_where([&](const Member& member) { return !among(member, kept); });
  if (hosts_.empty() && mps_) {
    // The next batch may use another mechanism, which a daemon would disturb.
    static_cast<void>(mps_->stop(kMpsGrace));
    mps_.reset();
  }
}

}  // namespace carpool::measure
