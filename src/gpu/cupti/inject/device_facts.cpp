#include "gpu/cupti/inject/device_facts.hpp"

#include <array>
#include <cstring>

#include "gpu/cupti/abi.hpp"
#include "gpu/cupti/inject/vendor_library.hpp"

namespace carpool::gpu::inject {
namespace {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};
};

// A function of the driver by the type of a pointer to it.
template <class F>
F driver(const char* name) {
  return reinterpret_cast<F>(driver_function(name));
}

int device_handle(int ordinal) {
  int handle = ordinal;
  const auto get = driver<cupti::Code (*)(int*, int)>("cuDeviceGet");
  return get != nullptr && get(&handle, ordinal) == cupti::kSuccess ? handle : ordinal;
}

}  // namespace

activity_format::Device device_facts(int ordinal) {
  activity_format::Device device;
  device.ordinal = static_cast<std::uint32_t>(ordinal);
  const int handle = device_handle(ordinal);
  const auto attribute = driver<cupti::Code (*)(int*, int, int)>("cuDeviceGetAttribute");
  const auto ask = [&](int which) {
    int value = 0;
    const bool known = attribute != nullptr && attribute(&value, which, handle) == cupti::kSuccess;
    return static_cast<std::uint32_t>(known && value > 0 ? value : 0);
  };
  device.sm_count = ask(cupti::kDeviceSmCount);
  device.compute_major = ask(cupti::kDeviceComputeMajor);
  device.compute_minor = ask(cupti::kDeviceComputeMinor);
  device.warp_size = ask(cupti::kDeviceWarpSize);
  device.max_threads_per_sm = ask(cupti::kDeviceThreadsPerSm);
  device.max_warps_per_sm =
      device.warp_size != 0 ? device.max_threads_per_sm / device.warp_size : 0;
  device.max_blocks_per_sm = ask(cupti::kDeviceBlocksPerSm);
  device.registers_per_sm = ask(cupti::kDeviceRegistersPerSm);
  device.shared_bytes_per_sm = ask(cupti::kDeviceSharedPerSm);
  device.reserved_shared_bytes_per_block = ask(cupti::kDeviceReservedSharedPerBlock);

  auto uuid = driver<cupti::Code (*)(Uuid*, int)>("cuDeviceGetUuid_v2");
  if (uuid == nullptr) {
    uuid = driver<cupti::Code (*)(Uuid*, int)>("cuDeviceGetUuid");
  }
  Uuid id;
  if (uuid != nullptr && uuid(&id, handle) == cupti::kSuccess) {
    device.uuid = id.bytes;
  }
  return device;
}

void write_device(int ordinal, RecordFile& file) {
  const int handle = device_handle(ordinal);
  std::array<char, 128> name{};
  const auto get_name = driver<cupti::Code (*)(char*, int, int)>("cuDeviceGetName");
  if (get_name != nullptr) {
    (void)get_name(name.data(), static_cast<int>(name.size()) - 1, handle);
  }
  file.device(device_facts(ordinal), {name.data(), ::strnlen(name.data(), name.size())});
}

}  // namespace carpool::gpu::inject
