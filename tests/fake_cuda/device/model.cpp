#include "model.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace fake_cuda {
namespace {

bool runs_blocks(const Work& work) {
  return work.state == WorkState::Running && work.block_ns > 0;
}

// The group that ends then, or a free one.
Group* group_for(Work& work, std::int64_t end) {
  Group* chosen = nullptr;
  for (Group& group : work.groups) {
    if (group.blocks > 0 && group.end == end) {
      return &group;
    }
    if (group.blocks == 0 && chosen == nullptr) {
      chosen = &group;
    }
  }
  return chosen;
}

// How many blocks of the works that are chosen run.
template <class Choice>
std::uint32_t running_blocks(const Gpu& gpu, const Choice& chosen) {
  std::uint32_t blocks = 0;
  for (const Work& work : gpu.works) {
    if (runs_blocks(work) && chosen(work)) {
      for (const Group& group : work.groups) {
        blocks += group.blocks;
      }
    }
  }
  return blocks;
}

}  // namespace

bool DeviceModel::has_work(int domain) const {
  return std::ranges::any_of(gpu_.works, [&](const Work& work) {
    return runs_blocks(work) && domain_of(work.client) == domain;
  });
}

bool DeviceModel::others_have_work() const {
  return rules_.timeslice && std::ranges::any_of(gpu_.works, [&](const Work& work) {
           return runs_blocks(work) && work.client != gpu_.active;
         });
}

std::optional<std::int64_t> DeviceModel::next_end(int domain) const {
  std::optional<std::int64_t> earliest;
  for (const Work& work : gpu_.works) {
    if (!runs_blocks(work) || domain_of(work.client) != domain) {
      continue;
    }
    for (const Group& group : work.groups) {
      if (group.blocks > 0 && (!earliest || group.end < *earliest)) {
        earliest = group.end;
      }
    }
  }
  return earliest;
}

std::uint32_t DeviceModel::room_for(const Work& work, std::uint32_t free) const {
  std::uint32_t room = free;
  if (const std::uint32_t limit = clients_.at(static_cast<std::size_t>(work.client)).sm_limit;
      limit > 0) {
    const std::uint32_t used =
        running_blocks(gpu_, [&](const Work& other) { return other.client == work.client; });
    room = std::min(room, limit - std::min(limit, used));
  }
  if (work.part.sms > 0) {
    const std::uint32_t used = running_blocks(gpu_, [&](const Work& other) {
      return other.client == work.client && other.part.id == work.part.id;
    });
    room = std::min(room, work.part.sms - std::min(work.part.sms, used));
  }
  return room;
}

// False if no process has work for the multiprocessors.
bool DeviceModel::choose_domain() {
  if (gpu_.active >= 0 && has_work(gpu_.active) && (gpu_.slice_left > 0 || !others_have_work())) {
    return true;
  }
  const int domains = rules_.timeslice ? kMaxClients : 1;
  for (int step = 1; step <= domains; ++step) {
    const int next = (std::max(gpu_.active, 0) + step) % domains;
    if (has_work(next)) {
      if (gpu_.active >= 0 && gpu_.active != next) {
        gpu_.switch_left = rules_.switch_ns;
        ++gpu_.switches;
      }
      gpu_.active = next;
      gpu_.slice_left = rules_.slice_ns;
      return true;
    }
  }
  return false;
}

bool DeviceModel::dispatch_priority(std::int32_t priority, std::uint32_t& free) {
  struct Candidate {
    Work* work;
    std::uint32_t room;
  };
  std::vector<Candidate> candidates;
  for (Work& work : gpu_.works) {
    if (!runs_blocks(work) || domain_of(work.client) != gpu_.active || work.waiting == 0 ||
        work.priority != priority) {
      continue;
    }
    const std::uint32_t room = room_for(work, free);
    const std::int64_t end = gpu_.local.at(static_cast<std::size_t>(gpu_.active)) + work.block_ns;
    if (room > 0 && group_for(work, end) != nullptr) {
      candidates.push_back({&work, std::min(room, work.waiting)});
    }
  }
  // The smallest demands first, so that what they leave goes to the others; among equals the
  // oldest.
  std::ranges::sort(
      candidates, {}, [](const Candidate& each) { return std::pair(each.room, each.work->order); });
  auto left = static_cast<std::uint32_t>(candidates.size());
  for (const Candidate& each : candidates) {
    // Works before it may have taken from the same limit.
    const std::uint32_t share =
        std::min({each.room, room_for(*each.work, free), (free + left - 1) / left});
    --left;
    if (share == 0) {
      continue;
    }
    Work& work = *each.work;
    const std::int64_t end = gpu_.local.at(static_cast<std::size_t>(gpu_.active)) + work.block_ns;
    Group* group = group_for(work, end);
    group->blocks += share;
    group->end = end;
    work.waiting -= share;
    free -= share;
  }
  return free > 0;
}

