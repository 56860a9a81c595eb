// Counts launches in a window, and their rate over whole periods of the program.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace carpool::gpu::inject {

// launch() is called by any thread of the program, the rest by one thread.
//
// A program that launches the work of a step in one burst and then waits would be counted with an
// error of a whole burst. So the count is taken from the start of one burst to the start of
// another, where there are several.
class LaunchCount {
 public:
  void begin(std::int64_t now_ns);
  void launch(std::int64_t now_ns, bool graph = false);

  struct Counted {
    std::uint64_t launches = 0;
    std::int64_t over_ns = 0;
  };
  [[nodiscard]] Counted until(std::int64_t now_ns) const;
  // Whether a graph was launched, in this window or an earlier one.
  [[nodiscard]] bool graph_seen() const { return graph_seen_.load(std::memory_order_relaxed); }
  // Whether longer counting would make the rate much more exact.
  [[nodiscard]] bool is_coarse(std::int64_t now_ns) const;

 private:
  // A launch after a long time without one.
  struct Burst {
    std::atomic<std::int64_t> at_ns{0};
    std::atomic<std::int64_t> gap_ns{0};
    std::atomic<std::uint64_t> before{0};  // launches until then
  };
  struct Periods {
    std::int64_t longest_gap_ns = 0;
    std::size_t bursts = 0;  // that begin a period
    const Burst* first = nullptr;
    const Burst* last = nullptr;
  };
  static constexpr std::size_t kMostBursts = 512;
  [[nodiscard]] Periods periods(std::int64_t now_ns) const;

  std::atomic<std::uint64_t> launches_{0};
  std::atomic<bool> graph_seen_{false};
  std::atomic<std::int64_t> last_ns_{0};
  std::atomic<std::size_t> noted_{0};
  std::array<Burst, kMostBursts> bursts_{};
  std::int64_t from_ns_ = 0;
};

}  // namespace carpool::gpu::inject
