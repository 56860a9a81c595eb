// Probe j: a stream that waits for a word of shared memory, so that the host could launch ahead of
// a gate that another process opens: what such a wait costs, how soon the GPU goes on, and whether
// other streams and other processes go on meanwhile.
#include <string_view>
#include <unistd.h>

#include "cuda.hpp"
#include "probes.hpp"
#include "shared_page.hpp"
#include "timing.hpp"

namespace probes {
namespace {

constexpr unsigned long long kLength = 5000;  // ns of a kernel
constexpr int kTimes = 300;

void wait_until_zero(CUstream stream, CUdeviceptr word) {
  NEED(cuStreamWaitValue64(stream, word, 0, CU_STREAM_WAIT_VALUE_EQ));
}

// Microseconds from `begin` to the end of a kernel, as the host sees it.
template <class Prepare, class Begin>
std::vector<double> times_to_end(const Gpu& gpu, const Prepare& prepare, const Begin& begin) {
  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) {
    prepare();
    sleep_us(500 + 37 * (i % 16));
    const double began = now_ns();
    begin();
    gpu.wait();
    times.push_back((now_ns() - began) / 1e3);
  }
  return times;
}

// Of `count` other streams, how many finish a kernel while one stream waits.
int streams_that_go_on(const Gpu& gpu, const SharedPage& page, CUdeviceptr word, int count) {
  std::vector<CUstream> streams(static_cast<std::size_t>(count));
  for (CUstream& stream : streams) {
    NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  page.words[0] = 1;
  wait_until_zero(gpu.stream, word);
  gpu.launch_spin(1, kLength);
  for (const CUstream stream : streams) {
    NEED(cuLaunchKernel(gpu.empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr));
  }
  sleep_us(100'000);
  int done = 0;
  for (const CUstream stream : streams) {
    done += cuStreamQuery(stream) == CUDA_SUCCESS ? 1 : 0;
  }
  page.words[0] = 0;
  NEED(cuCtxSynchronize());
  for (const CUstream stream : streams) {
    NEED(cuStreamDestroy(stream));
  }
  return done;
}

}  // namespace

int probe_j(const char* ptx) {
  constexpr int kStreams = 32;
  const Gpu gpu(ptx);
  const SharedPage page;
  const CUdeviceptr word = page.register_with_gpu();
  wait_until_zero(gpu.stream, word);
  gpu.launch_spin(1, kLength);
  gpu.wait();
  const auto launch = [&] { gpu.launch_spin(1, kLength); };
  const auto close = [&] {
    page.words[0] = 1;
    wait_until_zero(gpu.stream, word);
    launch();
  };
  const std::vector<double> launched = times_to_end(gpu, [] {}, launch);
  const std::vector<double> opened = times_to_end(gpu, close, [&] { page.words[0] = 0; });
  const double plain = gpu_us(gpu, [](int) {});
  const auto with_gates = [&](int kernels_between) {
    return gpu_us(gpu, [&](int i) {
      if (i % kernels_between == 0) {
        wait_until_zero(gpu.stream, word);
      }
    });
  };
  answer({
      {"call, ns", cost(gpu, [&] { wait_until_zero(gpu.stream, word); })},
      {"gpu, us for each open gate", with_gates(1) - plain},
      {"gpu, us for an open gate before every tenth kernel", 10 * (with_gates(10) - plain)},
      {"launch to end p50, us", quantile(launched, 0.5)},
      {"launch to end p99, us", quantile(launched, 0.99)},
      {"gate opened to end p50, us", quantile(opened, 0.5)},
      {"gate opened to end p99, us", quantile(opened, 0.99)},
      {"other streams", kStreams},
      {"other streams that go on", streams_that_go_on(gpu, page, word, kStreams)},
  });
  return 0;
}

namespace {

// What a process has behind a gate that is closed.
class Behind {
 public:
  explicit Behind(const char* ptx) : gpu_(ptx) {
    page_.words[0] = 1;
    page_.words[1] = 0;
    NEED(cuMemAlloc(&memory_, 2 * kBytes));
    NEED(cuMemAllocHost(&pinned_, kBytes));
    NEED(cuEventCreate(&opened_first_, CU_EVENT_DISABLE_TIMING));
  }

  // `how` the other streams wait: value, each for the gate; event, for the first stream; word, for
  // a word that the first one writes, and then for its event.
  void wait(int number, CUstream stream, std::string_view how) const {
    if (number == 0 || how == "value") {
      wait_until_zero(stream, word_);
      NEED(cuEventRecord(opened_first_, stream));
      if (number == 0 && how == "word") {
        NEED(cuStreamWriteValue64(stream, written_, 1, 0));
      }
      return;
    }
    if (how == "word") {
      NEED(cuStreamWaitValue64(stream, written_, 1, CU_STREAM_WAIT_VALUE_GEQ));
    }
    NEED(cuStreamWaitEvent(stream, opened_first_, 0));
  }

  // A kernel that runs while the other process starts, and ends while that is being timed.
  void launch_long(CUstream stream) const { gpu_.launch_spin_to(stream, 1, kLongNs); }

  // `what` the stream does: copy, on the GPU; upload, to the GPU; fill, or small-fill.
  void move_memory(CUstream stream, std::string_view what) const {
    constexpr std::size_t kFewBytes = 4096;
    if (what == "copy") {
      NEED(cuMemcpyDtoDAsync(memory_, memory_ + kBytes, kBytes, stream));
    } else if (what == "upload") {
      NEED(cuMemcpyHtoDAsync(memory_, pinned_, kBytes, stream));
    } else if (what == "fill" || what == "small-fill") {
      NEED(cuMemsetD8Async(memory_, 0, what == "fill" ? kBytes : kFewBytes, stream));
    }
  }

  void launch(CUstream stream, int count) const {
    for (int i = 0; i < count; ++i) {
      gpu_.launch_spin_to(stream, 1, kLength);
    }
  }

  // Microseconds until all of it is done.
  double open() const {
    const double opened = now_ns();
    page_.words[0] = 0;
    NEED(cuCtxSynchronize());
    return (now_ns() - opened) / 1e3;
  }

  [[nodiscard]] CUstream first_stream() const { return gpu_.stream; }

 private:
  static constexpr std::size_t kBytes = 1 << 20U;
  static constexpr unsigned long long kLongNs = 2'000'000'000;

  Gpu gpu_;
  SharedPage page_{};
  CUdeviceptr word_ = page_.register_with_gpu();
  CUdeviceptr written_ = word_ + sizeof(page_.words[0]);
  CUdeviceptr memory_{};
  void* pinned_ = nullptr;
  CUevent opened_first_{};
};

}  // namespace

// Kernels in so many streams behind a gate that is closed until standard input ends. `kind`: how
// the streams wait, and what they do in front of and behind their kernels: value, word, word-fill …
// word-kernel: the first one has a long kernel in front of the gate, so that the GPU changes
// between the processes while the streams wait.
int waiting(const char* ptx, int streams, const char* kind) {
  const std::string_view asked = kind;
  const std::size_t end_of_how = asked.find('-');
  const std::string_view how = asked.substr(0, end_of_how);
  const std::string_view what =
      end_of_how == std::string_view::npos ? "" : asked.substr(end_of_how + 1);
  // Fewer than the driver takes without waiting for the GPU.
  const int queued = streams > 8 ? 800 / streams : 100;
  const Behind behind(ptx);
  for (int number = 0; number < streams; ++number) {
    CUstream stream = behind.first_stream();
    if (number > 0) {
      NEED(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    }
    if (number == 0 && what == "kernel") {
      behind.launch_long(stream);
    }
    behind.wait(number, stream, how);
    behind.move_memory(stream, what);
    behind.launch(stream, queued);
    behind.move_memory(stream, what);
    behind.launch(stream, 1);
  }
  std::printf("ready\n");
  std::fflush(stdout);
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) > 0) {
  }
  answer({{"queued", queued}, {"gate opened to end, us", behind.open()}});
  return 0;
}

}  // namespace probes
