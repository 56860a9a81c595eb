// For probes j to m: a process with work behind a gate that is closed, beside which another one is
// timed.
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include "cuda.hpp"
#include "probes.hpp"
#include "shared_page.hpp"
#include "timing.hpp"

namespace probes {
namespace {

constexpr unsigned long long kLength = 5000;  // ns of a kernel
constexpr unsigned long long kLongNs = 2'000'000'000;
constexpr std::size_t kBytes = 1 << 20U;
// Fewer than the driver takes without waiting for the GPU, of all streams together.
constexpr int kMostQueued = 800;

// How the streams wait, and what they do behind that, as in "word-fill".
struct Kind {
  std::string_view how;
  std::string_view what;

  explicit Kind(std::string_view text)
      : how(text.substr(0, text.find('-'))),
        what(how.size() == text.size() ? "" : text.substr(how.size() + 1)) {}
};

class Behind {
 public:
  Behind(const char* ptx, int streams, Kind kind)
      : gpu_(ptx), streams_(static_cast<std::size_t>(streams)), kind_(kind) {
    NEED(cuMemAlloc(&memory_, 2 * kBytes));
    NEED(cuMemAllocHost(&pinned_, kBytes));
    NEED(cuEventCreate(&opened_first_, CU_EVENT_DISABLE_TIMING));
    for (CUstream& stream : streams_) {
      NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
  }

  // Kernel: a long one in front of the gate, so that the GPU changes between the processes while
  // the streams wait.
  void close() const {
    page_.words[0] = 1;
    page_.words[1] = 0;
    if (kind_.what == "kernel") {
      gpu_.launch_spin_to(streams_.front(), 1, kLongNs);
    }
    for (const CUstream stream : streams_) {
      wait(stream);
    }
  }

  // Returns how many kernels a stream has got.
  [[nodiscard]] int fill() const {
    const int streams = std::max(1, static_cast<int>(streams_.size()));
    const int count = std::min(100, kMostQueued / streams);
    for (const CUstream stream : streams_) {
      move_memory(stream);
      for (int i = 0; i < count; ++i) {
        launch(stream);
      }
      move_memory(stream);
      launch(stream);
    }
    return count;
  }

  // Launches go on while the gate is closed, one after the other.
  void launch_slowly() const {
    constexpr int kBetweenUs = 20;
    for (int i = 0; i < kMostQueued; ++i) {
      const CUstream stream = streams_[static_cast<std::size_t>(i) % streams_.size()];
      NEED(cuLaunchKernel(gpu_.empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
      for (const double end = now_ns() + 1e3 * kBetweenUs; now_ns() < end;) {
      }
    }
  }

  // Microseconds until all of it is done.
  double open() const {
    const double opened = now_ns();
    page_.words[0] = 0;
    NEED(cuCtxSynchronize());
    return (now_ns() - opened) / 1e3;
  }

 private:
  // Value: each for the gate. Event: for the first stream. Word: for a word that the first one
  // writes, and then for its event.
  void wait(CUstream stream) const {
    const bool is_first = stream == streams_.front();
    if (is_first || kind_.how == "value") {
      NEED(cuStreamWaitValue64(stream, word_, 0, CU_STREAM_WAIT_VALUE_EQ));
      NEED(cuEventRecord(opened_first_, stream));
      if (is_first && kind_.how == "word") {
        NEED(cuStreamWriteValue64(stream, written_, 1, 0));
      }
      return;
    }
    if (kind_.how == "word") {
      NEED(cuStreamWaitValue64(stream, written_, 1, CU_STREAM_WAIT_VALUE_GEQ));
    }
    NEED(cuStreamWaitEvent(stream, opened_first_, 0));
  }

  // Copy: on the GPU. Upload: to the GPU.
  void move_memory(CUstream stream) const {
    constexpr std::size_t kFewBytes = 4096;
    if (kind_.what == "copy") {
      NEED(cuMemcpyDtoDAsync(memory_, memory_ + kBytes, kBytes, stream));
    } else if (kind_.what == "upload") {
      NEED(cuMemcpyHtoDAsync(memory_, pinned_, kBytes, stream));
    } else if (kind_.what == "fill" || kind_.what == "small-fill") {
      NEED(cuMemsetD8Async(memory_, 0, kind_.what == "fill" ? kBytes : kFewBytes, stream));
    }
  }

  // Dependent: it may start before the one in front of it has ended.
  void launch(CUstream stream) const {
    unsigned long long length = kLength;
    void* parameters[] = {&length};
    if (kind_.what == "cooperative") {
      NEED(cuLaunchCooperativeKernel(gpu_.spin, 1, 1, 1, 128, 1, 1, 0, stream, parameters));
    } else if (kind_.what == "dependent") {
      CUlaunchAttribute attribute{};
      attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attribute.value.programmaticStreamSerializationAllowed = 1;
      const CUlaunchConfig config{.gridDimX = 1,
                                  .gridDimY = 1,
                                  .gridDimZ = 1,
                                  .blockDimX = 128,
                                  .blockDimY = 1,
                                  .blockDimZ = 1,
                                  .sharedMemBytes = 0,
                                  .hStream = stream,
                                  .attrs = &attribute,
                                  .numAttrs = 1};
      NEED(cuLaunchKernelEx(&config, gpu_.spin, parameters, nullptr));
    } else {
      gpu_.launch_spin_to(stream, 1, length);
    }
  }

  Gpu gpu_;
  std::vector<CUstream> streams_;
  Kind kind_;
  SharedPage page_{};
  CUdeviceptr word_ = page_.register_with_gpu();
  CUdeviceptr written_ = word_ + sizeof(page_.words[0]);
  CUdeviceptr memory_{};
  void* pinned_ = nullptr;
  CUevent opened_first_{};
};

// Whether standard input has ended, within so many milliseconds; negative: whenever it does.
bool input_ends(int within_ms) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  char byte = 0;
  return ::poll(&input, 1, within_ms) > 0 && ::read(STDIN_FILENO, &byte, 1) <= 0;
}

void say_ready() {
  std::printf("ready\n");
  std::fflush(stdout);
}

}  // namespace

// Kernels in so many streams behind a gate that is closed until standard input ends. `kind`: how
// the streams wait, and what they do: value, word, word-fill … With value-launches and
// word-launches the host goes on launching, and the gate opens whenever the streams have got
// enough.
int waiting(const char* ptx, int streams, const char* kind) {
  const Kind asked{kind};
  const Behind behind(ptx, streams, asked);
  behind.close();
  if (asked.what == "launches") {
    int turns = 0;
    for (say_ready(); !input_ends(0); ++turns) {
      behind.launch_slowly();
      behind.open();
      behind.close();
    }
    answer({{"turns", turns}, {"gate opened to end, us", behind.open()}});
    return 0;
  }
  const int queued = behind.fill();
  say_ready();
  while (!input_ends(-1)) {
  }
  answer({{"queued", queued}, {"gate opened to end, us", behind.open()}});
  return 0;
}

}  // namespace probes
