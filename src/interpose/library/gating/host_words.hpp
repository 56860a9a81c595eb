// Words in memory of the host that the GPU reads and writes, and that streams of a process can wait
// for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "interpose/library/gating/work_in_flight.hpp"

namespace carpool::interpose {

enum class WordIs : std::uint8_t { AtLeast = 0, Equal = 1 };  // CU_STREAM_WAIT_VALUE_*

class HostWords {
 public:
  using Word = std::atomic<std::uint64_t>;
  static constexpr std::size_t kCount = 2048;

  // Behind what the stream has got: it waits until the word has the value, or the GPU writes it.
  // False: this driver or context cannot. With the lock of the gate held, and not while a capture
  // is alive.
  [[nodiscard]] bool wait(const StreamPlace& place,
                          std::size_t number,
                          std::uint64_t value,
                          WordIs compared);
  [[nodiscard]] bool write(const StreamPlace& place, std::size_t number, std::uint64_t value);

  // From any thread, without a call of the driver. Null: no stream has got a word.
  [[nodiscard]] Word* word(std::size_t number) {
    Words* const words = words_.load(std::memory_order_acquire);
    return words == nullptr ? nullptr : &(*words)[number];
  }

  // Before a context ends. Null: the primary one. Whether it knew the words.
  [[nodiscard]] bool forget(Handle context);

 private:
  using Words = std::array<Word, kCount>;

  [[nodiscard]] bool prepare();
  [[nodiscard]] bool register_with(Handle context, void* pages);
  [[nodiscard]] DevicePointer address_of(std::size_t number) const {
    return address_ + number * sizeof(Word);
  }

  std::atomic<Words*> words_{nullptr};
  Handle context_ = nullptr;          // that knows them
  Handle registered_with_ = nullptr;  // the last one
  DevicePointer address_ = 0;
  bool refused_ = false;
};

}  // namespace carpool::interpose
