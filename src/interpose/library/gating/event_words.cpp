#include "interpose/library/gating/event_words.hpp"

namespace carpool::interpose {

// Handles are addresses at regular distances: all of their bits are mixed.
std::size_t EventWords::place_of(Handle event) {
  constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
  constexpr unsigned kUpperHalf = 32;
  const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(event) * kGoldenRatio;
  return (mixed >> kUpperHalf) % kRecords;
}

const EventWords::Record* EventWords::find(Handle event) const {
  const std::size_t place = place_of(event);
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    const Record& record = records_[(place + probe) % kRecords];
    if (record.event == event) {
      return &record;
    }
  }
  return nullptr;
}

// That of the event, else one that tells nothing more, because its word has been written.
EventWords::Record& EventWords::record_for(Handle event) {
  const std::size_t place = place_of(event);
  Record* unused = nullptr;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Record& record = records_[(place + probe) % kRecords];
    if (record.event == event) {
      return record;
    }
    if (unused == nullptr && (record.event == nullptr || is_written(record.word, record.value))) {
      unused = &record;
    }
  }
  return unused == nullptr ? records_[place] : *unused;
}

bool EventWords::is_written(std::size_t word, std::uint64_t value) const {
  const HostWords::Word* const found = words_.word(word);
  return found == nullptr || found->load(std::memory_order_relaxed) >= value;
}

void EventWords::recorded(Handle event, const StreamPlace& place) {
  Record& record = record_for(event);
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
  const Record* const record = event == nullptr ? nullptr : find(event);
  if (record != nullptr && !is_written(record->word, record->value)) {
    static_cast<void>(words_.wait(place, record->word, record->value, WordIs::AtLeast));
  }
}

}  // namespace carpool::interpose
