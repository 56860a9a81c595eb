#include "schedule/gpus/lent_memory.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"

namespace carpool::schedule {
namespace {

// Growth is measured over the last seconds.
constexpr double kWindow = 6.0;
constexpr double kLeastApart = 0.5;
constexpr std::uint64_t kLeastHeadroom = std::uint64_t{512} << 20U;
// What a job that has to start again gets, as a multiple of what it held.
constexpr double kNextTime = 1.5;
// Of a reservation that was a guess only this part counts against others: the job is watched too,
// and most need far less.
constexpr std::uint64_t kGuessed = 4;

std::uint64_t less(std::uint64_t from, std::uint64_t amount) {
  return from - std::min(from, amount);
}

std::uint64_t times(std::uint64_t bytes, double factor) {
  return static_cast<std::uint64_t>(static_cast<double>(bytes) * factor);
}

bool waits_for_memory(const Resident& resident) {
  return resident.phase == ResidentPhase::Paused && resident.paused_for == PauseCause::Memory;
}

}  // namespace

// One GPU at one moment.
class LentMemory::Look {
 public:
  Look(const LentMemoryRules& rules,
       Growths& growths,
       const GpuView& gpu,
       const Exceeded& exceeded,
       double now_s)
      : rules_(rules), growths_(growths), gpu_(gpu), exceeded_(exceeded), now_s_(now_s) {
    for (const Resident& resident : gpu.residents) {
      (resident.phase == ResidentPhase::Paused ? paused_ : active_).push_back(&resident);
    }
    std::ranges::sort(active_, [](const Resident* a, const Resident* b) {
      return std::pair(a->started_s, a->job) > std::pair(b->started_s, b->job);  // newest first
    });
    std::erase_if(paused_, [](const Resident* resident) { return !waits_for_memory(*resident); });
    std::ranges::sort(paused_, {}, [](const Resident* resident) {
      return std::pair(resident->phase_since_s, resident->job);
    });
  }

  std::vector<Order> orders() {
    send_back_late();
    pause_growing();
    if (orders_.empty()) {
      resume_first();
    }
    return std::move(orders_);
  }

 private:
  // Unused, without what others may still take of their reservations. Jobs that took more than was
  // kept for them have no claim.
  [[nodiscard]] std::uint64_t room_beside(JobId job) const {
    std::uint64_t room = less(gpu_.memory_bytes, gpu_.used_bytes);
    for (const Resident& resident : gpu_.residents) {
      if (resident.job != job && !exceeded_.contains(resident.job)) {
        const std::uint64_t claim = less(resident.reserved_bytes, resident.used_bytes);
        room = less(room, resident.need_known ? claim : claim / kGuessed);
      }
    }
    return room;
  }

  // What growing jobs may take before they are seen again: no more than their caps.
  [[nodiscard]] std::uint64_t guard() const {
    std::uint64_t growth = 0;
    for (const Resident* resident : active_) {
      if (exceeded_.contains(resident->job)) {
        const auto soon = static_cast<std::uint64_t>(growths_.at(resident->job).steepest_per_s() *
                                                     rules_.ahead_s);
        growth += resident->cap_bytes == 0
                      ? soon
                      : std::min(soon, less(resident->cap_bytes, resident->used_bytes));
      }
    }
    return std::max({rules_.guard_bytes, times(gpu_.memory_bytes, rules_.guard_share), growth});
  }

  [[nodiscard]] bool may_pause(const Resident& resident) const {
    return resident.phase == ResidentPhase::Computing && resident.job_class != JobClass::Slo &&
           !resident.several_gpus && exceeded_.contains(resident.job) &&
           growths_.at(resident.job).bytes() > 0;
  }

  [[nodiscard]] std::size_t computing() const {
    return static_cast<std::size_t>(std::ranges::count(
        active_, ResidentPhase::Computing, [](const Resident* one) { return one->phase; }));
  }

  void send_back(const Resident& resident, std::string reason) {
    orders_.push_back({.kind = Order::Kind::Requeue,
                       .job = resident.job,
                       .reserve_bytes = times(resident.used_bytes, kNextTime),
                       .reason = std::move(reason)});
  }

