#include "interpose/library/memory/pools.hpp"

#include <algorithm>
#include <array>

#include "interpose/library/captures.hpp"
#include "interpose/library/process.hpp"
#include "interpose/library/spin_lock.hpp"
#include "interpose/library/wrappers.hpp"

namespace carpool::interpose {

namespace {

constexpr int kReserved = 5;  // CUmemPool_attribute
constexpr int kUsed = 7;

struct KnownPool {
  Handle pool = nullptr;
  Device* device = nullptr;  // null: memory of the host, which is not charged
  std::uint64_t charged = 0;
};

constinit std::array<KnownPool, 256> known_pools{};  // NOLINT: shared by all threads
constinit SpinLock known_pools_lock;                 // NOLINT: held while the driver is asked

// With the lock held; null if the pool is not known.
KnownPool* find_pool(Handle pool) {
  for (KnownPool& known : known_pools) {
    if (known.pool == pool) {
      return &known;
    }
  }
  return nullptr;
}

// With the lock held. Enters a pool that is not known; null if there is no place.
KnownPool* pool_entry(Handle pool, Device* device) {
  if (KnownPool* const known = find_pool(pool)) {
    return known;
  }
  KnownPool* const free = find_pool(nullptr);
  if (free != nullptr) {
    *free = {.pool = pool, .device = device};
  }
  return free;
}

bool pool_attribute(Handle pool, int attribute, std::uint64_t& value) {
  return !capture_alive() &&
         call_real<Status(Handle, int, void*)>(
             Symbol::cuMemPoolGetAttribute, pool, attribute, &value) == kSuccess;
}

// With the lock held. `pending` is charged already, but not yet to the pool. Where the driver does
// not tell what is reserved, it is what was allocated less what was freed.
void settle(KnownPool& known, std::uint64_t pending, std::uint64_t freed = 0) {
  const std::uint64_t before = known.charged + pending;
  std::uint64_t reserved = 0;
  if (!pool_attribute(known.pool, kReserved, reserved)) {
    // What a capture hides is corrected after it.
    reserved = capture_alive() || freed > before ? before : before - freed;
  }
  if (reserved > before) {
    known.device->guard.charge_existing(reserved - before);
  } else if (reserved < before) {
    known.device->guard.release(before - reserved);
  }
  known.charged = reserved;
}

void settle_pool(Handle pool, std::uint64_t freed) {
  const SpinLock::Holder held(known_pools_lock);
  KnownPool* const known = pool == nullptr ? nullptr : find_pool(pool);
  if (known != nullptr && known->device != nullptr) {
    settle(*known, 0, freed);
  }
}

void forget_pool(Handle pool) {
  const SpinLock::Holder held(known_pools_lock);
  KnownPool* const known = pool == nullptr ? nullptr : find_pool(pool);
  if (known != nullptr) {
    if (known->device != nullptr) {
      known->device->guard.release(known->charged);
    }
    *known = {};
  }
}

bool pool_has_free(Handle pool, std::uint64_t bytes) {
  std::uint64_t reserved = 0;
  std::uint64_t used = 0;
  return pool_attribute(pool, kReserved, reserved) && pool_attribute(pool, kUsed, used) &&
         reserved >= used && reserved - used >= bytes;
}

bool is_host_pool(Handle pool, Device& device) {
  const SpinLock::Holder held(known_pools_lock);
  const KnownPool* const known = pool_entry(pool, &device);
  return known == nullptr || known->device == nullptr;
}

// Bytes that were charged for the request, 0 if the pool has them already; false: refused.
bool admit_to_pool(Handle pool, Device& device, std::uint64_t bytes, std::uint64_t& charged) {
  charged = bytes;
  if (device.guard.charge(bytes) == Verdict::Admitted) {
    return true;
  }
  // Pools may have given memory back since they were looked at.
  settle_pools(device);
  if (pool_has_free(pool, bytes)) {
    charged = 0;
    return true;
  }
  return admit(device, bytes);
}

template <class AskDriver>
Status allocate_from_pool(Handle pool,
                          DevicePointer* pointer,
                          std::uint64_t bytes,
                          const AskDriver& ask_driver) {
  Device& device = current_device();
  if (is_host_pool(pool, device)) {
    return ask_driver();
  }
  std::uint64_t charged = 0;
  if (!admit_to_pool(pool, device, bytes, charged)) {
    return kOutOfMemory;
  }
  const Status status = ask_driver();
  if (status != kSuccess) {
    device.guard.release(charged);
    return status;
  }
  {
    const SpinLock::Holder held(known_pools_lock);
    if (KnownPool* const known = pool_entry(pool, &device)) {
      settle(*known, charged);
    }
  }
  static_cast<void>(allocations.add({.kind = AllocationKind::PoolPointer,
                                     .device = static_cast<std::int16_t>(device.ordinal),
                                     .key = *pointer,
                                     .bytes = bytes,
                                     .owner = reinterpret_cast<std::uintptr_t>(pool)}));
  return status;
}

// The one that the GPU of the thread has now; null if it cannot be told.
Handle current_pool() {
  Handle pool = nullptr;
  const bool told = !capture_alive() &&
                    call_real<Status(Handle*, int)>(
                        Symbol::cuDeviceGetMemPool, &pool, current_device().ordinal) == kSuccess;
  return told ? pool : nullptr;
}

// From the pool of the GPU; as memory of its own where the pool cannot be told.
template <class AskDriver>
Status allocate_in_order(DevicePointer* pointer, std::uint64_t bytes, const AskDriver& ask_driver) {
  if (Handle const pool = current_pool()) {
    return allocate_from_pool(pool, pointer, bytes, ask_driver);
  }
  return allocate(current_device(), AllocationKind::Pointer, bytes, ask_driver, [pointer] {
    return std::uint64_t{*pointer};
  });
}

}  // namespace

void settle_pools(Device& device) {
  if (capture_alive()) {
    return;
  }
  const SpinLock::Holder held(known_pools_lock);
  for (KnownPool& known : known_pools) {
    if (known.pool != nullptr && known.device == &device) {
      settle(known, 0);
    }
  }
}

bool pools_hold_memory(const Device& device) {
  const SpinLock::Holder held(known_pools_lock);
  return std::ranges::any_of(known_pools, [&](const KnownPool& known) {
    return known.pool != nullptr && known.device == &device && known.charged > 0;
  });
}

void trim_pools(Device& device) {
  if (capture_alive()) {
    return;
  }
  const SpinLock::Holder held(known_pools_lock);
  for (KnownPool& known : known_pools) {
    if (known.pool != nullptr && known.device == &device && known.charged > 0) {
      call_real<Status(Handle, std::size_t)>(Symbol::cuMemPoolTrimTo, known.pool, std::size_t{0});
      settle(known, 0);
    }
  }
}

void freed_to_pool(const Allocation& freed) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the table keeps handles as numbers
  settle_pool(reinterpret_cast<Handle>(freed.owner), freed.bytes);
}

