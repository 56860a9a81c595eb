// Any bytes as what processes of a user share on a GPU. The first byte selects: k the file of a
// kernel table, which is taken or refused as a whole; s bytes somewhere in the shared state, which
// a program reads and repairs.
#include <array>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>

#include "interpose/state/kernel_table.hpp"
#include "interpose/state/layout.hpp"
#include "interpose/state/reader.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

constexpr const char* kGpu = "GPU-fuzz";

void feed_kernel_table(std::string_view bytes) {
  static std::array<interpose::KernelEntry, 1024> entries;
  for (interpose::KernelEntry& entry : entries) {
    entry.key.store(0);
    entry.count.store(0);
  }
  interpose::KernelTable table(entries);
  const bool loaded = table.load(std::as_bytes(std::span(bytes)));
  std::size_t known = 0;
  for (const interpose::KernelEntry& entry : entries) {
    const interpose::KernelEstimate seen = table.find(entry.key.load());
    require(std::isfinite(seen.mean_ns) && std::isfinite(seen.deviation_ns));
    known += seen.count > 0 ? 1 : 0;
  }
  require(loaded || known == 0);
}

// Made anew for each input: an earlier one may have damaged it.
void feed_shared_state(std::string_view bytes) {
  const std::string folder = (scratch_folder() / "state").string();
  const std::string path = folder + "/" + kGpu + ".state";
  ::unlink(path.c_str());
  interpose::StateReader reader;
  require(reader.open(folder, kGpu, ::geteuid(), interpose::StateFile::Missing::Make) ==
          interpose::StateError::None);
  require(reader.set_limits(1, {}) == interpose::StateError::None);
  std::uint32_t offset = 0;
  std::memcpy(&offset, bytes.data(), std::min(bytes.size(), sizeof offset));
  bytes.remove_prefix(std::min(bytes.size(), sizeof offset));
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto at = static_cast<off_t>(offset % (offsetof(interpose::SharedState, kernels) + 4096));
  require(::pwrite(file, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size()));
  ::close(file);

  interpose::StateReport report;
  (void)reader.read(report);
  require(report.clients.size() <= interpose::kClientSlots);
  require(report.jobs.size() <= interpose::kJobSlots);
  (void)reader.set_limits(2, {});
  (void)reader.remove_job(1);
  interpose::LogFollower follower;
  require(reader.follow({}, follower).empty());
  for (const interpose::ClientReport& client : report.clients) {
    require(client.name.size() < 64);
    require(reader.follow(client.id, follower).size() <= interpose::kLogRecords);
  }
  interpose::StateReader again;
  (void)again.open(folder, kGpu, ::geteuid());
}

}  // namespace

void feed_shim_state(std::string_view bytes) {
  if (bytes.starts_with('k')) {
    feed_kernel_table(bytes.substr(1));
  } else if (bytes.starts_with('s')) {
    feed_shared_state(bytes.substr(1));
  }
}

}  // namespace carpool::fuzz