  void send_back_late() {
    for (const Resident* resident : paused_) {
      if (now_s_ - resident->phase_since_s >= rules_.longest_pause_s) {
        send_back(*resident,
                  fmt::format("it stood still for {:.0f} s because GPU {} had no memory left for "
                              "it; it held {}",
                              now_s_ - resident->phase_since_s,
                              gpu_.index,
                              gib_text(resident->used_bytes)));
      }
    }
  }

  void pause_growing() {
    const std::uint64_t room = room_beside(0);
    while (room < guard()) {
      const auto next = std::ranges::find_if(
          active_, [&](const Resident* resident) { return may_pause(*resident); });
      if (next == active_.end()) {
        return;
      }
      if (computing() == 1) {
        make_room(**next);
        return;
      }
      const Resident& resident = **next;
      Growth& growth = growths_.at(resident.job);
      growth.before_pause = growth.bytes();
      orders_.push_back({.kind = Order::Kind::Pause,
                         .job = resident.job,
                         .reason = fmt::format("it grows beyond the {} reserved for it, and GPU {} "
                                               "has {} left",
                                               gib_text(exceeded_.at(resident.job)),
                                               gpu_.index,
                                               gib_text(room))});
      active_.erase(next);
    }
  }

  // The last job that computes grows: one that stands still gives up its memory.
  void make_room(const Resident& growing) {
    if (paused_.empty() || !orders_.empty()) {
      return;
    }
    send_back(*paused_.back(),
              fmt::format("job {} needs the memory that it held on GPU {} while it stood still",
                          growing.job,
                          gpu_.index));
  }

  void resume_first() {
    if (paused_.empty()) {
      return;
    }
    const Resident& resident = *paused_.front();
    const std::uint64_t more = std::max(2 * growths_.at(resident.job).before_pause, kLeastHeadroom);
    const std::uint64_t to_cap = less(resident.cap_bytes, resident.used_bytes);
    const std::uint64_t wanted = resident.cap_bytes > 0 ? std::min(to_cap, more) : more;
    const bool idle = computing() == 0;
    if (!idle && room_beside(resident.job) < wanted + guard()) {
      return;
    }
    orders_.push_back({.kind = Order::Kind::Resume,
                       .job = resident.job,
                       .reserve_bytes = std::max(resident.cap_bytes, resident.used_bytes + more),
                       .reason = idle ? std::string("no other job computes on its GPU")
                                      : fmt::format("GPU {} has {} left for it",
                                                    gpu_.index,
                                                    gib_text(room_beside(resident.job)))});
  }

  const LentMemoryRules& rules_;
  Growths& growths_;
  const GpuView& gpu_;
  const Exceeded& exceeded_;
  double now_s_;
  std::vector<const Resident*> active_;  // newest first
  std::vector<const Resident*> paused_;  // for memory, the first first
  std::vector<Order> orders_;
};

std::uint64_t LentMemory::Growth::bytes() const {
  return samples.empty() ? 0 : less(samples.back().bytes, samples.front().bytes);
}

double LentMemory::Growth::steepest_per_s() const {
  double steepest = 0.0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double apart_s = std::max(samples[i].at_s - samples[i - 1].at_s, kLeastApart);
    const auto more = static_cast<double>(less(samples[i].bytes, samples[i - 1].bytes));
    steepest = std::max(steepest, more / apart_s);
  }
  return steepest;
}

void LentMemory::follow(Growths& growths, const GpuView& gpu, double now_s) {
  std::erase_if(growths, [&](const auto& growth) {
    return std::ranges::find(gpu.residents, growth.first, &Resident::job) == gpu.residents.end();
  });
  for (const Resident& resident : gpu.residents) {
    std::deque<Sample>& samples = growths[resident.job].samples;
    samples.push_back({.at_s = now_s, .bytes = resident.used_bytes});
    while (samples.size() > 1 && samples.front().at_s < now_s - kWindow) {
      samples.pop_front();
    }
  }
}

std::vector<LentMemory::Order> LentMemory::observe(const GpuView& gpu,
                                                   const Exceeded& exceeded,
                                                   double now_s) {
  Growths& growths = growths_[gpu.index];
  follow(growths, gpu, now_s);
  const bool some = std::ranges::any_of(gpu.residents, [&](const Resident& resident) {
    return exceeded.contains(resident.job) || waits_for_memory(resident);
  });
  return some ? Look(rules_, growths, gpu, exceeded, now_s).orders() : std::vector<Order>();
}

}  // namespace carpool::schedule
