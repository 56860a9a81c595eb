// Memory that is allocated at once, on the device and on the host.
#include "../driver/memory.hpp"

#include <algorithm>
#include <cstring>

#include "../driver/define.hpp"
#include "../driver/unsafe.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint64_t kPitch = 512;

// Calls the function under the lock, in a context, where no capture forbids it.
template <class Use>
Result with_memory(const Use& use) {
  Driver& driver = Driver::get();
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  Guard guard = driver.lock();
  if (const Result result = forbid_in_capture(driver); result != kSuccess) {
    return result;
  }
  return use(driver, guard);
}

Result allocate(DevicePtr* address, std::uint64_t bytes, MemoryKind kind) {
  if (address == nullptr || bytes == 0) {
    return kInvalidValue;
  }
  return with_memory([&](Driver& driver, Guard&) {
    *address = Heap::get().allocate(driver, current_context()->device, bytes, kind);
    return *address == 0 ? kOutOfMemory : kSuccess;
  });
}

Result allocate_pitch(DevicePtr* address,
                      std::size_t* pitch,
                      std::size_t width,
                      std::size_t height) {
  if (pitch == nullptr) {
    return kInvalidValue;
  }
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return allocate(address, *pitch * height, MemoryKind::Device);
}

Result allocate_managed(DevicePtr* address, std::size_t bytes) {
  if (Driver::get().settings().number("managed", 1) == 0) {
    return kNotSupported;
  }
  return allocate(address, bytes, MemoryKind::Managed);
}

// Waits for everything, as the driver does.
Result free_memory(DevicePtr address) {
  if (address == 0) {
    return kSuccess;
  }
  return with_memory([&](Driver& driver, Guard& guard) {
    const Allocation* allocation = Heap::get().starting_at(address);
    if (allocation == nullptr || allocation->kind == MemoryKind::Host ||
        allocation->kind == MemoryKind::Reserved) {
      return kInvalidValue;
    }
    driver.wait_for(guard, driver.ends_of(*current_context()));
    if (allocation->kind == MemoryKind::Async) {
      free_async(driver, address);
    } else {
      Heap::get().free(driver, address);
    }
    return kSuccess;
  });
}

Result allocate_host(void** address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) {
    return kInvalidValue;
  }
  return with_memory([&](Driver&, Guard&) {
    *address = reinterpret_cast<void*>(Heap::get().map_host(bytes, MemoryKind::Host));
    return *address == nullptr ? kOutOfMemory : kSuccess;
  });
}

Result free_host(void* address) {
  return with_memory([&](Driver& driver, Guard&) {
    const auto place = reinterpret_cast<DevicePtr>(address);
    const Allocation* allocation = Heap::get().starting_at(place);
    if (allocation == nullptr || allocation->kind != MemoryKind::Host) {
      return kInvalidValue;
    }
    Heap::get().free(driver, place);
    return kSuccess;
  });
}

Result register_host(void* address, std::size_t bytes) {
  if (address == nullptr || bytes == 0) {
    return kInvalidValue;
  }
  return with_memory([&](Driver&, Guard&) {
    const auto place = reinterpret_cast<DevicePtr>(address);
    if (Heap::get().starting_at(place) != nullptr) {
      return kAlreadyRegistered;
    }
    Allocation allocation;
    allocation.kind = MemoryKind::Registered;
    allocation.bytes = bytes;
    Heap::get().note(place, allocation);
    return kSuccess;
  });
}

Result unregister_host(void* address) {
  return with_memory([&](Driver&, Guard&) {
    const auto place = reinterpret_cast<DevicePtr>(address);
    const Allocation* allocation = Heap::get().starting_at(place);
    if (allocation == nullptr || allocation->kind != MemoryKind::Registered) {
      return kNotRegistered;
    }
    Heap::get().forget(place);
    return kSuccess;
  });
}

Result device_pointer(DevicePtr* address, void* host) {
  const Guard guard = Driver::get().lock();
  *address = reinterpret_cast<DevicePtr>(host);
  return Heap::get().holding(*address) ? kSuccess : kInvalidValue;
}

