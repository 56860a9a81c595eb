// Workloads that each stress one resource of a GPU, with a fixed number of blocks and threads.
//
// Each block does the same work, regardless of the number of blocks: a sweep over blocks and threads
// changes the share of the GPU in use, but hardly the time of a launch. Equal arguments give equal work:
// nothing is calibrated at the start.

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mma.h>
#include <string>
#include <string_view>

#include "step_file.h"

namespace {

constexpr int kChains = 8;                  // independent multiply-adds in flight in a thread
constexpr int kFragments = 4;               // independent matrix products in flight in a warp
constexpr std::size_t kL2Stagger = 12'344;  // vectors, whole cache lines
constexpr int kWarmUpSteps = 3;
constexpr int kBlocksPerSm = 4;  // where --blocks is not given

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "micro: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(status == cudaErrorMemoryAllocation ? 3 : 1);
  }
}

// Never true, but unknown to the compiler, which therefore keeps the computation.
__device__ bool keep(float value) {
  return value == 1234.5F;
}

__global__ void compute(float* sink, int iterations) {
  float chain[kChains];
  for (int i = 0; i < kChains; ++i) {
    chain[i] = static_cast<float>(threadIdx.x + i);
  }
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) {
      chain[i] = fmaf(chain[i], 0.999F, 0.001F);
    }
  }
  float sum = 0;
  for (float value : chain) {
    sum += value;
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

__global__ void tensor(float* sink, int iterations) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c[kFragments];
  wmma::fill_fragment(a, __float2bfloat16(0.001F));
  wmma::fill_fragment(b, __float2bfloat16(0.001F));
  // Different sums that are all used: the compiler would remove equal or unused ones.
#pragma unroll
  for (int i = 0; i < kFragments; ++i) {
    wmma::fill_fragment(c[i], static_cast<float>(threadIdx.x + i));
  }
  for (int n = 0; n < iterations; ++n) {
#pragma unroll
    for (int i = 0; i < kFragments; ++i) {
      wmma::mma_sync(c[i], a, b, c[i]);
    }
  }
  float sum = 0.0F;
  for (auto& fragment : c) {
    for (int i = 0; i < fragment.num_elements; ++i) {
      sum += fragment.x[i];
    }
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

// Each block copies `chunk` vectors after those of the previous launch, so that no cache has them. The
// size of the buffer is a power of two; `mask` is one less.
__global__ void dram(const float4* __restrict__ from,
                     float4* __restrict__ to,
                     std::size_t mask,
                     std::size_t first,
                     std::size_t chunk) {
  const std::size_t begin = first + blockIdx.x * chunk;
#pragma unroll 4
  for (std::size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
    const std::size_t place = (begin + i) & mask;
    to[place] = from[place];
  }
}

// Each block reads `chunk` vectors of a buffer that stays in L2, bypassing L1, from its own offset.
__global__ void l2(const float4* __restrict__ from,
                   float* sink,
                   std::size_t mask,
                   std::size_t chunk) {
  const std::size_t begin = blockIdx.x * kL2Stagger;
  float sum = 0;
#pragma unroll 4
  for (std::size_t i = threadIdx.x; i < chunk; i += blockDim.x) {
    const float4 value = __ldcg(from + ((begin + i) & mask));
    sum += value.x + value.y + value.z + value.w;
  }
  if (keep(sum)) {
    *sink = sum;
  }
}

__global__ void nearly_nothing(float* sink) {
  if (keep(static_cast<float>(threadIdx.x))) {
    *sink = 0;
  }
}

// The defaults of a kind, and its unit of work.
struct Kind {
  std::string_view name;
  int launches;       // of one step
  int iterations;     // of a thread's loop: compute and tensor
  std::size_t mib;    // of a buffer: dram and l2
  std::size_t chunk;  // 16-byte vectors of a block and launch: dram and l2
  std::string_view unit;
  std::string_view about;
};

constexpr std::array kKinds{
    Kind{"compute", 10, 20'000, 0, 0, "GFLOP", "fp32 multiply-adds in registers"},
    Kind{"tensor", 10, 4'000, 0, 0, "GFLOP", "bf16 products of 16 x 16 matrices in registers"},
    Kind{"dram", 12, 0, 1024, 128 << 10, "GB", "copies between two buffers"},
    Kind{"l2", 12, 0, 16, 512 << 10, "GB", "reads of a buffer that stays in L2"},
    Kind{"launch", 2000, 0, 0, 0, "launches", "launches of a kernel that does nothing"},
};

struct Options {
  Kind kind = kKinds[0];
  int blocks = 0;
  int threads = 256;
  long steps = 0;
  double seconds = 5;
};

[[noreturn]] void usage(const char* complaint) {
  std::FILE* out = complaint != nullptr ? stderr : stdout;
  if (complaint != nullptr) {
    std::fprintf(out, "micro: %s\n", complaint);
  }
  std::fputs(
      "Usage: micro --kind KIND [--blocks N] [--threads N] [--launches N] [--iterations N]\n"
      "             [--mib N] [--seconds S | --steps N]\n"
      "A step is so many launches; each block does the same work however many there are. Watched\n"
      "(CARPOOL_STEP_FILE), it runs until told to end; else for --seconds (5) or --steps, and\n"
      "prints one line of JSON. --blocks is 4 for each SM where not given.\nKinds:\n",
      out);
  for (const Kind& kind : kKinds) {
    std::fprintf(out, "  %-8s %s\n", kind.name.data(), kind.about.data());
  }
  std::exit(complaint != nullptr ? 2 : 0);
}

template <class Number>
Number number(std::string_view option, std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0) {
    const std::string complaint =
        std::string(option) + " " + std::string(text) + ": expected a number above 0";
    usage(complaint.c_str());
  }
  return value;
}

Kind kind_named(std::string_view name) {
  for (const Kind& kind : kKinds) {
    if (kind.name == name) {
      return kind;
    }
  }
  usage(("no kind " + std::string(name)).c_str());
}

// The kind first: other options change its defaults.
Kind find_kind(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    if (std::string_view(words[i]) == "--help" || std::string_view(words[i]) == "-h") {
      usage(nullptr);
    }
    if (std::string_view(words[i]) == "--kind" && i + 1 < count) {
      return kind_named(words[i + 1]);
    }
  }
  usage("--kind is missing");
}

Options parse(int count, char** words) {
  Options options;
  options.kind = find_kind(count, words);
  for (int i = 1; i < count; i += 2) {
    const std::string_view option = words[i];
    if (i + 1 == count) {
      usage((std::string(option) + " needs a value").c_str());
    }
    const std::string_view value = words[i + 1];
    if (option == "--kind") {
      continue;
    }
    if (option == "--blocks") {
      options.blocks = number<int>(option, value);
    } else if (option == "--threads") {
      options.threads = number<int>(option, value);
    } else if (option == "--launches") {
      options.kind.launches = number<int>(option, value);
    } else if (option == "--iterations") {
      options.kind.iterations = number<int>(option, value);
    } else if (option == "--mib") {
      options.kind.mib = number<std::size_t>(option, value);
    } else if (option == "--seconds") {
      options.seconds = number<double>(option, value);
    } else if (option == "--steps") {
      options.steps = number<long>(option, value);
    } else {
      usage(("unknown option " + std::string(option)).c_str());
    }
  }
  if (options.kind.name == "tensor" && options.threads % 32 != 0) {
    usage("--kind tensor works in warps: --threads must be a multiple of 32");
  }
  if (!std::has_single_bit(options.kind.mib) && options.kind.mib != 0) {
    usage("--mib must be a power of two");
  }
  return options;
}

class Micro {
 public:
  explicit Micro(const Options& options) : kind_(options.kind), threads_(options.threads) {
    check(cudaDeviceGetAttribute(&sms_, cudaDevAttrMultiProcessorCount, 0), "counting the SMs");
    blocks_ = options.blocks != 0 ? options.blocks : kBlocksPerSm * sms_;
    check(cudaMalloc(&sink_, sizeof(float)), "allocating a word");
    if (kind_.mib != 0) {
      const std::size_t bytes = kind_.mib << 20;
      vectors_ = bytes / sizeof(float4);
      check(cudaMalloc(&from_, bytes), "allocating the buffer");
      check(cudaMemset(from_, 0, bytes), "filling the buffer");
      if (kind_.name == "dram") {
        check(cudaMalloc(&to_, bytes), "allocating the second buffer");
      }
    }
  }
  Micro(const Micro&) = delete;
  Micro& operator=(const Micro&) = delete;
  ~Micro() {
    cudaFree(sink_);
    cudaFree(from_);
    cudaFree(to_);
  }

  void step() {
    for (int i = 0; i < kind_.launches; ++i) {
      launch();
    }
    check(cudaGetLastError(), "launching");
  }

  // The work of one step, in units of its kind.
  [[nodiscard]] double units() const {
    const double launches = kind_.launches;
    const double all_threads = static_cast<double>(blocks_) * threads_;
    if (kind_.name == "compute") {
      return launches * all_threads * kind_.iterations * kChains * 2 / 1e9;
    }
    if (kind_.name == "tensor") {
      return launches * all_threads / 32 * kind_.iterations * kFragments * (2.0 * 16 * 16 * 16) /
             1e9;
    }
    const double bytes =
        launches * blocks_ * static_cast<double>(kind_.chunk) * sizeof(float4) / 1e9;
    if (kind_.name == "dram") {
      return 2 * bytes;  // read and written
    }
    return kind_.name == "l2" ? bytes : launches;
  }

  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int sms() const { return sms_; }

 private:
  void launch() {
    if (kind_.name == "compute") {
      compute<<<blocks_, threads_>>>(sink_, kind_.iterations);
    } else if (kind_.name == "tensor") {
      tensor<<<blocks_, threads_>>>(sink_, kind_.iterations);
    } else if (kind_.name == "dram") {
      dram<<<blocks_, threads_>>>(from_, to_, vectors_ - 1, first_, kind_.chunk);
      first_ = (first_ + static_cast<std::size_t>(blocks_) * kind_.chunk) % vectors_;
    } else if (kind_.name == "l2") {
      l2<<<blocks_, threads_>>>(from_, sink_, vectors_ - 1, kind_.chunk);
    } else {
      nearly_nothing<<<blocks_, threads_>>>(sink_);
    }
  }

  Kind kind_;
  int threads_;
  int blocks_ = 0;
  int sms_ = 0;
  std::size_t vectors_ = 0;
  std::size_t first_ = 0;
  float* sink_ = nullptr;
  float4* from_ = nullptr;
  float4* to_ = nullptr;
};

// Two steps in flight, so that the GPU never waits for the next one.
class Pipeline {
 public:
  explicit Pipeline(carpool::StepFile& steps) : steps_(steps) {
    for (cudaEvent_t& event : events_) {
      check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "creating an event");
    }
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    for (cudaEvent_t event : events_) {
      cudaEventDestroy(event);
    }
  }

  // Called after queueing a step. False: end.
  [[nodiscard]] bool queued() {
    check(cudaEventRecord(events_[queued_ % events_.size()]), "recording an event");
    ++queued_;
    if (queued_ - done_ == events_.size()) {
      await_oldest();
    }
    return steps_.obey([this] { drain(); });
  }

  void drain() {
    while (done_ != queued_) {
      await_oldest();
    }
  }

 private:
  void await_oldest() {
    check(cudaEventSynchronize(events_[done_ % events_.size()]), "waiting for a step");
    ++done_;
    steps_.publish();
  }

  carpool::StepFile& steps_;
  std::array<cudaEvent_t, 2> events_{};
  std::size_t queued_ = 0;
  std::size_t done_ = 0;
};

void print_result(const Options& options, const Micro& micro, long steps, double seconds) {
  const double rate = static_cast<double>(steps) / seconds;
  std::printf(
      "{\"kind\": \"%s\", \"blocks\": %d, \"threads\": %d, \"sms\": %d, \"steps\": %ld, "
      "\"seconds\": %.6f, \"ms_per_step\": %.6f, \"units_per_s\": %.6f, \"unit\": \"%s\"}\n",
      options.kind.name.data(),
      micro.blocks(),
      options.threads,
      micro.sms(),
      steps,
      seconds,
      1e3 / rate,
      micro.units() * rate,
      options.kind.unit.data());
}

void run(const Options& options) {
  carpool::StepFile steps;
  Micro micro(options);
  steps.set_units(micro.units());
  for (int i = 0; i < kWarmUpSteps; ++i) {
    micro.step();
  }
  check(cudaDeviceSynchronize(), "warming up");

  Pipeline pipeline(steps);
  const std::uint64_t started = carpool::monotonic_nanoseconds();
  const auto elapsed = [&] {
    return static_cast<double>(carpool::monotonic_nanoseconds() - started) / 1e9;
  };
  // With a watcher, the watcher ends it.
  const auto enough = [&](long done) {
    return !steps.watched() &&
           (options.steps != 0 ? done >= options.steps : elapsed() >= options.seconds);
  };
  long done = 0;
  bool going_on = true;
  while (going_on && !enough(done)) {
    micro.step();
    ++done;
    going_on = pipeline.queued();
  }
  pipeline.drain();
  if (!steps.watched()) {
    print_result(options, micro, done, elapsed());
  }
}

}  // namespace

int main(int count, char** words) {
  run(parse(count, words));
  return 0;
}
