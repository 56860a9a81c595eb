#include "assign/ejection_chain.hpp"

#include <optional>

namespace carpool::assign {
namespace {

// Attempts per member; each takes the GPUs in another order.
constexpr std::size_t kAttempts = 3;

}  // namespace

bool EjectionChain::run() {
  bool admitted = false;
  for (std::size_t outside = arrangement_.gpus(); outside < arrangement_.places(); ++outside) {
    for (std::size_t attempt = 0; attempt < kAttempts && !arrangement_.members(outside).empty();
         ++attempt) {
      admitted = admit(arrangement_.members(outside).front()) || admitted;
    }
  }
  return admitted;
}

// Searches breadth first over the members that could displace each other.
bool EjectionChain::admit(Member member) {
  reached_ = {{.member = member}};
  seen_.assign(values_.workloads(), false);
  const std::size_t first = engine_() % arrangement_.gpus();
  for (std::size_t next = 0; next < reached_.size() && !exhausted(); ++next) {
    for (std::size_t i = 0; i < arrangement_.gpus(); ++i) {
      if (extend((first + i) % arrangement_.gpus(), next)) {
        return true;
      }
    }
  }
  return false;
}

// True: the member reached at `next` found room on the GPU, and its chain has been applied.
// Otherwise adds the members that it could displace there.
bool EjectionChain::extend(std::size_t gpu, std::size_t next) {
  // A chain meets each GPU once, so that its exchanges do not disturb each other.
  if (on_chain(next, gpu)) {
    return false;
  }
  const Member member = reached_[next].member;
  if (arrangement_.has_room(gpu) &&
      possible(gpu, arrangement_.key_after(gpu, std::nullopt, member))) {
    apply_chain(next, gpu);
    return true;
  }
  for (const Member other : arrangement_.members(gpu)) {
    if (!seen_[other] && possible(gpu, arrangement_.key_after(gpu, other, member))) {
      seen_[other] = true;
      reached_.push_back({.member = other, .gpu = gpu, .by = next});
    }
  }
  return false;
}

bool EjectionChain::on_chain(std::size_t last, std::size_t gpu) const {
  for (std::size_t link = last; link != 0; link = reached_[link].by) {
    if (reached_[link].gpu == gpu) {
      return true;
    }
  }
  return false;
}

void EjectionChain::apply_chain(std::size_t last, std::size_t to) {
  for (std::size_t link = last;; link = reached_[link].by) {
    const Displaced& displaced = reached_[link];
    arrangement_.take(displaced.member);
    arrangement_.put(displaced.member, to);
    to = displaced.gpu;
    if (link == 0) {
      return;
    }
  }
}

bool EjectionChain::possible(std::size_t gpu, const Arrangement::Key& key) {
  ++checks_;
  values_.require(std::span(&key, 1));
  return arrangement_.worth(gpu, key) > kForbidden;
}

}  // namespace carpool::assign
