// Physical memory, and ranges of addresses to which it is mapped.
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../driver/define.hpp"
#include "../driver/memory.hpp"
#include "../driver/unsafe.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint64_t kGranularity = 2ULL << 20U;

struct Physical {
  int file = -1;
  std::uint64_t bytes = 0;
  std::uint64_t charged = 0;  // to the device; 0 for host memory and what was imported
  std::uint64_t uses = 1;     // the handle's own, and one for each mapping
  std::uint64_t handles = 1;
  AllocationProperties properties{};
};

struct Mapping {
  std::uint64_t bytes = 0;
  std::uint64_t handle = 0;
};

// The driver's lock guards them.
struct PhysicalMemory {
  std::map<std::uint64_t, Physical> all;
  std::map<DevicePtr, Mapping> mappings;
  std::uint64_t handles = 0;

  static PhysicalMemory& get() {
    static auto* const memory = new PhysicalMemory;  // NOLINT(cppcoreguidelines-owning-memory)
    return *memory;
  }
  void drop_use(Driver& driver, std::uint64_t handle) {
    const auto found = all.find(handle);
    if (found == all.end() || --found->second.uses > 0) {
      return;
    }
    if (found->second.charged > 0) {
      discharge(driver, found->second.properties.location.id, found->second.charged);
    }
    ::close(found->second.file);
    all.erase(found);
  }
};

bool on_device(const AllocationProperties& properties) {
  return properties.location.type == kLocationDevice;
}

Result create(std::uint64_t* handle, std::size_t bytes, const AllocationProperties* properties) {
  Driver& driver = Driver::get();
  if (handle == nullptr || properties == nullptr || bytes == 0 || bytes % kGranularity != 0) {
    return kInvalidValue;
  }
  if (on_device(*properties) &&
      (properties->location.id < 0 || properties->location.id >= driver.gpus())) {
    return kInvalidDevice;
  }
  const Guard guard = driver.lock();
  if (const Result result = forbid_in_capture(driver); result != kSuccess) {
    return result;
  }
  Physical memory;
  memory.bytes = bytes;
  memory.properties = *properties;
  if (on_device(*properties)) {
    if (!charge(driver, properties->location.id, bytes)) {
      return kOutOfMemory;
    }
    memory.charged = bytes;
  }
  memory.file = ::memfd_create("fake_cuda_physical", MFD_CLOEXEC);
  if (memory.file < 0 || ::ftruncate(memory.file, static_cast<off_t>(bytes)) != 0) {
    return kOperatingSystem;
  }
  *handle = ++PhysicalMemory::get().handles;
  PhysicalMemory::get().all[*handle] = memory;
  return kSuccess;
}

Result release(std::uint64_t handle) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  PhysicalMemory& memory = PhysicalMemory::get();
  const auto found = memory.all.find(handle);
  if (found == memory.all.end() || found->second.handles == 0) {
    return kInvalidValue;
  }
  --found->second.handles;
  memory.drop_use(driver, handle);
  return kSuccess;
}

Result reserve(DevicePtr* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0 || bytes % kGranularity != 0) {
    return kInvalidValue;
  }
  const Guard guard = Driver::get().lock();
  void* place =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (place == MAP_FAILED) {
    return kOutOfMemory;
  }
  *address = reinterpret_cast<DevicePtr>(place);
  Allocation allocation;
  allocation.kind = MemoryKind::Reserved;
  allocation.bytes = bytes;
  allocation.mapped = bytes;
  Heap::get().note(*address, allocation);
  return kSuccess;
}

Result free_range(DevicePtr address, std::size_t bytes) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  const Allocation* range = Heap::get().starting_at(address);
  if (range == nullptr || range->kind != MemoryKind::Reserved || range->bytes != bytes) {
    return kInvalidValue;
  }
  Heap::get().free(driver, address);
  return kSuccess;
}

Result map_range(DevicePtr address, std::size_t bytes, std::size_t offset, std::uint64_t handle) {
  const Guard guard = Driver::get().lock();
  PhysicalMemory& memory = PhysicalMemory::get();
  const auto found = memory.all.find(handle);
  if (found == memory.all.end() || offset + bytes > found->second.bytes ||
      !Heap::get().holding(address)) {
    return kInvalidValue;
  }
  if (::mmap(reinterpret_cast<void*>(address),
             bytes,
             PROT_NONE,
             MAP_SHARED | MAP_FIXED,
             found->second.file,
             static_cast<off_t>(offset)) == MAP_FAILED) {
    return kOperatingSystem;
  }
  memory.mappings[address] = {bytes, handle};
  ++found->second.uses;
  return kSuccess;
}

Result unmap(DevicePtr address, std::size_t bytes) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  PhysicalMemory& memory = PhysicalMemory::get();
  bool any = false;
  for (auto each = memory.mappings.lower_bound(address);
       each != memory.mappings.end() && each->first < address + bytes;) {
    if (::mmap(reinterpret_cast<void*>(each->first),
               each->second.bytes,
               PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
               -1,
               0) == MAP_FAILED) {
      return kOperatingSystem;
    }
    memory.drop_use(driver, each->second.handle);
    each = memory.mappings.erase(each);
    any = true;
  }
  return any ? kSuccess : kInvalidValue;
}

