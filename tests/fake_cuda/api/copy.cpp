// Copies and sets.
#include "../driver/define.hpp"
#include "../driver/submit.hpp"

namespace fake_cuda {
namespace {

DevicePtr address_of(const void* host) {
  return reinterpret_cast<DevicePtr>(host);
}

Result copy_plain(DevicePtr target,
                  DevicePtr source,
                  std::size_t bytes,
                  Stream* stream,
                  Default meaning,
                  Wait wait) {
  if (bytes == 0) {
    return kSuccess;
  }
  if (target == 0 || source == 0) {
    return kInvalidValue;
  }
  return submit(stream, meaning, CopyTask{plain_copy(target, source, bytes)}, wait);
}

Result copy_cube(const Copy3D* copy, Stream* stream, Default meaning, Wait wait) {
  return copy == nullptr ? kInvalidValue : submit(stream, meaning, CopyTask{*copy}, wait);
}

Result copy_plane(const Copy2D* plane, Stream* stream, Default meaning, Wait wait) {
  if (plane == nullptr) {
    return kInvalidValue;
  }
  Copy3D copy{};
  copy.source_x = plane->source_x;
  copy.source_y = plane->source_y;
  copy.source_type = plane->source_type;
  copy.source_host = plane->source_host;
  copy.source_device = plane->source_device;
  copy.source_array = plane->source_array;
  copy.source_pitch = plane->source_pitch;
  copy.target_x = plane->target_x;
  copy.target_y = plane->target_y;
  copy.target_type = plane->target_type;
  copy.target_host = plane->target_host;
  copy.target_device = plane->target_device;
  copy.target_array = plane->target_array;
  copy.target_pitch = plane->target_pitch;
  copy.width = plane->width;
  copy.height = plane->height;
  copy.depth = 1;
  return submit(stream, meaning, CopyTask{copy}, wait);
}

// A batch needs a stream of its own kind: the default streams are refused.
Result copy_batch(const DevicePtr* targets,
                  const DevicePtr* sources,
                  const std::size_t* sizes,
                  std::size_t count,
                  Stream* stream,
                  Default meaning) {
  if (stream == nullptr || count == 0) {
    return kInvalidValue;
  }
  for (std::size_t number = 0; number < count; ++number) {
    const Result result =
        copy_plain(targets[number], sources[number], sizes[number], stream, meaning, Wait::No);
    if (result != kSuccess) {
      return result;
    }
  }
  return kSuccess;
}

Result set(const MemsetNodeParams& parameters, Stream* stream, Default meaning, Wait wait) {
  return parameters.target == 0 ? kInvalidValue
                                : submit(stream, meaning, SetTask{parameters}, wait);
}

}  // namespace

#define FAKE_CUDA_COPY(name, parameters, target, source) \
  FAKE_CUDA_DEFINE_TWINS(                                \
      name, _ptds, parameters, copy_plain(target, source, bytes, nullptr, kDefault, Wait::Yes))
#define FAKE_CUDA_COPY_ASYNC(name, parameters, target, source) \
  FAKE_CUDA_DEFINE_TWINS(                                      \
      name, _ptsz, parameters, copy_plain(target, source, bytes, stream, kDefault, Wait::No))

FAKE_CUDA_COPY(cuMemcpy, (DevicePtr to, DevicePtr from, std::size_t bytes), to, from)
FAKE_CUDA_COPY(cuMemcpyHtoD_v2,
               (DevicePtr to, const void* from, std::size_t bytes),
               to,
               address_of(from))
FAKE_CUDA_COPY(cuMemcpyDtoH_v2, (void* to, DevicePtr from, std::size_t bytes), address_of(to), from)
FAKE_CUDA_COPY(cuMemcpyDtoD_v2, (DevicePtr to, DevicePtr from, std::size_t bytes), to, from)
FAKE_CUDA_COPY(cuMemcpyPeer,
               (DevicePtr to, Context*, DevicePtr from, Context*, std::size_t bytes),
               to,
               from)
FAKE_CUDA_COPY_ASYNC(cuMemcpyAsync,
                     (DevicePtr to, DevicePtr from, std::size_t bytes, Stream* stream),
                     to,
                     from)
FAKE_CUDA_COPY_ASYNC(cuMemcpyHtoDAsync_v2,
                     (DevicePtr to, const void* from, std::size_t bytes, Stream* stream),
                     to,
                     address_of(from))
FAKE_CUDA_COPY_ASYNC(cuMemcpyDtoHAsync_v2,
                     (void* to, DevicePtr from, std::size_t bytes, Stream* stream),
                     address_of(to),
                     from)
FAKE_CUDA_COPY_ASYNC(cuMemcpyDtoDAsync_v2,
                     (DevicePtr to, DevicePtr from, std::size_t bytes, Stream* stream),
                     to,
                     from)
FAKE_CUDA_COPY_ASYNC(
    cuMemcpyPeerAsync,
    (DevicePtr to, Context*, DevicePtr from, Context*, std::size_t bytes, Stream* stream),
    to,
    from)
FAKE_CUDA_DEFINE_TWINS(cuMemcpy2D_v2,
                       _ptds,
                       (const Copy2D* copy),
                       copy_plane(copy, nullptr, kDefault, Wait::Yes))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy2DUnaligned_v2,
                       _ptds,
                       (const Copy2D* copy),
                       copy_plane(copy, nullptr, kDefault, Wait::Yes))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy2DAsync_v2,
                       _ptsz,
                       (const Copy2D* copy, Stream* stream),
                       copy_plane(copy, stream, kDefault, Wait::No))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy3D_v2,
                       _ptds,
                       (const Copy3D* copy),
                       copy_cube(copy, nullptr, kDefault, Wait::Yes))
