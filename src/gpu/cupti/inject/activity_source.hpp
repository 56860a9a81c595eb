// CUPTI's activity records of this process: asked for, taken in and written to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpu/cupti/inject/activity_decoder.hpp"
#include "gpu/cupti/inject/buffer_pool.hpp"
#include "gpu/cupti/inject/record_file.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {

// Used by one thread, but for what CUPTI calls and for wake(). Never destroyed once it is started:
// CUPTI may call to the very end of the process.
class ActivitySource {
 public:
  // Both outlive it.
  ActivitySource(const Cupti& cupti, RecordFile& file) : cupti_(cupti), file_(file) {}

  // From inside cuInit. What is refused becomes a note, and nothing will be recorded.
  void start();
  [[nodiscard]] bool started() const { return decoder_.has_value(); }
  // In a child of fork(), whose records are nobody's.
  static void forget();

  // Launches from then on are kept.
  void keep_from(std::int64_t from_ns);
  // Writes what has come in; waits up to 5 ms for something.
  void write_completed();
  void wake() { pool_.wake(); }
  // Asks CUPTI for what is complete.
  void flush();
  // Takes in what is left: of a process that goes on, only launches before now.
  void finish_at(std::int64_t now_ns);
  void finish_at_exit();

  [[nodiscard]] std::uint64_t launches() const;
  [[nodiscard]] std::uint64_t kept() const;
  [[nodiscard]] std::int64_t last_start() const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // The first device that was used.
  [[nodiscard]] std::optional<std::uint32_t> device() const;

  // CUPTI's callbacks.
  [[nodiscard]] static std::uint8_t* lend_buffer();
  static void buffer_completed(std::uint8_t* buffer, std::size_t valid);

 private:
  [[nodiscard]] bool subscribe();
  void set_attributes();
  [[nodiscard]] std::int64_t set_clock();
  void enable_kinds(std::int64_t clock_offset);
  void refuse(activity_format::NoteKind kind, std::string_view what, cupti::Code code);
  void drain();
  void take_the_rest();
  void count_dropped();

  const Cupti& cupti_;
  RecordFile& file_;
  BufferPool pool_;
  std::optional<ActivityDecoder> decoder_;
  std::uint64_t dropped_ = 0;
};

}  // namespace carpool::gpu::inject
