// Copies of arrays and between devices, and prefetches, which move nothing here.
#include "../driver/define.hpp"
#include "../driver/memory.hpp"
#include "../driver/submit.hpp"

namespace fake_cuda {
namespace {

// An end of a copy: an address, or an offset in an array of one row.
struct End {
  Array* array = nullptr;
  std::size_t offset = 0;
  DevicePtr address = 0;
};

End at(DevicePtr address) {
  return {nullptr, 0, address};
}

End at(const void* host) {
  return {nullptr, 0, reinterpret_cast<DevicePtr>(host)};
}

End in(Array* array, std::size_t offset) {
  return {array, offset, 0};
}

Result copy_ends(const End& target,
                 const End& source,
                 std::size_t bytes,
                 Stream* stream,
                 Default meaning,
                 Wait wait) {
  Copy3D copy = plain_copy(target.address, source.address, bytes);
  if (target.array != nullptr) {
    copy.target_type = kMemoryArray;
    copy.target_array = target.array;
    copy.target_x = target.offset;
  }
  if (source.array != nullptr) {
    copy.source_type = kMemoryArray;
    copy.source_array = source.array;
    copy.source_x = source.offset;
  }
  const bool known = (target.array != nullptr || target.address != 0) &&
                     (source.array != nullptr || source.address != 0);
  return known ? submit(stream, meaning, CopyTask{copy}, wait) : kInvalidValue;
}

// The contexts of both ends are where an ordinary copy has nothing.
Result copy_peer(const Copy3D* copy, Stream* stream, Default meaning, Wait wait) {
  return copy == nullptr ? kInvalidValue : submit(stream, meaning, CopyTask{*copy}, wait);
}

Result prefetch(DevicePtr address, std::size_t bytes, Stream* stream, Default meaning) {
  {
    const Guard guard = Driver::get().lock();
    const auto found = Heap::get().holding(address);
    if (!found || found->second.kind != MemoryKind::Managed || bytes == 0) {
      return kInvalidValue;
    }
  }
  return submit(stream, meaning, EmptyTask{});
}

}  // namespace

#define FAKE_CUDA_ARRAY_COPY(name, parameters, target, source) \
  FAKE_CUDA_DEFINE_TWINS(                                      \
      name, _ptds, parameters, copy_ends(target, source, bytes, nullptr, kDefault, Wait::Yes))
#define FAKE_CUDA_ARRAY_COPY_ASYNC(name, parameters, target, source) \
  FAKE_CUDA_DEFINE_TWINS(                                            \
      name, _ptsz, parameters, copy_ends(target, source, bytes, stream, kDefault, Wait::No))

FAKE_CUDA_ARRAY_COPY(cuMemcpyHtoA_v2,
                     (Array * to, std::size_t offset, const void* from, std::size_t bytes),
                     in(to, offset),
                     at(from))
FAKE_CUDA_ARRAY_COPY(cuMemcpyDtoA_v2,
                     (Array * to, std::size_t offset, DevicePtr from, std::size_t bytes),
                     in(to, offset),
                     at(from))
FAKE_CUDA_ARRAY_COPY(cuMemcpyAtoD_v2,
                     (DevicePtr to, Array* from, std::size_t offset, std::size_t bytes),
                     at(to),
                     in(from, offset))
FAKE_CUDA_ARRAY_COPY(cuMemcpyAtoH_v2,
                     (void* to, Array* from, std::size_t offset, std::size_t bytes),
                     at(to),
                     in(from, offset))
FAKE_CUDA_ARRAY_COPY(
    cuMemcpyAtoA_v2,
    (Array * to, std::size_t to_offset, Array* from, std::size_t from_offset, std::size_t bytes),
    in(to, to_offset),
    in(from, from_offset))
FAKE_CUDA_ARRAY_COPY_ASYNC(
    cuMemcpyHtoAAsync_v2,
    (Array * to, std::size_t offset, const void* from, std::size_t bytes, Stream* stream),
    in(to, offset),
    at(from))
FAKE_CUDA_ARRAY_COPY_ASYNC(
    cuMemcpyAtoHAsync_v2,
    (void* to, Array* from, std::size_t offset, std::size_t bytes, Stream* stream),
    at(to),
    in(from, offset))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy3DPeer,
                       _ptds,
                       (const Copy3D* copy),
                       copy_peer(copy, nullptr, kDefault, Wait::Yes))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy3DPeerAsync,
                       _ptsz,
                       (const Copy3D* copy, Stream* stream),
                       copy_peer(copy, stream, kDefault, Wait::No))
FAKE_CUDA_DEFINE_TWINS(cuMemPrefetchAsync,
                       _ptsz,
                       (DevicePtr address, std::size_t bytes, int, Stream* stream),
                       prefetch(address, bytes, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuMemPrefetchAsync_v2,
                       _ptsz,
                       (DevicePtr address, std::size_t bytes, Location, unsigned, Stream* stream),
                       prefetch(address, bytes, stream, kDefault))

}  // namespace fake_cuda
