// The device file of a machine: opened or made, with this process as one of its clients.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "../settings.hpp"
#include "layout.hpp"
#include "model.hpp"

namespace fake_cuda {

class SharedDevice {
 public:
  // Ends the process if the file cannot be opened: a test has named a wrong one.
  explicit SharedDevice(const Settings& settings);
  ~SharedDevice();
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;
  SharedDevice(SharedDevice&&) = delete;
  SharedDevice& operator=(SharedDevice&&) = delete;

  // Becomes a client. False: no place is free.
  bool join();
  // In a forked child: gives the lock that it shares with its parent back without letting it go.
  void forget_after_fork();

  [[nodiscard]] Counts& counts() { return client().counts; }
  [[nodiscard]] std::atomic<std::uint32_t>& wake() { return client().wake; }
  [[nodiscard]] const DeviceFile& file() const { return *file_; }
  // Of one kind, by all processes that ever joined.
  [[nodiscard]] std::uint64_t total(Count count);

  // Nanoseconds on the device's clock.
  [[nodiscard]] std::int64_t clock_ns() const;

  // False: the device has not as much.
  bool allocate(int gpu, std::uint64_t bytes);
  void release(int gpu, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t free_bytes(int gpu);

  std::optional<int> submit(int gpu, WorkRequest request);
  // When the work ended; it is forgotten then. None: it still runs.
  std::optional<std::int64_t> collect(int gpu, int work);
  // Lets the devices run until now, and says when the next thing happens: now, if a work of this
  // process has ended and was not collected.
  std::optional<std::int64_t> run();
  // Virtual clock: to this time.
  void set_time(std::int64_t time);
  // Releases what processes that died held.
  void sweep();

 private:
  class Lock;
  [[nodiscard]] Client& client() { return file_->clients.at(static_cast<std::size_t>(number_)); }
  [[nodiscard]] DeviceModel model(int gpu);
  void advance_all();
  void wake_owners();
  [[nodiscard]] bool has_finished(const Gpu& gpu) const;
  void retire(std::size_t number);
  void sweep_locked();
  [[nodiscard]] bool alive(std::size_t number) const;
  bool take_byte(std::size_t number) const;

  DeviceFile* file_ = nullptr;
  int descriptor_ = -1;
  int number_ = 0;
};

}  // namespace fake_cuda
