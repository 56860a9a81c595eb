#include "gpu/cupti/inject/activity_decoder.hpp"

#include <algorithm>
#include <cstring>

#include "gpu/cupti/inject/device_facts.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

// Large enough to make the record header negligible, far below the limit of the format.
constexpr std::size_t kBatch = 4096;

format::MemoryKind copy_kind(std::uint8_t kind) {
  switch (kind) {
    case cupti::kCopyHostToDevice:
    case cupti::kCopyHostToArray:
      return format::MemoryKind::HostToDevice;
    case cupti::kCopyDeviceToHost:
    case cupti::kCopyArrayToHost:
      return format::MemoryKind::DeviceToHost;
    case cupti::kCopyDeviceToDevice:
    case cupti::kCopyArrayToArray:
    case cupti::kCopyArrayToDevice:
    case cupti::kCopyDeviceToArray:
      return format::MemoryKind::DeviceToDevice;
    case cupti::kCopyPeerToPeer:
      return format::MemoryKind::PeerToPeer;
    default:
      return format::MemoryKind::Other;
  }
}

template <class Record>
Record copied(const void* record) {
  Record copy;
  std::memcpy(&copy, record, sizeof(Record));
  return copy;
}

std::uint16_t graph_flag(std::uint64_t graph_node) {
  return graph_node != 0 ? format::kGraphNode : std::uint16_t{0};
}

}  // namespace

void ActivityDecoder::decode(std::uint8_t* buffer, std::size_t valid) {
  void* record = nullptr;
  while (functions_.next_record(buffer, valid, &record) == cupti::kSuccess && record != nullptr) {
    switch (copied<cupti::Kind>(record)) {
      case cupti::kKindConcurrentKernel:
        kernel(copied<cupti::KernelRecord>(record));
        break;
      case cupti::kKindMemcpy: {
        const auto copy = copied<cupti::MemcpyRecord>(record);
        memory(copy, copy_kind(copy.copy_kind), copy.graph_node);
        break;
      }
      case cupti::kKindMemcpyPeer:
        // Its layout differs after `stream`; its graph node is unknown.
        memory(copied<cupti::MemcpyRecord>(record), format::MemoryKind::PeerToPeer, 0);
        break;
      case cupti::kKindMemset: {
        const auto set = copied<cupti::MemsetRecord>(record);
        memory(set, format::MemoryKind::Set, set.graph_node);
        break;
      }
      default:
        break;
    }
    if (batch_.size() >= kBatch || operation_batch_.size() >= kBatch) {
      write_out();
    }
  }
  write_out();
}

void ActivityDecoder::kernel(const cupti::KernelRecord& record) {
  if (!wanted(record.start, record.end)) {
    return;
  }
  use_device(record.device);
  format::Launch launch;
  launch.start_ns = clock(record.start);
  launch.duration_ns = static_cast<std::int64_t>(record.end - record.start);
  launch.kernel = kernels_.id_of(record, file_);
  launch.stream = record.stream;
  launch.device = static_cast<std::uint16_t>(record.device);
  launch.flags = graph_flag(record.graph_node);
  batch_.push_back(launch);
  ++launches_;
  last_start_ = std::max(last_start_, launch.start_ns);
}

template <class Record>
void ActivityDecoder::memory(const Record& record,
                             format::MemoryKind kind,
                             std::uint64_t graph_node) {
  if (!wanted(record.start, record.end)) {
    return;
  }
  use_device(record.device);
  format::MemoryOperation done;
  done.start_ns = clock(record.start);
  done.duration_ns = static_cast<std::int64_t>(record.end - record.start);
  done.bytes = record.bytes;
  done.stream = record.stream;
  done.device = static_cast<std::uint16_t>(record.device);
  done.flags = graph_flag(graph_node);
  done.kind = static_cast<std::uint16_t>(kind);
  operation_batch_.push_back(done);
  ++operations_;
}

bool ActivityDecoder::wanted(std::uint64_t start, std::uint64_t end) {
  if (start == 0 || end < start) {
    without_time_ += from_ != INT64_MAX ? 1U : 0U;
    return false;
  }
  const std::int64_t at = clock(start);
  return at >= std::max<std::int64_t>(from_, 0) && at < to_;
}

std::int64_t ActivityDecoder::clock(std::uint64_t at) const {
  return static_cast<std::int64_t>(at) + clock_offset_;
}

void ActivityDecoder::use_device(std::uint32_t device) {
  if (devices_.insert(device).second) {
    write_device(static_cast<int>(device), file_);
  }
}

void ActivityDecoder::write_out() {
  file_.launches(batch_);
  file_.memory_operations(operation_batch_);
  batch_.clear();
  operation_batch_.clear();
}

}  // namespace carpool::gpu::inject
