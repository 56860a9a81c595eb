#include "interpose/library/gating/event_words.hpp"

namespace carpool::interpose {

// Handles are addresses at regular distances: all of their bits are mixed.
EventWords::Record& EventWords::record_of(Handle event) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  constexpr unsigned kUpperHalf = 32;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(event) * kGoldenRatio;
  return records_[(mixed >> kUpperHalf) % kRecords];
}

bool EventWords::is_written(std::size_t word, std::uint64_t value) const {
  const HostWords::Word* const found = words_.word(word);
  return found == nullptr || found->load(std::memory_order_relaxed) >= value;
}

void EventWords::recorded(Handle event, const StreamPlace& place) {
  Record& record = record_of(event);
  record = {};
  const std::size_t word = first_ + next_++ % (HostWords::kCount - first_);
  const std::uint64_t value = values_ + 1;
  // Without a word the event alone is waited for: what the word got before is on its way, or there
  // are no words.
  if (!is_written(word, ordered_[word]) || !words_.write(place, word, value)) {
    return;
  }
  values_ = value;
  ordered_[word] = value;
  record = {.event = event, .word = word, .value = value};
}

void EventWords::forget() {
  for (std::size_t number = first_; number < HostWords::kCount; ++number) {
    if (HostWords::Word* const word = words_.word(number)) {
      word->store(ordered_[number], std::memory_order_relaxed);
    }
  }
}

void EventWords::wait(Handle event, const StreamPlace& place) {
  const Record& record = record_of(event);
  if (record.event == event && event != nullptr && !is_written(record.word, record.value)) {
    static_cast<void>(words_.wait(place, record.word, record.value, WordIs::AtLeast));
  }
}

}  // namespace carpool::interpose
