// Wrappers of virtual memory management: physical memory is charged to its GPU from its creation
// until its last handle is released and its last mapping has ended.
#include "interpose/library/memory/charge.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

// Ends the mappings from `start` on, which may be several.
void forget_mappings(std::uint64_t start, std::uint64_t length) {
  while (length != 0) {
    const Allocation mapping = allocations.take(AllocationKind::Mapping, start);
    if (mapping.kind == AllocationKind::None || mapping.bytes > length) {
      return;
    }
    give_back(allocations.drop(AllocationKind::Memory, mapping.owner));
    start += mapping.bytes;
    length -= mapping.bytes;
  }
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming)

Status cuMemCreate(MemoryHandle* handle,
                   std::size_t bytes,
                   const AllocationProperties* properties,
                   unsigned long long flags) {
  const Call call;
  const auto ask_driver = [&] { return REAL(cuMemCreate, handle, bytes, properties, flags); };
  // Memory of the host has a location of another type.
  if (!call.counts() || handle == nullptr || properties == nullptr ||
      properties->location.type != kLocationDevice) {
    return ask_driver();
  }
  return allocate(
      device_of(properties->location.id), AllocationKind::Memory, bytes, ask_driver, [handle] {
        return std::uint64_t{*handle};
      });
}

Status cuMemRelease(MemoryHandle handle) {
  const Call call;
  const Status status = REAL(cuMemRelease, handle);
  if (call.counts() && status == kSuccess) {
    give_back(allocations.drop(AllocationKind::Memory, handle));
  }
  return status;
}

// The same memory may come back under a handle that is known.
Status cuMemRetainAllocationHandle(MemoryHandle* handle, void* address) {
  const Call call;
  const Status status = REAL(cuMemRetainAllocationHandle, handle, address);
  if (call.counts() && status == kSuccess) {
    allocations.retain(AllocationKind::Memory, *handle);
  }
  return status;
}

Status cuMemImportFromShareableHandle(MemoryHandle* handle, void* shared, int type) {
  const Call call;
  const Status status = REAL(cuMemImportFromShareableHandle, handle, shared, type);
  if (call.counts() && status == kSuccess) {
    allocations.retain(AllocationKind::Memory, *handle);
  }
  return status;
}

Status cuMemMap(DevicePointer start,
                std::size_t length,
                std::size_t offset,
                MemoryHandle handle,
                unsigned long long flags) {
  const Call call;
  const Status status = REAL(cuMemMap, start, length, offset, handle, flags);
  if (call.counts() && status == kSuccess &&
      allocations.add(
          {.kind = AllocationKind::Mapping, .key = start, .bytes = length, .owner = handle})) {
    allocations.retain(AllocationKind::Memory, handle);
  }
  return status;
}

Status cuMemUnmap(DevicePointer start, std::size_t length) {
  const Call call;
  const Status status = REAL(cuMemUnmap, start, length);
  if (call.counts() && status == kSuccess) {
    forget_mappings(start, length);
  }
  return status;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
