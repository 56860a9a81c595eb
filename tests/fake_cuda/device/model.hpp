// How works of several processes pass through one device. The caller gives the time, so the model
// is exact under any clock.
//
// A work has blocks that all run equally long; a block that has started is never interrupted, and a
// free multiprocessor goes to a waiting block of the highest priority, shared equally between works
// of the same priority. Without contention a work takes exactly its own length. A work of a part
// has the blocks of a work of the whole device, but runs only so many of them at once. Under
// timeslice one process at a time has the device; blocks of the others stand still.
#pragma once

#include <cstdint>
#include <optional>

#include "layout.hpp"

namespace fake_cuda {

struct WorkRequest {
  std::int32_t client = 0;
  std::int32_t priority = 0;
  std::uint32_t blocks = 0;  // 0: a copy
  std::int64_t ns = 0;       // solo, on the whole device
  Part part{};
};

class DeviceModel {
 public:
  DeviceModel(Gpu& gpu, const Rules& rules, const std::array<Client, kMaxClients>& clients)
      : gpu_(gpu), rules_(rules), clients_(clients) {}

  // Lets the device run until this time.
  void advance(std::int64_t until);
  // The number of the work, which starts now; none if the device holds no more.
  [[nodiscard]] std::optional<int> submit(const WorkRequest& request);
  // When the device next does something by itself.
  [[nodiscard]] std::optional<std::int64_t> next_event() const;
  // Forgets all works of a process.
  void drop(std::int32_t client);

 private:
  [[nodiscard]] int domain_of(int client) const { return rules_.timeslice ? client : 0; }
  [[nodiscard]] bool has_work(int domain) const;
  [[nodiscard]] bool others_have_work() const;
  [[nodiscard]] std::optional<std::int64_t> next_end(int domain) const;
  // Multiprocessors that the active processes may still give to this work.
  [[nodiscard]] std::uint32_t room_for(const Work& work, std::uint32_t free) const;
  bool choose_domain();
  void dispatch();
  bool dispatch_priority(std::int32_t priority, std::uint32_t& free);
  void retire();
  void finish_copies();

  Gpu& gpu_;
  const Rules& rules_;
  const std::array<Client, kMaxClients>& clients_;
};

}  // namespace fake_cuda
