// What is done once a point of a stream is done: the launches in front of it there, and in other
// streams those that it waited for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace carpool::interpose {

// Launches are numbered, streams have a place. Where there are too many streams to keep, the point
// counts as behind all launches with lower numbers: programs that join many streams join most of
// them.
class Reach {
 public:
  constexpr void add(std::uint32_t place, std::uint64_t number) {
    if (number == 0) {
      return;
    }
    Part* least = parts_.data();
    for (Part& part : parts_) {
      if (part.number != 0 && part.place == place) {
        part.number = std::max(part.number, number);
        return;
      }
      least = part.number < least->number ? &part : least;
    }
    if (number > least->number) {
      std::swap(number, least->number);
      least->place = place;
    }
    add_all(number);
  }
  // Forgets parts, by place and number.
  template <class IsDone>
  constexpr void drop(const IsDone& is_done) {
    for (Part& part : parts_) {
      if (part.number != 0 && is_done(part.place, part.number)) {
        part = {};
      }
    }
  }
  constexpr void add(const Reach& other) {
    for (const Part& part : other.parts_) {
      add(part.place, part.number);
    }
    add_all(other.all_);
    add_blocking(other.blocking_);
  }
  constexpr void add_all(std::uint64_t number) { all_ = std::max(all_, number); }
  // Of the streams that the legacy stream waits for.
  constexpr void add_blocking(std::uint64_t number) { blocking_ = std::max(blocking_, number); }

  [[nodiscard]] constexpr std::uint64_t number_of(std::uint32_t place, bool blocking) const {
    std::uint64_t number = blocking ? std::max(all_, blocking_) : all_;
    for (const Part& part : parts_) {
      number = part.place == place ? std::max(number, part.number) : number;
    }
    return number;
  }
  [[nodiscard]] constexpr std::uint64_t newest() const {
    std::uint64_t number = std::max(all_, blocking_);
    for (const Part& part : parts_) {
      number = std::max(number, part.number);
    }
    return number;
  }

 private:
  struct Part {
    std::uint32_t place = 0;
    std::uint64_t number = 0;  // 0: there is none
  };
  static constexpr std::size_t kParts = 8;
  std::array<Part, kParts> parts_{};
  std::uint64_t all_ = 0;
  std::uint64_t blocking_ = 0;
};

}  // namespace carpool::interpose