Result set_access(DevicePtr address, std::size_t bytes, const AccessDescription* access) {
  const int protection = access->flags == 3   ? PROT_READ | PROT_WRITE
                         : access->flags == 1 ? PROT_READ
                                              : PROT_NONE;
  return ::mprotect(reinterpret_cast<void*>(address), bytes, protection) == 0 ? kSuccess
                                                                              : kInvalidValue;
}

Result granularity(std::size_t* bytes) {
  *bytes = kGranularity;
  return kSuccess;
}

Result retain(std::uint64_t* handle, const void* address) {
  const Guard guard = Driver::get().lock();
  PhysicalMemory& memory = PhysicalMemory::get();
  auto found = memory.mappings.upper_bound(reinterpret_cast<DevicePtr>(address));
  if (found == memory.mappings.begin()) {
    return kInvalidValue;
  }
  --found;
  if (reinterpret_cast<DevicePtr>(address) >= found->first + found->second.bytes) {
    return kInvalidValue;
  }
  *handle = found->second.handle;
  ++memory.all.at(*handle).uses;
  ++memory.all.at(*handle).handles;
  return kSuccess;
}

Result export_handle(void* shareable, std::uint64_t handle, int type) {
  const Guard guard = Driver::get().lock();
  PhysicalMemory& memory = PhysicalMemory::get();
  const auto found = memory.all.find(handle);
  if (found == memory.all.end() || type != kHandleFile) {
    return kInvalidValue;
  }
  *static_cast<int*>(shareable) = ::fcntl(found->second.file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

// The memory is the exporter's; the device gives no more of it.
Result import_handle(std::uint64_t* handle, void* shareable, int type) {
  const Guard guard = Driver::get().lock();
  const int file = static_cast<int>(reinterpret_cast<std::intptr_t>(shareable));
  struct stat facts{};
  if (type != kHandleFile || ::fstat(file, &facts) != 0) {
    return kInvalidValue;
  }
  Physical memory;
  memory.file = ::fcntl(file, F_DUPFD_CLOEXEC, 0);
  memory.bytes = static_cast<std::uint64_t>(facts.st_size);
  memory.properties.type = 1;
  memory.properties.location = {kLocationDevice, 0};
  *handle = ++PhysicalMemory::get().handles;
  PhysicalMemory::get().all[*handle] = memory;
  return kSuccess;
}

Result properties_of(AllocationProperties* properties, std::uint64_t handle) {
  const Guard guard = Driver::get().lock();
  const auto found = PhysicalMemory::get().all.find(handle);
  if (found == PhysicalMemory::get().all.end()) {
    return kInvalidValue;
  }
  *properties = found->second.properties;
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuMemCreate,
                 (std::uint64_t* handle,
                  std::size_t bytes,
                  const AllocationProperties* properties,
                  unsigned long long),
                 create(handle, bytes, properties))
FAKE_CUDA_DEFINE(cuMemRelease, (std::uint64_t handle), release(handle))
FAKE_CUDA_DEFINE(
    cuMemAddressReserve,
    (DevicePtr * address, std::size_t bytes, std::size_t, DevicePtr, unsigned long long),
    reserve(address, bytes))
FAKE_CUDA_DEFINE(cuMemAddressFree,
                 (DevicePtr address, std::size_t bytes),
                 free_range(address, bytes))
FAKE_CUDA_DEFINE(cuMemMap,
                 (DevicePtr address,
                  std::size_t bytes,
                  std::size_t offset,
                  std::uint64_t handle,
                  unsigned long long),
                 map_range(address, bytes, offset, handle))
FAKE_CUDA_DEFINE(cuMemUnmap, (DevicePtr address, std::size_t bytes), unmap(address, bytes))
FAKE_CUDA_DEFINE(
    cuMemSetAccess,
    (DevicePtr address, std::size_t bytes, const AccessDescription* access, std::size_t),
    set_access(address, bytes, access))
FAKE_CUDA_DEFINE(cuMemGetAllocationGranularity,
                 (std::size_t* bytes, const AllocationProperties*, int),
                 granularity(bytes))
FAKE_CUDA_DEFINE(cuMemRetainAllocationHandle,
                 (std::uint64_t* handle, void* address),
                 retain(handle, address))
FAKE_CUDA_DEFINE(cuMemExportToShareableHandle,
                 (void* shareable, std::uint64_t handle, int type, unsigned long long),
                 export_handle(shareable, handle, type))
FAKE_CUDA_DEFINE(cuMemImportFromShareableHandle,
                 (std::uint64_t* handle, void* shareable, int type),
                 import_handle(handle, shareable, type))
FAKE_CUDA_DEFINE(cuMemGetAllocationPropertiesFromHandle,
                 (AllocationProperties * properties, std::uint64_t handle),
                 properties_of(properties, handle))

}  // namespace fake_cuda
