// cuInit, devices and primary contexts.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "../driver/define.hpp"
#include "../driver/memory.hpp"
#include "../driver/primary.hpp"

namespace fake_cuda {
namespace {

bool known(int device) {
  return device >= 0 && device < Driver::get().gpus();
}

Result initialize(unsigned flags) {
  return flags != 0 ? kInvalidValue : Driver::get().initialize();
}

Result get_device(int* device, int ordinal) {
  *device = ordinal;
  return known(ordinal) ? kSuccess : kInvalidDevice;
}

Result count_devices(int* count) {
  *count = Driver::get().gpus();
  return kSuccess;
}

Result name_device(char* name, int size, int device) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake H200 %d", device);
  return known(device) ? kSuccess : kInvalidDevice;
}

Result identify(Uuid* uuid, int device) {
  std::memset(uuid, 0xFA, sizeof *uuid);
  const std::uint64_t machine = Driver::get().settings().number("machine", 0xFAFA);
  uuid->bytes.at(0) = static_cast<char>(machine >> 8U);
  uuid->bytes.at(1) = static_cast<char>(machine);
  uuid->bytes.back() = static_cast<char>(device);
  return known(device) ? kSuccess : kInvalidDevice;
}

Result bus_id(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0", device + 1);
  return known(device) ? kSuccess : kInvalidDevice;
}

Result total_memory(std::size_t* bytes, int device) {
  *bytes = Driver::get().device().file().capacity;
  return known(device) ? kSuccess : kInvalidDevice;
}

Result attribute(int* value, int which, int device) {
  if (!known(device)) {
    return kInvalidDevice;
  }
  switch (which) {
    case 1:  // threads of a block
      *value = 1024;
      break;
    case 8:  // shared memory of a block
      *value = 49152;
      break;
    case 10:  // warp
      *value = 32;
      break;
    case 16:
      *value = static_cast<int>(Driver::get().device().file().rules.sms);
      break;
    case 39:  // threads of a multiprocessor
      *value = 2048;
      break;
    case 75:  // compute capability
      *value = 9;
      break;
    case 81:  // shared memory of a multiprocessor
      *value = 233472;
      break;
    case 82:  // its registers
      *value = 65536;
      break;
    case 83:  // managed memory
      *value = static_cast<int>(Driver::get().settings().number("managed", 1));
      break;
    case 106:  // blocks of a multiprocessor
      *value = 32;
      break;
    case 41:   // one address space with the host
    case 78:   // stream priorities
    case 95:   // cooperative launch
    case 102:  // physical memory
    case 115:  // pools
    case 122:  // values of 64 bits
    case 123:  // wait for NOR
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}

Result primary_state(int device, unsigned* flags, int* active) {
  if (!known(device)) {
    return kInvalidDevice;
  }
  const Guard guard = Driver::get().lock();
  const Context& primary = Driver::get().primary(device);
  *flags = primary.flags;
  *active = primary.alive ? 1 : 0;
  return kSuccess;
}

Result primary_flags(int device, unsigned flags) {
  if (!known(device)) {
    return kInvalidDevice;
  }
  const Guard guard = Driver::get().lock();
  Driver::get().primary(device).flags = flags;
  return kSuccess;
}

Result can_access(int* can, int device, int peer) {
  *can = known(device) && known(peer) && device != peer ? 1 : 0;
  return known(device) && known(peer) ? kSuccess : kInvalidDevice;
}

}  // namespace

Result retain_primary(Context** context, int device) {
  Driver& driver = Driver::get();
  if (!known(device)) {
    return kInvalidDevice;
  }
  const Guard guard = driver.lock();
  Context& primary = driver.primary(device);
  if (primary.retained == 0) {
    const std::uint64_t bytes = driver.settings().number("context_memory", 0) << 20U;
    if (bytes > 0 && !charge(driver, device, bytes)) {
      return kOutOfMemory;
    }
  }
  ++primary.retained;
  primary.alive = true;
  *context = &primary;
  return kSuccess;
}

Result release_primary(int device, bool reset) {
  Driver& driver = Driver::get();
  if (!known(device)) {
    return kInvalidDevice;
  }
  Guard guard = driver.lock();
  Context& primary = driver.primary(device);
  if (primary.retained == 0) {
    return reset ? kSuccess : kInvalidContext;
  }
  primary.retained = reset ? 0 : primary.retained - 1;
  if (primary.retained == 0) {
    driver.wait_for(guard, driver.ends_of(primary));
    primary.alive = false;
    if (const std::uint64_t bytes = driver.settings().number("context_memory", 0) << 20U;
        bytes > 0) {
      discharge(driver, device, bytes);
    }
  }
  return kSuccess;
}

FAKE_CUDA_DEFINE(cuInit, (unsigned flags), initialize(flags))
FAKE_CUDA_DEFINE(cuDeviceGet, (int* device, int ordinal), get_device(device, ordinal))
FAKE_CUDA_DEFINE(cuDeviceGetCount, (int* count), count_devices(count))
FAKE_CUDA_DEFINE(cuDeviceGetName,
                 (char* name, int size, int device),
                 name_device(name, size, device))
FAKE_CUDA_DEFINE(cuDeviceGetUuid, (Uuid * uuid, int device), identify(uuid, device))
FAKE_CUDA_DEFINE(cuDeviceGetUuid_v2, (Uuid * uuid, int device), identify(uuid, device))
FAKE_CUDA_DEFINE(cuDeviceGetPCIBusId,
                 (char* text, int size, int device),
                 bus_id(text, size, device))
FAKE_CUDA_DEFINE(cuDeviceTotalMem_v2, (std::size_t* bytes, int device), total_memory(bytes, device))
FAKE_CUDA_DEFINE(cuDeviceGetAttribute,
                 (int* value, int which, int device),
                 attribute(value, which, device))
FAKE_CUDA_DEFINE(cuDeviceCanAccessPeer,
                 (int* can, int device, int peer),
                 can_access(can, device, peer))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxRetain,
                 (Context * *context, int device),
                 retain_primary(context, device))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxRelease, (int device), release_primary(device, false))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxRelease_v2, (int device), release_primary(device, false))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxReset, (int device), release_primary(device, true))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxReset_v2, (int device), release_primary(device, true))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxGetState,
                 (int device, unsigned* flags, int* active),
                 primary_state(device, flags, active))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxSetFlags,
                 (int device, unsigned flags),
                 primary_flags(device, flags))
FAKE_CUDA_DEFINE(cuDevicePrimaryCtxSetFlags_v2,
                 (int device, unsigned flags),
                 primary_flags(device, flags))

}  // namespace fake_cuda
