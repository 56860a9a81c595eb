// Capture of streams.
#include "../driver/define.hpp"
#include "../driver/graph.hpp"

namespace fake_cuda {
namespace {

// What cuStreamGetCaptureInfo tells; a null pointer is not written to.
struct Answer {
  int* status = nullptr;
  std::uint64_t* id = nullptr;
  Graph** graph = nullptr;
  Node* const** after = nullptr;
  std::size_t* after_count = nullptr;
};

template <class Use>
Result with_capture(Stream* handle, Default meaning, const Use& use) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  Stream* stream = driver.find_stream(handle, meaning);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  return use(driver, *stream);
}

Result begin(Stream* handle, Default meaning, int mode) {
  return with_capture(handle, meaning, [&](Driver& driver, Stream& stream) {
    return Captures::get().begin(driver, stream, mode, nullptr, {});
  });
}

Result begin_to(Stream* handle,
                Default meaning,
                Graph* graph,
                Node* const* after,
                std::size_t count,
                int mode) {
  if (graph == nullptr || (after == nullptr && count > 0)) {
    return kInvalidValue;
  }
  return with_capture(handle, meaning, [&](Driver& driver, Stream& stream) {
    return Captures::get().begin(
        driver, stream, mode, graph, std::vector<Node*>(after, after + count));
  });
}

Result end(Stream* handle, Default meaning, Graph** graph) {
  return with_capture(handle, meaning, [&](Driver& driver, Stream& stream) {
    return Captures::get().end(driver, stream, graph);
  });
}

Result tell(Stream* handle, Default meaning, const Answer& answer) {
  return with_capture(handle, meaning, [&](Driver&, Stream& stream) {
    const Capture* capture = stream.capture.get();
    if (capture == nullptr) {
      *answer.status = kCaptureNone;
      return kSuccess;
    }
    *answer.status = capture->broken ? kCaptureBroken : kCaptureActive;
    if (answer.id != nullptr) {
      *answer.id = capture->id;
    }
    if (answer.graph != nullptr) {
      *answer.graph = capture->graph.get();
    }
    if (answer.after != nullptr) {
      *answer.after = stream.tail.data();
    }
    if (answer.after_count != nullptr) {
      *answer.after_count = stream.tail.size();
    }
    return kSuccess;
  });
}

// Before CUDA 12.3 an edge had no data.
Result tell_edges(Stream* handle, Default meaning, const Answer& answer, const EdgeData** edges) {
  if (edges != nullptr) {
    *edges = nullptr;
  }
  return tell(handle, meaning, answer);
}

Result exchange_mode(int* mode) {
  if (mode == nullptr || *mode < kCaptureGlobal || *mode > kCaptureRelaxed) {
    return kInvalidValue;
  }
  std::swap(*mode, thread_capture_mode());
  return kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE_TWINS(cuStreamBeginCapture,
                       _ptsz,
                       (Stream * stream),
                       begin(stream, kDefault, kCaptureGlobal))
FAKE_CUDA_DEFINE_TWINS(cuStreamBeginCapture_v2,
                       _ptsz,
                       (Stream * stream, int mode),
                       begin(stream, kDefault, mode))
FAKE_CUDA_DEFINE_TWINS(cuStreamBeginCaptureToGraph,
                       _ptsz,
                       (Stream * stream,
                        Graph* graph,
                        Node* const* after,
                        const EdgeData*,
                        std::size_t count,
                        int mode),
                       begin_to(stream, kDefault, graph, after, count, mode))
FAKE_CUDA_DEFINE_TWINS(cuStreamEndCapture,
                       _ptsz,
                       (Stream * stream, Graph** graph),
                       end(stream, kDefault, graph))
FAKE_CUDA_DEFINE_TWINS(cuStreamIsCapturing,
                       _ptsz,
                       (Stream * stream, int* status),
                       tell(stream, kDefault, {.status = status}))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetCaptureInfo,
                       _ptsz,
                       (Stream * stream, int* status, std::uint64_t* id),
                       tell(stream, kDefault, {.status = status, .id = id}))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetCaptureInfo_v2,
                       _ptsz,
                       (Stream * stream,
                        int* status,
                        std::uint64_t* id,
                        Graph** graph,
                        Node* const** after,
                        std::size_t* count),
                       tell(stream, kDefault, {status, id, graph, after, count}))
FAKE_CUDA_DEFINE_TWINS(cuStreamGetCaptureInfo_v3,
                       _ptsz,
                       (Stream * stream,
                        int* status,
                        std::uint64_t* id,
                        Graph** graph,
                        Node* const** after,
                        const EdgeData** edges,
                        std::size_t* count),
                       tell_edges(stream, kDefault, {status, id, graph, after, count}, edges))
FAKE_CUDA_DEFINE(cuThreadExchangeStreamCaptureMode, (int* mode), exchange_mode(mode))

}  // namespace fake_cuda
