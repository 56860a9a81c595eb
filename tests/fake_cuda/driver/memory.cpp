#include "memory.hpp"

#include <algorithm>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint64_t kPage = 4096;

std::uint64_t rounded(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

bool charge(Driver& driver, int gpu, std::uint64_t bytes) {
  Counts& counts = driver.counts();
  if (!driver.device().allocate(gpu, bytes)) {
    counts.add(Count::refused_allocations);
    return false;
  }
  counts.add(Count::allocations);
  const std::uint64_t now = counts[Count::allocated_bytes] += bytes;
  if (now > counts[Count::allocated_peak]) {
    counts[Count::allocated_peak] = now;
  }
  return true;
}

void discharge(Driver& driver, int gpu, std::uint64_t bytes) {
  driver.device().release(gpu, bytes);
  driver.counts()[Count::allocated_bytes] -= bytes;
}

Heap& Heap::get() {
  static Heap* const heap = new Heap;  // NOLINT(cppcoreguidelines-owning-memory): as the driver
  return *heap;
}

int Heap::file() {
  if (file_ < 0) {
    file_ = ::memfd_create("fake_cuda_heap", MFD_CLOEXEC);
  }
  return file_;
}

DevicePtr Heap::map_file(int descriptor,
                         std::int64_t offset,
                         std::uint64_t bytes,
                         MemoryKind kind) {
  void* address = ::mmap(nullptr,
                         rounded(bytes, kPage),
                         PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE,
                         descriptor,
                         offset);
  if (address == MAP_FAILED) {
    return 0;
  }
  Allocation allocation;
  allocation.kind = kind;
  allocation.bytes = bytes;
  allocation.mapped = rounded(bytes, kPage);
  const auto place = reinterpret_cast<DevicePtr>(address);
  note(place, allocation);
  return place;
}

DevicePtr Heap::allocate(Driver& driver, int gpu, std::uint64_t bytes, MemoryKind kind) {
  const std::uint64_t unit =
      std::max<std::uint64_t>(driver.settings().number("granularity", 512), 1);
  const std::uint64_t charged = rounded(bytes, unit);
  if (charged < bytes || !charge(driver, gpu, charged)) {
    return 0;
  }
  const std::int64_t offset = end_;
  const std::int64_t end = end_ + static_cast<std::int64_t>(rounded(bytes, kPage));
  const DevicePtr address =
      ::ftruncate(file(), end) == 0 ? map_file(file(), offset, bytes, kind) : 0;
  if (address == 0) {
    discharge(driver, gpu, charged);
    return 0;
  }
  end_ = end;
  Allocation& allocation = all_[address];
  allocation.gpu = gpu;
  allocation.charged = charged;
  allocation.offset = offset;
  return address;
}

DevicePtr Heap::map_host(std::uint64_t bytes, MemoryKind kind) {
  void* address = ::mmap(nullptr,
                         rounded(bytes, kPage),
                         PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                         -1,
                         0);
  if (address == MAP_FAILED) {
    return 0;
  }
  Allocation allocation;
  allocation.kind = kind;
  allocation.bytes = bytes;
  allocation.mapped = rounded(bytes, kPage);
  const auto place = reinterpret_cast<DevicePtr>(address);
  note(place, allocation);
  return place;
}

bool Heap::free(Driver& driver, DevicePtr address) {
  const auto found = all_.find(address);
  if (found == all_.end()) {
    return false;
  }
  const Allocation allocation = found->second;
  all_.erase(found);
  if (allocation.mapped > 0) {
    ::munmap(reinterpret_cast<void*>(address), allocation.mapped);
  }
  if (allocation.offset >= 0) {
    (void)::fallocate(file(),
                      FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                      allocation.offset,
                      static_cast<off_t>(allocation.mapped));
  }
  if (allocation.charged > 0) {
    discharge(driver, allocation.gpu, allocation.charged);
  }
  return true;
}

Allocation* Heap::starting_at(DevicePtr address) {
  const auto found = all_.find(address);
  return found == all_.end() ? nullptr : &found->second;
}

std::optional<std::pair<DevicePtr, Allocation>> Heap::holding(DevicePtr address) const {
  auto found = all_.upper_bound(address);
  if (found == all_.begin()) {
    return std::nullopt;
  }
  --found;
  if (address >= found->first + std::max<std::uint64_t>(found->second.bytes, 1)) {
    return std::nullopt;
  }
  return *found;
}

}  // namespace fake_cuda