void DeviceModel::dispatch() {
  const std::uint32_t used = running_blocks(
      gpu_, [this](const Work& work) { return domain_of(work.client) == gpu_.active; });
  std::uint32_t free = rules_.sms - std::min(rules_.sms, used);
  std::vector<std::int32_t> priorities;
  for (const Work& work : gpu_.works) {
    if (runs_blocks(work) && domain_of(work.client) == gpu_.active && work.waiting > 0) {
      priorities.push_back(work.priority);
    }
  }
  std::ranges::sort(priorities);
  const auto repeated = std::ranges::unique(priorities);
  priorities.erase(repeated.begin(), repeated.end());
  for (const std::int32_t priority : priorities) {
    if (free == 0 || !dispatch_priority(priority, free)) {
      return;
    }
  }
}

void DeviceModel::retire() {
  const std::int64_t local = gpu_.local.at(static_cast<std::size_t>(gpu_.active));
  for (Work& work : gpu_.works) {
    if (!runs_blocks(work) || domain_of(work.client) != gpu_.active) {
      continue;
    }
    bool busy = work.waiting > 0;
    for (Group& group : work.groups) {
      if (group.blocks > 0 && group.end <= local) {
        group = {};
      }
      busy = busy || group.blocks > 0;
    }
    if (!busy) {
      work.state = WorkState::Done;
      work.end = gpu_.now;
    }
  }
}

void DeviceModel::finish_copies() {
  for (Work& work : gpu_.works) {
    if (work.state == WorkState::Running && work.block_ns == 0 && work.end <= gpu_.now) {
      work.state = WorkState::Done;
    }
  }
}

void DeviceModel::advance(std::int64_t until) {
  if (gpu_.now == 0) {
    gpu_.now = until;  // the device begins with its first use
  }
  while (choose_domain()) {
    if (gpu_.switch_left > 0) {
      const std::int64_t step = std::min(gpu_.switch_left, until - gpu_.now);
      gpu_.switch_left -= step;
      gpu_.now += step;
      if (gpu_.switch_left > 0) {
        break;
      }
    }
    dispatch();
    if (gpu_.now >= until) {
      break;
    }
    std::int64_t& local = gpu_.local.at(static_cast<std::size_t>(gpu_.active));
    std::int64_t step = until - gpu_.now;
    if (const auto end = next_end(gpu_.active); end) {
      step = std::min(step, *end - local);
    }
    if (others_have_work()) {
      step = std::min(step, gpu_.slice_left);
      gpu_.slice_left -= step;
    }
    local += step;
    gpu_.now += step;
    retire();
  }
  gpu_.now = std::max(gpu_.now, until);
  finish_copies();
}

std::optional<int> DeviceModel::submit(const WorkRequest& request) {
  const auto place = std::ranges::find(gpu_.works, WorkState::Free, &Work::state);
  if (place == gpu_.works.end()) {
    return std::nullopt;
  }
  *place = Work{};
  place->state = WorkState::Running;
  place->client = request.client;
  place->priority = request.priority;
  place->part = request.part;
  place->order = ++gpu_.orders;
  place->waiting = request.blocks;
  if (request.blocks > 0) {
    const std::uint32_t waves = (request.blocks + rules_.sms - 1) / rules_.sms;
    place->block_ns = std::max<std::int64_t>(request.ns / waves, 1);
    if (choose_domain() && gpu_.switch_left == 0) {
      dispatch();
    }
  } else {
    place->end = gpu_.now + request.ns;
  }
  return static_cast<int>(place - gpu_.works.begin());
}

std::optional<std::int64_t> DeviceModel::next_event() const {
  std::optional<std::int64_t> next;
  const auto earlier = [&next](std::int64_t time) { next = std::min(next.value_or(time), time); };
  for (const Work& work : gpu_.works) {
    if (work.state == WorkState::Running && work.block_ns == 0) {
      earlier(work.end);
    }
  }
  const bool any = std::ranges::any_of(gpu_.works, runs_blocks);
  if (!any) {
    return next;
  }
  if (gpu_.active < 0 || !has_work(gpu_.active)) {
    earlier(gpu_.now);
    return next;
  }
  std::int64_t step = std::numeric_limits<std::int64_t>::max();
  if (const auto end = next_end(gpu_.active); end) {
    step = *end - gpu_.local.at(static_cast<std::size_t>(gpu_.active));
  }
  if (others_have_work()) {
    step = std::min(step, gpu_.slice_left);
  }
  if (step == std::numeric_limits<std::int64_t>::max()) {
    step = 0;
  }
  earlier(gpu_.now + gpu_.switch_left + step);
  return next;
}

void DeviceModel::drop(std::int32_t client) {
  for (Work& work : gpu_.works) {
    if (work.state != WorkState::Free && work.client == client) {
      work = Work{};
    }
  }
  if (rules_.timeslice && gpu_.active == client) {
    gpu_.switch_left = 0;
  }
}

}  // namespace fake_cuda