Result memory_info(std::size_t* free, std::size_t* total) {
  Driver& driver = Driver::get();
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  const Guard guard = driver.lock();
  if (free != nullptr) {
    *free = driver.device().free_bytes(current_context()->device);
  }
  if (total != nullptr) {
    *total = driver.device().file().capacity;
  }
  return kSuccess;
}

Result address_range(DevicePtr* base, std::size_t* bytes, DevicePtr address) {
  const Guard guard = Driver::get().lock();
  const auto found = Heap::get().holding(address);
  if (!found) {
    return kNotFound;
  }
  if (base != nullptr) {
    *base = found->first;
  }
  if (bytes != nullptr) {
    *bytes = found->second.bytes;
  }
  return kSuccess;
}

Result pointer_attribute(void* value, int which, DevicePtr address) {
  const Guard guard = Driver::get().lock();
  const auto found = Heap::get().holding(address);
  if (!found) {
    return kInvalidValue;
  }
  const Allocation& allocation = found->second;
  const bool host =
      allocation.kind == MemoryKind::Host || allocation.kind == MemoryKind::Registered;
  switch (which) {
    case 2: {  // kind of memory
      const int kind = host ? kMemoryHost : kMemoryDevice;
      std::memcpy(value, &kind, sizeof kind);
      return kSuccess;
    }
    case 9:  // number of the device
      std::memcpy(value, &allocation.gpu, sizeof allocation.gpu);
      return kSuccess;
    case 11:  // start
      std::memcpy(value, &found->first, sizeof found->first);
      return kSuccess;
    case 12:  // bytes
      std::memcpy(value, &allocation.bytes, sizeof allocation.bytes);
      return kSuccess;
    default:
      return kNotSupported;
  }
}

}  // namespace

FAKE_CUDA_DEFINE(cuMemAlloc_v2,
                 (DevicePtr * address, std::size_t bytes),
                 allocate(address, bytes, MemoryKind::Device))
FAKE_CUDA_DEFINE(
    cuMemAllocPitch_v2,
    (DevicePtr * address, std::size_t* pitch, std::size_t width, std::size_t height, unsigned),
    allocate_pitch(address, pitch, width, height))
FAKE_CUDA_DEFINE(cuMemAllocManaged,
                 (DevicePtr * address, std::size_t bytes, unsigned),
                 allocate_managed(address, bytes))
FAKE_CUDA_DEFINE(cuMemFree_v2, (DevicePtr address), free_memory(address))
FAKE_CUDA_DEFINE(cuMemAllocHost_v2,
                 (void** address, std::size_t bytes),
                 allocate_host(address, bytes))
FAKE_CUDA_DEFINE(cuMemHostAlloc,
                 (void** address, std::size_t bytes, unsigned),
                 allocate_host(address, bytes))
FAKE_CUDA_DEFINE(cuMemFreeHost, (void* address), free_host(address))
FAKE_CUDA_DEFINE(cuMemHostRegister,
                 (void* address, std::size_t bytes, unsigned),
                 register_host(address, bytes))
FAKE_CUDA_DEFINE(cuMemHostRegister_v2,
                 (void* address, std::size_t bytes, unsigned),
                 register_host(address, bytes))
FAKE_CUDA_DEFINE(cuMemHostUnregister, (void* address), unregister_host(address))
FAKE_CUDA_DEFINE(cuMemHostGetDevicePointer_v2,
                 (DevicePtr * address, void* host, unsigned),
                 device_pointer(address, host))
FAKE_CUDA_DEFINE(cuMemGetInfo_v2, (std::size_t* free, std::size_t* total), memory_info(free, total))
FAKE_CUDA_DEFINE(cuMemGetAddressRange_v2,
                 (DevicePtr * base, std::size_t* bytes, DevicePtr address),
                 address_range(base, bytes, address))
FAKE_CUDA_DEFINE(cuPointerGetAttribute,
                 (void* value, int which, DevicePtr address),
                 pointer_attribute(value, which, address))

}  // namespace fake_cuda
