// Memory that another process opens, and arrays.
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include "../driver/define.hpp"
#include "../driver/memory.hpp"
#include "../driver/unsafe.hpp"

namespace fake_cuda {

struct MipmappedArray {
  DevicePtr memory = 0;
};

namespace {

// What a handle holds: where another process finds the pages.
struct Ticket {
  std::uint64_t magic = 0;
  std::int64_t pid = 0;
  std::int64_t file = 0;
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
};
static_assert(sizeof(Ticket) <= sizeof(IpcHandle));

constexpr std::uint64_t kTicketMagic = 0x6661'6b65'6375'6461;

Result offer(IpcHandle* handle, DevicePtr address) {
  const Guard guard = Driver::get().lock();
  const auto found = Heap::get().holding(address);
  if (!found || found->second.kind != MemoryKind::Device || found->second.offset < 0) {
    return kInvalidValue;
  }
  const Ticket ticket{
      kTicketMagic, ::getpid(), Heap::get().file(), found->second.offset, found->second.bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &ticket, sizeof ticket);
  return kSuccess;
}

Result open(DevicePtr* address, const IpcHandle& handle) {
  Ticket ticket;
  std::memcpy(static_cast<void*>(&ticket), handle.bytes.data(), sizeof ticket);
  if (ticket.magic != kTicketMagic) {
    return kInvalidHandle;
  }
  if (ticket.pid == ::getpid()) {
    return kInvalidContext;
  }
  const std::string path =
      "/proc/" + std::to_string(ticket.pid) + "/fd/" + std::to_string(ticket.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) {
    return kInvalidHandle;
  }
  const Guard guard = Driver::get().lock();
  *address = Heap::get().map_file(file, ticket.offset, ticket.bytes, MemoryKind::Imported);
  ::close(file);
  return *address == 0 ? kOutOfMemory : kSuccess;
}

Result close_handle(DevicePtr address) {
  const Guard guard = Driver::get().lock();
  const Allocation* allocation = Heap::get().starting_at(address);
  if (allocation == nullptr || allocation->kind != MemoryKind::Imported) {
    return kInvalidValue;
  }
  Heap::get().free(Driver::get(), address);
  return kSuccess;
}

std::size_t bytes_of_format(int format) {
  switch (format) {
    case 0x01:
    case 0x08:
      return 1;
    case 0x02:
    case 0x09:
    case 0x10:
      return 2;
    default:
      return 4;
  }
}

std::size_t layer_bytes(const Array3dDescriptor& shape) {
  return shape.width * shape.channels * bytes_of_format(shape.format) *
         std::max<std::size_t>(shape.height, 1) * std::max<std::size_t>(shape.depth, 1);
}

Result allocate(DevicePtr* memory, std::uint64_t bytes) {
  Driver& driver = Driver::get();
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  const Guard guard = driver.lock();
  if (const Result result = forbid_in_capture(driver); result != kSuccess) {
    return result;
  }
  *memory = Heap::get().allocate(driver, current_context()->device, bytes, MemoryKind::Device);
  return *memory == 0 ? kOutOfMemory : kSuccess;
}

void free_locked(DevicePtr memory) {
  const Guard guard = Driver::get().lock();
  Heap::get().free(Driver::get(), memory);
}

Result create_array(Array** array, const Array3dDescriptor& shape) {
  DevicePtr memory = 0;
  if (const Result result = allocate(&memory, layer_bytes(shape)); result != kSuccess) {
    return result;
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): a handle of the caller
  *array = new Array{shape, shape.width * shape.channels * bytes_of_format(shape.format), memory};
  return kSuccess;
}

Result create_plane(Array** array, const ArrayDescriptor* shape) {
  return shape == nullptr
             ? kInvalidValue
             : create_array(array,
                            {shape->width, shape->height, 0, shape->format, shape->channels, 0});
}

Result destroy_array(Array* array) {
  if (array == nullptr) {
    return kInvalidHandle;
  }
  free_locked(array->memory);
  delete array;  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

Result create_mipmap(MipmappedArray** array, Array3dDescriptor shape, unsigned levels) {
  std::uint64_t bytes = 0;
  for (unsigned level = 0; level < levels; ++level) {
    bytes += layer_bytes(shape);
    shape.width = std::max<std::size_t>(shape.width / 2, 1);
    shape.height /= 2;
    shape.depth /= 2;
  }
  DevicePtr memory = 0;
  if (const Result result = allocate(&memory, bytes); result != kSuccess) {
    return result;
  }
  *array = new MipmappedArray{memory};  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

Result destroy_mipmap(MipmappedArray* array) {
  if (array == nullptr) {
    return kInvalidHandle;
  }
  free_locked(array->memory);
  delete array;  // NOLINT(cppcoreguidelines-owning-memory)
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuIpcGetMemHandle, (IpcHandle * handle, DevicePtr address), offer(handle, address))
FAKE_CUDA_DEFINE(cuIpcOpenMemHandle,
                 (DevicePtr * address, IpcHandle handle, unsigned),
                 open(address, handle))
FAKE_CUDA_DEFINE(cuIpcOpenMemHandle_v2,
                 (DevicePtr * address, IpcHandle handle, unsigned),
                 open(address, handle))
FAKE_CUDA_DEFINE(cuIpcCloseMemHandle, (DevicePtr address), close_handle(address))
FAKE_CUDA_DEFINE(cuArrayCreate_v2,
                 (Array * *array, const ArrayDescriptor* shape),
                 create_plane(array, shape))
FAKE_CUDA_DEFINE(cuArray3DCreate_v2,
                 (Array * *array, const Array3dDescriptor* shape),
                 create_array(array, *shape))
FAKE_CUDA_DEFINE(cuArrayDestroy, (Array * array), destroy_array(array))
FAKE_CUDA_DEFINE(cuMipmappedArrayCreate,
                 (MipmappedArray * *array, const Array3dDescriptor* shape, unsigned levels),
                 create_mipmap(array, *shape, levels))
FAKE_CUDA_DEFINE(cuMipmappedArrayDestroy, (MipmappedArray * array), destroy_mipmap(array))

}  // namespace fake_cuda
