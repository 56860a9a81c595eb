#include "interpose/library/devices.hpp"

#include <array>
#include <atomic>
#include <new>
#include <string_view>

#include "interpose/library/captures.hpp"
#include "interpose/library/real_driver.hpp"
#include "interpose/library/settings.hpp"
#include "interpose/library/spin_lock.hpp"

namespace carpool::interpose {

constinit thread_local Device* thread_device = nullptr;  // NOLINT

namespace {

constexpr int kMostDevices = 64;
constexpr int kUnknownDevice = kMostDevices;  // of calls whose GPU cannot be told; never joins

// Made when a GPU is first used, and never destroyed: other threads may still call while the
// process ends.
struct DevicePlace {
  std::atomic<Device*> device;
  alignas(Device) std::array<unsigned char, sizeof(Device)> memory;
};
constinit std::array<DevicePlace, kMostDevices + 1> device_places{};  // NOLINT
constinit SpinLock making_device;                                     // NOLINT
constinit std::atomic<Device*> latest_device{nullptr};                // NOLINT

// "GPU-" and 16 bytes as hexadecimal digits in groups, as NVML writes it.
using UuidText = std::array<char, 40>;

UuidText text_of(const Uuid& uuid) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  UuidText text{'G', 'P', 'U', '-'};
  std::size_t at = 4;
  for (std::size_t i = 0; i < uuid.bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text[at++] = '-';
    }
    text[at++] = kDigits[uuid.bytes[i] >> 4U];
    text[at++] = kDigits[uuid.bytes[i] & 0xfU];
  }
  return text;
}

bool uuid_of(int ordinal, Uuid& uuid) {
  using Function = Status(Uuid*, int);
  const Symbol symbol =
      real_has(Symbol::cuDeviceGetUuid_v2) ? Symbol::cuDeviceGetUuid_v2 : Symbol::cuDeviceGetUuid;
  return call_real<Function>(symbol, &uuid, ordinal) == kSuccess;
}

std::uint32_t sms_of(int ordinal) {
  constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
  using Function = Status(int*, int, int);
  int sms = 0;
  const Status status =
      call_real<Function>(Symbol::cuDeviceGetAttribute, &sms, kMultiprocessorCount, ordinal);
  return status == kSuccess && sms > 0 ? static_cast<std::uint32_t>(sms) : gate::DeviceFacts{}.sms;
}

void join(Device& device) {
  Uuid uuid{};
  if (!uuid_of(device.ordinal, uuid)) {
    return;
  }
  const Membership membership{
      .name = setting("CARPOOL_SHIM_NAME"),
      .job = number_setting("CARPOOL_SHIM_JOB", 0),
      .job_class = setting("CARPOOL_SHIM_CLASS") == "slo" ? JobClass::Slo : JobClass::BestEffort,
      .limit_bytes = number_setting("CARPOOL_SHIM_LIMIT", kUnlimited),
      .guarantee_bytes = number_setting("CARPOOL_SHIM_GUARANTEE", 0)};
  const UuidText text = text_of(uuid);
  if (device.client.join("", {text.data(), text.size()}, membership) != StateError::None) {
    return;
  }
  std::size_t total = 0;
  if (call_real<Status(std::size_t*, int)>(Symbol::cuDeviceTotalMem_v2, &total, device.ordinal) ==
      kSuccess) {
    device.client.tell_total_memory(total);
  }
  start_gate(device.gate, device.client, sms_of(device.ordinal), device.ordinal);
}

Device& make_device(int ordinal) {
  DevicePlace& place = device_places[static_cast<std::size_t>(ordinal)];
  const SpinLock::Holder held(making_device);
  Device* device = place.device.load(std::memory_order_relaxed);
  if (device == nullptr) {
    device = ::new (place.memory.data()) Device(ordinal);
    if (ordinal != kUnknownDevice) {
      join(*device);
      latest_device.store(device, std::memory_order_release);
    }
    place.device.store(device, std::memory_order_release);
  }
  return *device;
}

}  // namespace

Device& device_of(int ordinal) {
  const int known = ordinal >= 0 && ordinal < kMostDevices ? ordinal : kUnknownDevice;
  Device* const device =
      device_places[static_cast<std::size_t>(known)].device.load(std::memory_order_acquire);
  return device != nullptr ? *device : make_device(known);
}

std::uint64_t job_limit_of(int ordinal) {
  Device* const device =
      ordinal >= 0 && ordinal < kMostDevices
          ? device_places[static_cast<std::size_t>(ordinal)].device.load(std::memory_order_acquire)
          : nullptr;
  return device != nullptr ? device->guard.view().job_limit
                           : number_setting("CARPOOL_SHIM_LIMIT", kUnlimited);
}

Handle thread_context() {
  Handle context = nullptr;
  return call_real<Status(Handle*)>(Symbol::cuCtxGetCurrent, &context) == kSuccess ? context
                                                                                   : nullptr;
}

Device& find_thread_device() {
  int ordinal = kUnknownDevice;
  if (!capture_alive() && call_real<Status(int*)>(Symbol::cuCtxGetDevice, &ordinal) == kSuccess) {
    thread_device = &device_of(ordinal);
    return *thread_device;
  }
  Device* const latest = latest_device.load(std::memory_order_acquire);
  return latest != nullptr ? *latest : device_of(kUnknownDevice);
}

void for_each_device(void (*visit)(Device& device, Handle context), Handle context) {
  for (DevicePlace& place : device_places) {
    if (Device* const device = place.device.load(std::memory_order_acquire)) {
      visit(*device, context);
    }
  }
}

}  // namespace carpool::interpose
