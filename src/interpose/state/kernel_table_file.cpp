// Saves a kernel table and reads it back. All numbers are little-endian.
#include <bit>
#include <cmath>
#include <cstring>

#include "interpose/state/kernel_table.hpp"

namespace carpool::interpose {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint64_t kTableMagic = 0x314e52454b525043;  // "CPRKERN1"
constexpr std::uint32_t kTableVersion = 1;
constexpr float kMostNs = 1e12F;  // a kernel of 1,000 seconds

struct FileHead {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t records;
  std::uint64_t checksum;  // of the records
};

struct FileRecord {
  std::uint64_t key;
  float mean_ns;
  float deviation_ns;
  std::uint32_t count;
  std::uint32_t source;
};
static_assert(sizeof(FileHead) == 24 && sizeof(FileRecord) == 24);

std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return hash_name({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

FileRecord record_at(std::span<const std::byte> records, std::size_t index) {
  FileRecord record{};
  std::memcpy(&record, records.data() + index * sizeof record, sizeof record);
  return record;
}

bool is_valid(const FileRecord& record) {
  return record.key != 0 && std::isfinite(record.mean_ns) && record.mean_ns >= 0.0F &&
         record.mean_ns <= kMostNs && std::isfinite(record.deviation_ns) &&
         record.deviation_ns >= 0.0F && record.deviation_ns <= kMostNs && record.count > 0 &&
         record.source <= static_cast<std::uint32_t>(KernelSource::Profile);
}

}  // namespace

std::size_t KernelTable::file_bytes() const {
  std::size_t known = 0;
  for (const KernelEntry& entry : entries_) {
    known += entry.key.load(std::memory_order_relaxed) != 0 ? 1 : 0;
  }
  return sizeof(FileHead) + known * sizeof(FileRecord);
}

std::size_t KernelTable::save(std::span<std::byte> out) const {
  if (out.size() < sizeof(FileHead)) {
    return 0;
  }
  const std::span<std::byte> records = out.subspan(sizeof(FileHead));
  FileHead head{.magic = kTableMagic, .version = kTableVersion, .records = 0, .checksum = 0};
  std::size_t used = 0;
  for (const KernelEntry& entry : entries_) {
    const std::uint64_t key = entry.key.load(std::memory_order_relaxed);
    const KernelEstimate known = find(key);
    const FileRecord record{.key = key,
                            .mean_ns = known.mean_ns,
                            .deviation_ns = known.deviation_ns,
                            .count = known.count,
                            .source = static_cast<std::uint32_t>(known.source)};
    if (!is_valid(record)) {
      continue;
    }
    if (records.size() - used < sizeof record) {
      return 0;
    }
    std::memcpy(records.data() + used, &record, sizeof record);
    used += sizeof record;
    ++head.records;
  }
  head.checksum = checksum_of(records.first(used));
  std::memcpy(out.data(), &head, sizeof head);
  return sizeof head + used;
}

bool KernelTable::load(std::span<const std::byte> file) {
  FileHead head{};
  if (file.size() < sizeof head) {
    return false;
  }
  std::memcpy(&head, file.data(), sizeof head);
  const std::span<const std::byte> records = file.subspan(sizeof head);
  if (head.magic != kTableMagic || head.version != kTableVersion ||
      records.size() != std::size_t{head.records} * sizeof(FileRecord) ||
      head.records > entries_.size() || checksum_of(records) != head.checksum) {
    return false;
  }
  for (std::size_t index = 0; index < head.records; ++index) {
    if (!is_valid(record_at(records, index))) {
      return false;
    }
  }
  for (std::size_t index = 0; index < head.records; ++index) {
    const FileRecord record = record_at(records, index);
    // A key that finds no place is not known, as if it had never been seen.
    set(record.key,
        {.mean_ns = record.mean_ns,
         .deviation_ns = record.deviation_ns,
         .count = record.count,
         .source = static_cast<KernelSource>(record.source)});
  }
  return true;
}

}  // namespace carpool::interpose
