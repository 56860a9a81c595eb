// Memory pools. A pool takes memory from the device when its own is used up, and gives back what
// exceeds its threshold when an allocation is freed. (NVIDIA's driver gives it back at the next
// synchronisation.)
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "../driver/define.hpp"
#include "../driver/graph.hpp"
#include "../driver/memory.hpp"

namespace fake_cuda {

struct Pool {
  int gpu = 0;
  bool on_host = false;
  std::uint64_t maximum = 0;
  std::uint64_t threshold = 0;
  std::uint64_t reserved = 0;
  std::uint64_t reserved_high = 0;
  std::uint64_t used = 0;
  std::uint64_t used_high = 0;
};

namespace {

// The driver's lock guards them.
struct Pools {
  std::map<Pool*, std::unique_ptr<Pool>> all;
  std::array<Pool*, kMaxGpus> standard{};
  std::array<Pool*, kMaxGpus> current{};

  static Pools& get() {
    static Pools* const pools = new Pools;  // NOLINT(cppcoreguidelines-owning-memory)
    return *pools;
  }
  Pool* add(int gpu) {
    auto pool = std::make_unique<Pool>();
    Pool* handle = pool.get();
    handle->gpu = gpu;
    all[handle] = std::move(pool);
    return handle;
  }
  Pool* standard_of(int gpu) {
    Pool*& pool = standard.at(static_cast<std::size_t>(gpu));
    if (pool == nullptr) {
      pool = add(gpu);
    }
    return pool;
  }
  Pool* current_of(int gpu) {
    Pool* pool = current.at(static_cast<std::size_t>(gpu));
    return pool != nullptr ? pool : standard_of(gpu);
  }
};

void trim(Driver& driver, Pool& pool, std::uint64_t keep) {
  const std::uint64_t target = std::max(keep, pool.used);
  if (pool.reserved > target) {
    if (!pool.on_host) {
      discharge(driver, pool.gpu, pool.reserved - target);
    }
    pool.reserved = target;
  }
}

bool take(Driver& driver, Pool& pool, std::uint64_t bytes) {
  const std::uint64_t need = pool.used + bytes;
  if (pool.maximum > 0 && need > pool.maximum) {
    return false;
  }
  if (need > pool.reserved) {
    if (!pool.on_host && !charge(driver, pool.gpu, need - pool.reserved)) {
      return false;
    }
    pool.reserved = need;
    pool.reserved_high = std::max(pool.reserved_high, need);
  }
  pool.used = need;
  pool.used_high = std::max(pool.used_high, need);
  return true;
}

DevicePtr allocate_from(Driver& driver, Pool& pool, std::uint64_t bytes) {
  const std::uint64_t unit =
      std::max<std::uint64_t>(driver.settings().number("granularity", 512), 1);
  const std::uint64_t charged = (bytes + unit - 1) / unit * unit;
  if (!take(driver, pool, charged)) {
    return 0;
  }
  const DevicePtr address = Heap::get().map_host(bytes, MemoryKind::Async);
  if (Allocation* allocation = Heap::get().starting_at(address); allocation != nullptr) {
    allocation->pool = &pool;
    allocation->gpu = pool.gpu;
  }
  return address;
}

Result allocate(
    DevicePtr* address, std::size_t bytes, Pool* pool, Stream* handle, Default meaning) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  Stream* stream = driver.find_stream(handle, meaning);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  Pools& pools = Pools::get();
  Pool* from = pool != nullptr ? pool : pools.current_of(stream->context->device);
  if (address == nullptr || bytes == 0 || !pools.all.contains(from)) {
    return kInvalidValue;
  }
  Result result = kSuccess;
  AllocTask task;
  task.parameters.bytes = bytes;
  if (stream->capture) {
    // The graph owns it: the device is asked when the graph is launched.
    task.parameters.address = Heap::get().map_host(bytes, MemoryKind::Graph);
    (void)Captures::get().intercept(driver, *stream, task, Wait::No, result);
    *address = task.parameters.address;
    return result;
  }
  if (Captures::get().intercept(driver, *stream, task, Wait::No, result)) {
    return result;
  }
  *address = allocate_from(driver, *from, bytes);
  if (*address == 0) {
    return kOutOfMemory;
  }
  driver.enqueue(guard, *stream, operation_of(driver, *stream, task, false));
  return kSuccess;
}

Result free_in_stream(DevicePtr address, Stream* stream, Default meaning) {
  {
    const Guard guard = Driver::get().lock();
    if (Heap::get().starting_at(address) == nullptr) {
      return kInvalidValue;
    }
  }
  return submit(stream, meaning, FreeTask{address});
}

Result create(Pool** pool, const PoolProperties* properties) {
  if (properties == nullptr) {
    return kInvalidValue;
  }
  const Guard guard = Driver::get().lock();
  const bool on_host = properties->location.type != kLocationDevice;
  *pool = Pools::get().add(on_host ? 0 : properties->location.id);
  (*pool)->on_host = on_host;
  (*pool)->maximum = properties->maximum;
  return kSuccess;
}

// Calls the function with the pool, under the lock.
template <class Use>
Result with_pool(Pool* pool, const Use& use) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  return Pools::get().all.contains(pool) ? use(driver, *pool) : kInvalidValue;
}

