// Memory of the fake devices: pages of this process that hold what is copied there.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "../abi/types.hpp"

namespace fake_cuda {

class Driver;

enum class MemoryKind { Device, Managed, Async, Host, Registered, Imported, Reserved, Graph };

struct Allocation {
  MemoryKind kind = MemoryKind::Device;
  int gpu = 0;
  std::uint64_t bytes = 0;    // as asked for
  std::uint64_t charged = 0;  // to the device
  std::uint64_t mapped = 0;
  std::int64_t offset = -1;  // in the file of the heap; -1: not there
  Pool* pool = nullptr;
};

// The driver's lock guards it.
class Heap {
 public:
  static Heap& get();

  // Asks the device for the bytes. Null: it has not as much.
  DevicePtr allocate(Driver& driver, int gpu, std::uint64_t bytes, MemoryKind kind);
  // Pages that the device does not pay for.
  DevicePtr map_host(std::uint64_t bytes, MemoryKind kind);
  // Pages of a file, for example of another process.
  DevicePtr map_file(int descriptor, std::int64_t offset, std::uint64_t bytes, MemoryKind kind);
  void note(DevicePtr address, const Allocation& allocation) { all_[address] = allocation; }
  bool forget(DevicePtr address) { return all_.erase(address) > 0; }
  // False: no allocation starts there.
  bool free(Driver& driver, DevicePtr address);

  // The allocation that starts there, or that holds the address.
  Allocation* starting_at(DevicePtr address);
  std::optional<std::pair<DevicePtr, Allocation>> holding(DevicePtr address) const;
  // The file that holds all allocations of this process.
  [[nodiscard]] int file();

 private:
  std::map<DevicePtr, Allocation> all_;
  int file_ = -1;
  std::int64_t end_ = 0;
};

// Its memory is laid out row by row.
struct Array {
  Array3dDescriptor shape{};
  std::size_t pitch = 0;
  DevicePtr memory = 0;
};

// Gives an allocation back to the pool that it came from.
void free_async(Driver& driver, DevicePtr address);

// Charges a device, or gives back; keeps the counts.
bool charge(Driver& driver, int gpu, std::uint64_t bytes);
void discharge(Driver& driver, int gpu, std::uint64_t bytes);

}  // namespace fake_cuda
