// Requests CUPTI's activity records of this process and writes them to the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "gpu/cupti/inject/activity_decoder.hpp"
#include "gpu/cupti/inject/buffer_pool.hpp"
#include "gpu/cupti/inject/record_file.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {

// Used by one thread, except for CUPTI's callbacks and wake(). Never destroyed once started: CUPTI
// may call until the process ends.
class ActivitySource {
 public:
  // Both outlive it.
  ActivitySource(const Cupti& cupti, RecordFile& file) : cupti_(cupti), file_(file) {}

  // Called inside cuInit. A failure becomes a note, and nothing is recorded.
  void start();
  [[nodiscard]] bool started() const { return decoder_.has_value(); }
  // In a child of fork(), which is not recorded.
  static void forget();

  // Keeps launches from then on.
  void keep_from(std::int64_t from_ns);
  // Writes completed buffers; waits up to 5 ms for one.
  void write_completed();
  void wake() { pool_.wake(); }
  // Asks CUPTI for its completed records.
  void flush();
  // Writes the remaining records; finish_at() for a process that continues, launches before
  // `now_ns` only.
  void finish_at(std::int64_t now_ns);
  void finish_at_exit();

  [[nodiscard]] std::uint64_t launches() const;
  [[nodiscard]] std::uint64_t kept() const;
  [[nodiscard]] std::int64_t last_start() const;
  [[nodiscard]] std::uint64_t dropped() const { return dropped_; }
  // The first device in use.
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
