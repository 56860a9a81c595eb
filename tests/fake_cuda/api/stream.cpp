// Streams: making them, waiting for them, and values that they write and wait for.
#include "../driver/define.hpp"
#include "../driver/graph.hpp"

namespace fake_cuda {
namespace {

Result create_stream(Stream** stream, unsigned flags, int priority) {
  Driver& driver = Driver::get();
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  if (flags > kNonBlocking) {
    return kInvalidValue;
  }
  const Guard guard = driver.lock();
  *stream = driver.make_stream(*current_context(), flags, priority);
  return kSuccess;
}

// Calls the function with the stream of the handle, under the lock.
template <class Use>
Result with_stream(Stream* handle, Default meaning, const Use& use) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  Stream* stream = driver.find_stream(handle, meaning);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  return use(driver, guard, *stream);
}

Result query_stream(Stream* handle, Default meaning) {
  return with_stream(handle, meaning, [](Driver& driver, Guard& guard, Stream& stream) {
    if (const Result result = Captures::get().forbid_for_stream(driver, stream);
        result != kSuccess) {
      return result;
    }
    driver.poll(guard);
    return stream.queue.empty() ? kSuccess : kNotReady;
  });
}

Result synchronize_stream(Stream* handle, Default meaning) {
  return with_stream(handle, meaning, [](Driver& driver, Guard& guard, Stream& stream) {
    if (const Result result = Captures::get().forbid_for_stream(driver, stream);
        result != kSuccess) {
      return result;
    }
    driver.counts().add(Count::synchronizations);
    std::vector<Point> points{stream.end()};
    if (stream.legacy) {
      for (const auto& other : stream.context->streams) {
        if ((other->flags & kNonBlocking) == 0 && !other->queue.empty()) {
          points.push_back(other->end());
        }
      }
    }
    driver.wait_for(guard, points);
    return kSuccess;
  });
}

Result priority_of(Stream* handle, Default meaning, int* priority) {
  return with_stream(handle, meaning, [&](Driver&, Guard&, const Stream& stream) {
    *priority = stream.priority;
    return kSuccess;
  });
}

Result flags_of_stream(Stream* handle, Default meaning, unsigned* flags) {
  return with_stream(handle, meaning, [&](Driver&, Guard&, const Stream& stream) {
    *flags = stream.flags;
    return kSuccess;
  });
}

Result context_of(Stream* handle, Default meaning, Context** context) {
  return with_stream(handle, meaning, [&](Driver&, Guard&, const Stream& stream) {
    *context = stream.context;
    return kSuccess;
  });
}

Result contexts_of(Stream* handle, Default meaning, Context** context, GreenContext** green) {
  return with_stream(handle, meaning, [&](Driver& driver, Guard&, const Stream& stream) {
    *green = stream.context->green.get();
    *context = *green == nullptr ? stream.context : &driver.primary(stream.context->device);
    return kSuccess;
  });
}

Result id_of_stream(Stream* handle, Default meaning, unsigned long long* id) {
  return with_stream(handle, meaning, [&](Driver&, Guard&, const Stream& stream) {
    *id = stream.id;
    return kSuccess;
  });
}

Result destroy(Stream* stream) {
  const Guard guard = Driver::get().lock();
  if (Driver::get().knows(stream)) {
    Captures::get().leave(Driver::get(), *stream);
  }
  return Driver::get().destroy_stream(stream);
}

Result value(Stream* stream, Default meaning, const ValueTask& task) {
  return task.address == 0 ? kInvalidValue : submit(stream, meaning, task);
}

}  // namespace

FAKE_CUDA_DEFINE(cuStreamCreate,
                 (Stream * *stream, unsigned flags),
                 create_stream(stream, flags, 0))
FAKE_CUDA_DEFINE(cuStreamCreateWithPriority,
                 (Stream * *stream, unsigned flags, int priority),
                 create_stream(stream, flags, priority))
FAKE_CUDA_DEFINE(cuStreamDestroy, (Stream * stream), destroy(stream))
FAKE_CUDA_DEFINE(cuStreamDestroy_v2, (Stream * stream), destroy(stream))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetPriority,
                       _ptsz,
                       (Stream * stream, int* priority),
                       priority_of(stream, kDefault, priority))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetFlags,
                       _ptsz,
                       (Stream * stream, unsigned* flags),
                       flags_of_stream(stream, kDefault, flags))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetCtx,
                       _ptsz,
                       (Stream * stream, Context** context),
                       context_of(stream, kDefault, context))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetCtx_v2,
                       _ptsz,
                       (Stream * stream, Context** context, GreenContext** green),
                       contexts_of(stream, kDefault, context, green))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetId,
                       _ptsz,
                       (Stream * stream, unsigned long long* id),
                       id_of_stream(stream, kDefault, id))
FAKE_CUDA_DEFINE_TWINS(cuStreamQuery, _ptsz, (Stream * stream), query_stream(stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuStreamSynchronize,
                       _ptsz,
                       (Stream * stream),
                       synchronize_stream(stream, kDefault))
FAKE_CUDA_DEFINE_TWINS(cuStreamAddCallback,
                       _ptsz,
                       (Stream * stream, StreamCallback function, void* data, unsigned),
                       submit(stream, kDefault, CallbackTask{function, stream, data}))

#define FAKE_CUDA_VALUE(name, number, wide, waits)                                          \
  FAKE_CUDA_DEFINE_TWINS(name,                                                              \
                         _ptsz,                                                             \
                         (Stream * stream, DevicePtr address, number word, unsigned flags), \
                         value(stream, kDefault, {address, word, flags, wide, waits}))
FAKE_CUDA_VALUE(cuStreamWriteValue32, std::uint32_t, false, false)
FAKE_CUDA_VALUE(cuStreamWriteValue32_v2, std::uint32_t, false, false)
FAKE_CUDA_VALUE(cuStreamWriteValue64, std::uint64_t, true, false)
FAKE_CUDA_VALUE(cuStreamWriteValue64_v2, std::uint64_t, true, false)
FAKE_CUDA_VALUE(cuStreamWaitValue32, std::uint32_t, false, true)
FAKE_CUDA_VALUE(cuStreamWaitValue32_v2, std::uint32_t, false, true)
FAKE_CUDA_VALUE(cuStreamWaitValue64, std::uint64_t, true, true)
FAKE_CUDA_VALUE(cuStreamWaitValue64_v2, std::uint64_t, true, true)

}  // namespace fake_cuda