FAKE_CUDA_DEFINE_TWINS(cuMemcpy3DAsync_v2,
                       _ptsz,
                       (const Copy3D* copy, Stream* stream),
                       copy_cube(copy, stream, kDefault, Wait::No))
// CUDA 13 left an argument out.
FAKE_CUDA_DEFINE_TWINS(cuMemcpyBatchAsync,
                       _ptsz,
                       (DevicePtr * to,
                        DevicePtr* from,
                        std::size_t* sizes,
                        std::size_t count,
                        CopyAttributes*,
                        std::size_t*,
                        std::size_t,
                        std::size_t*,
                        Stream* stream),
                       copy_batch(to, from, sizes, count, stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuMemcpyBatchAsync_v2,
                       _ptsz,
                       (DevicePtr * to,
                        DevicePtr* from,
                        std::size_t* sizes,
                        std::size_t count,
                        CopyAttributes*,
                        std::size_t*,
                        std::size_t,
                        Stream* stream),
                       copy_batch(to, from, sizes, count, stream, kDefault))

#define FAKE_CUDA_SET(name, plane_name, type, size)                                         \
  FAKE_CUDA_DEFINE_TWINS(name##_v2,                                                         \
                         _ptds,                                                             \
                         (DevicePtr to, type value, std::size_t count),                     \
                         set({to, 0, value, size, count, 1}, nullptr, kDefault, Wait::No))  \
  FAKE_CUDA_DEFINE_TWINS(name##Async,                                                       \
                         _ptsz,                                                             \
                         (DevicePtr to, type value, std::size_t count, Stream* stream),     \
                         set({to, 0, value, size, count, 1}, stream, kDefault, Wait::No))   \
  FAKE_CUDA_DEFINE_TWINS(                                                                   \
      plane_name##_v2,                                                                      \
      _ptds,                                                                                \
      (DevicePtr to, std::size_t pitch, type value, std::size_t width, std::size_t height), \
      set({to, pitch, value, size, width, height}, nullptr, kDefault, Wait::No))            \
  FAKE_CUDA_DEFINE_TWINS(plane_name##Async,                                                 \
                         _ptsz,                                                             \
                         (DevicePtr to,                                                     \
                          std::size_t pitch,                                                \
                          type value,                                                       \
                          std::size_t width,                                                \
                          std::size_t height,                                               \
                          Stream* stream),                                                  \
                         set({to, pitch, value, size, width, height}, stream, kDefault, Wait::No))
FAKE_CUDA_SET(cuMemsetD8, cuMemsetD2D8, unsigned char, 1)
FAKE_CUDA_SET(cuMemsetD16, cuMemsetD2D16, unsigned short, 2)
FAKE_CUDA_SET(cuMemsetD32, cuMemsetD2D32, unsigned, 4)

}  // namespace fake_cuda