Result destroy(Pool* pool) {
  return with_pool(pool, [](Driver& driver, Pool& known) {
    Pools& pools = Pools::get();
    if (std::ranges::find(pools.standard, &known) != pools.standard.end()) {
      return kInvalidValue;
    }
    std::ranges::replace(pools.current, &known, nullptr);
    known.used = 0;
    trim(driver, known, 0);
    pools.all.erase(&known);
    return kSuccess;
  });
}

Result trim_to(Pool* pool, std::size_t keep) {
  return with_pool(pool, [&](Driver& driver, Pool& known) {
    trim(driver, known, keep);
    return kSuccess;
  });
}

Result set_attribute(Pool* pool, int which, const void* value) {
  return with_pool(pool, [&](Driver&, Pool& known) {
    std::uint64_t number = 0;
    switch (which) {
      case kPoolReleaseThreshold:
        std::memcpy(&known.threshold, value, sizeof known.threshold);
        return kSuccess;
      case kPoolReservedHigh:
      case kPoolUsedHigh:
        std::memcpy(&number, value, sizeof number);
        if (number != 0) {
          return kInvalidValue;
        }
        (which == kPoolUsedHigh ? known.used_high : known.reserved_high) = 0;
        return kSuccess;
      default:
        return which > 0 && which < kPoolReleaseThreshold ? kSuccess : kInvalidValue;
    }
  });
}

Result get_attribute(Pool* pool, int which, void* value) {
  return with_pool(pool, [&](Driver&, const Pool& known) {
    const int enabled = 1;
    switch (which) {
      case kPoolReleaseThreshold:
        std::memcpy(value, &known.threshold, sizeof known.threshold);
        break;
      case kPoolReserved:
        std::memcpy(value, &known.reserved, sizeof known.reserved);
        break;
      case kPoolReservedHigh:
        std::memcpy(value, &known.reserved_high, sizeof known.reserved_high);
        break;
      case kPoolUsed:
        std::memcpy(value, &known.used, sizeof known.used);
        break;
      case kPoolUsedHigh:
        std::memcpy(value, &known.used_high, sizeof known.used_high);
        break;
      default:
        std::memcpy(value, &enabled, sizeof enabled);
    }
    return kSuccess;
  });
}

Result pool_of_device(Pool** pool, int device, bool standard) {
  Driver& driver = Driver::get();
  if (device < 0 || device >= driver.gpus()) {
    return kInvalidDevice;
  }
  const Guard guard = driver.lock();
  *pool = standard ? Pools::get().standard_of(device) : Pools::get().current_of(device);
  return kSuccess;
}

Result set_pool(int device, Pool* pool) {
  return with_pool(pool, [&](Driver& driver, Pool& known) {
    if (device < 0 || device >= driver.gpus()) {
      return kInvalidDevice;
    }
    Pools::get().current.at(static_cast<std::size_t>(device)) = &known;
    return kSuccess;
  });
}

}  // namespace

void free_async(Driver& driver, DevicePtr address) {
  const Allocation* allocation = Heap::get().starting_at(address);
  if (allocation == nullptr) {
    return;
  }
  Pool* pool = allocation->pool;
  const std::uint64_t unit =
      std::max<std::uint64_t>(driver.settings().number("granularity", 512), 1);
  const std::uint64_t charged = (allocation->bytes + unit - 1) / unit * unit;
  Heap::get().free(driver, address);
  if (pool != nullptr && Pools::get().all.contains(pool)) {
    pool->used -= std::min(pool->used, charged);
    trim(driver, *pool, pool->threshold);
  }
}

FAKE_CUDA_DEFINE_TWINS(cuMemAllocAsync,
                       _ptsz,
                       (DevicePtr * address, std::size_t bytes, Stream* stream),
                       allocate(address, bytes, nullptr, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuMemAllocFromPoolAsync,
                       _ptsz,
                       (DevicePtr * address, std::size_t bytes, Pool* pool, Stream* stream),
                       allocate(address, bytes, pool, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuMemFreeAsync,
                       _ptsz,
                       (DevicePtr address, Stream* stream),
                       free_in_stream(address, stream, kDefault))
FAKE_CUDA_DEFINE(cuMemPoolCreate,
                 (Pool * *pool, const PoolProperties* properties),
                 create(pool, properties))
FAKE_CUDA_DEFINE(cuMemPoolDestroy, (Pool * pool), destroy(pool))
FAKE_CUDA_DEFINE(cuMemPoolTrimTo, (Pool * pool, std::size_t keep), trim_to(pool, keep))
FAKE_CUDA_DEFINE(cuMemPoolSetAttribute,
                 (Pool * pool, int which, void* value),
                 set_attribute(pool, which, value))
FAKE_CUDA_DEFINE(cuMemPoolGetAttribute,
                 (Pool * pool, int which, void* value),
                 get_attribute(pool, which, value))
FAKE_CUDA_DEFINE(cuDeviceGetMemPool,
                 (Pool * *pool, int device),
                 pool_of_device(pool, device, false))
FAKE_CUDA_DEFINE(cuDeviceGetDefaultMemPool,
                 (Pool * *pool, int device),
                 pool_of_device(pool, device, true))
FAKE_CUDA_DEFINE(cuDeviceSetMemPool, (int device, Pool* pool), set_pool(device, pool))

}  // namespace fake_cuda
