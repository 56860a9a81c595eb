#include "assign/ejection_chain.hpp"

#include <optional>

namespace carpool::assign {
namespace {

// Tries for each item; each takes the GPUs in another order.
constexpr std::size_t kAttempts = 3;

}  // namespace

bool Admission::run() {
  bool admitted = false;
  for (std::size_t outside = seats_.gpus(); outside < seats_.places(); ++outside) {
    for (std::size_t attempt = 0; attempt < kAttempts && !seats_.members(outside).empty();
         ++attempt) {
      admitted = admit(seats_.members(outside).front()) || admitted;
    }
  }
  return admitted;
}

// Breadth first over who could be displaced by whom.
bool Admission::admit(Item item) {
  reached_ = {{.item = item}};
  seen_.assign(values_.items(), false);
  const std::size_t first = engine_() % seats_.gpus();
  for (std::size_t next = 0; next < reached_.size() && !exhausted(); ++next) {
    for (std::size_t i = 0; i < seats_.gpus(); ++i) {
      if (extend((first + i) % seats_.gpus(), next)) {
        return true;
      }
    }
  }
  return false;
}

// True: the item reached at `next` found a free seat on the GPU, and its chain is seated. Else adds
// the members that it could displace there.
bool Admission::extend(std::size_t gpu, std::size_t next) {
  // A chain meets each GPU once, so that its exchanges do not disturb each other.
  if (on_chain(next, gpu)) {
    return false;
  }
  const Item item = reached_[next].item;
  if (seats_.has_room(gpu) && possible(gpu, seats_.key_after(gpu, std::nullopt, item))) {
    seat_chain(next, gpu);
    return true;
  }
  for (const Item other : seats_.members(gpu)) {
    if (!seen_[other] && possible(gpu, seats_.key_after(gpu, other, item))) {
      seen_[other] = true;
      reached_.push_back({.item = other, .gpu = gpu, .by = next});
    }
  }
  return false;
}

bool Admission::on_chain(std::size_t last, std::size_t gpu) const {
  for (std::size_t link = last; link != 0; link = reached_[link].by) {
    if (reached_[link].gpu == gpu) {
      return true;
    }
  }
  return false;
}

void Admission::seat_chain(std::size_t last, std::size_t to) {
  for (std::size_t link = last;; link = reached_[link].by) {
    const Displaced& displaced = reached_[link];
    seats_.take(displaced.item);
    seats_.put(displaced.item, to);
    to = displaced.gpu;
    if (link == 0) {
      return;
    }
  }
}

bool Admission::possible(std::size_t gpu, const Seating::Key& key) {
  ++checks_;
  values_.require(std::span(&key, 1));
  return seats_.worth(gpu, key) > kForbidden;
}

}  // namespace carpool::assign