// NOLINTBEGIN(readability-identifier-naming)

// In a captured stream an allocation is a node: it is charged when the graph is made executable.
#define ALLOCATE_ASYNC(NAME, TWIN)                                                             \
  Status NAME(DevicePointer* pointer, std::size_t bytes, Handle stream) {                      \
    const Call call;                                                                           \
    const auto ask_driver = [&] { return REAL(NAME, pointer, bytes, stream); };                \
    if (!call.counts() || pointer == nullptr || is_captured(stream_key(stream, Twin::TWIN))) { \
      return ask_driver();                                                                     \
    }                                                                                          \
    return allocate_in_order(pointer, bytes, ask_driver);                                      \
  }
ALLOCATE_ASYNC(cuMemAllocAsync, Legacy)
ALLOCATE_ASYNC(cuMemAllocAsync_ptsz, PerThread)

#define ALLOCATE_FROM_POOL(NAME, TWIN)                                                         \
  Status NAME(DevicePointer* pointer, std::size_t bytes, Handle pool, Handle stream) {         \
    const Call call;                                                                           \
    const auto ask_driver = [&] { return REAL(NAME, pointer, bytes, pool, stream); };          \
    if (!call.counts() || pointer == nullptr || is_captured(stream_key(stream, Twin::TWIN))) { \
      return ask_driver();                                                                     \
    }                                                                                          \
    return allocate_from_pool(pool, pointer, bytes, ask_driver);                               \
  }
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync, Legacy)
ALLOCATE_FROM_POOL(cuMemAllocFromPoolAsync_ptsz, PerThread)

#define FREE_ASYNC(NAME, TWIN)                                           \
  Status NAME(DevicePointer pointer, Handle stream) {                    \
    const Call call;                                                     \
    const auto ask_driver = [&] { return REAL(NAME, pointer, stream); }; \
    return call.counts() && !is_captured(stream_key(stream, Twin::TWIN)) \
               ? free_pointer(pointer, ask_driver)                       \
               : ask_driver();                                           \
  }
FREE_ASYNC(cuMemFreeAsync, Legacy)
FREE_ASYNC(cuMemFreeAsync_ptsz, PerThread)

Status cuMemPoolCreate(Handle* pool, const PoolProperties* properties) {
  const Call call;
  const Status status = REAL(cuMemPoolCreate, pool, properties);
  if (call.counts() && status == kSuccess) {
    const bool on_device = properties->location.type == kLocationDevice;
    Device* const device = on_device ? &device_of(properties->location.id) : nullptr;
    const SpinLock::Holder held(known_pools_lock);
    static_cast<void>(pool_entry(*pool, device));
  }
  return status;
}

Status cuMemPoolDestroy(Handle pool) {
  const Call call;
  const Status status = REAL(cuMemPoolDestroy, pool);
  if (call.counts() && status == kSuccess) {
    forget_pool(pool);
  }
  return status;
}

Status cuMemPoolTrimTo(Handle pool, std::size_t bytes) {
  const Call call;
  const Status status = REAL(cuMemPoolTrimTo, pool, bytes);
  if (call.counts() && status == kSuccess) {
    settle_pool(pool, 0);
  }
  return status;
}

// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
