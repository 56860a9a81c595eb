// Events of a program whose streams wait for one another while work is launched ahead of its turn.
// Where the driver slices the time of the GPU, a stream that waits for an event uses its slices up,
// and one that waits for a word does not: so the GPU writes a word behind an event, and the stream
// waits for the word first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "interpose/library/gating/host_words.hpp"

namespace carpool::interpose {

// All with the lock of the gate held, and not while a capture is alive.
class EventWords {
 public:
  // Words from `first` on are its own.
  constexpr EventWords(HostWords& words, std::size_t first) : words_(words), first_(first) {}

  // After the driver has recorded the event.
  void recorded(Handle event, const StreamPlace& place);
  // Before the driver lets the stream wait for the event.
  void wait(Handle event, const StreamPlace& place);
  // The context has ended: what is on its way does not come.
  void forget();

 private:
  // The last record of an event, as long as its place is not needed for another one.
  struct Record {
    Handle event = nullptr;
    std::size_t word = 0;
    std::uint64_t value = 0;
  };
  static constexpr std::size_t kRecords = 1024;
  static constexpr std::size_t kProbes = 16;

  [[nodiscard]] static std::size_t place_of(Handle event);
  [[nodiscard]] const Record* find(Handle event) const;
  [[nodiscard]] Record& record_for(Handle event);
  [[nodiscard]] bool is_written(std::size_t word, std::uint64_t value) const;

  HostWords& words_;
  std::size_t first_;
  std::array<Record, kRecords> records_{};
  // What each word gets last. A word is used again when it has got that: values only grow.
  std::array<std::uint64_t, HostWords::kCount> ordered_{};
  std::size_t next_ = 0;
  std::uint64_t values_ = 0;
};

}  // namespace carpool::interpose
