// The disk of the state folder: how full it is, and a reserve for the journal.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace carpool::app {

struct DiskSpace {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;
  [[nodiscard]] double used_ratio() const;
};
// Empty: the file system does not answer.
[[nodiscard]] std::optional<DiskSpace> space_of(const std::filesystem::path& folder);

// With less than kLeastFree no job starts: what runs, and the journal, need the rest. The reserve
// is a file whose space the journal gets when nothing else is left.
class StateDisk {
 public:
  static constexpr std::uint64_t kReserve = std::uint64_t{32} << 20U;
  static constexpr std::uint64_t kLeastFree = std::uint64_t{128} << 20U;
  static constexpr double kWarnAbove = 0.9;

  using Reading = std::function<std::optional<DiskSpace>()>;
  // `reading`: empty: space_of(state); tests replace it.
  explicit StateDisk(std::filesystem::path state, Reading reading = {});
  StateDisk(const StateDisk&) = delete;
  StateDisk& operator=(const StateDisk&) = delete;
  ~StateDisk() = default;

  // To be called about once a second; keeps the reserve, writes warnings to the log.
  void look();
  [[nodiscard]] const DiskSpace& space() const { return space_; }
  // Why no job may start, and what to do; empty: jobs may start.
  [[nodiscard]] const std::string& why_closed() const { return why_closed_; }

 private:
  void keep_reserve();
  void warn();
  void close_or_open();

  std::filesystem::path state_;
  Reading reading_;
  DiskSpace space_{};
  std::string why_closed_;
  bool warned_ = false;
};

}  // namespace carpool::app
