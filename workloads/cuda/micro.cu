// Workloads that each stress one resource of a GPU, with a fixed number of blocks and threads.
//
// Each block does the same work, regardless of the number of blocks: a sweep over blocks and threads
// changes the share of the GPU in use, but hardly the time of a launch. Equal arguments give equal work:
// nothing is calibrated at the start.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#include "kernels.cuh"
#include "options.h"
#include "step_file.h"

namespace {

constexpr int kWarmUpSteps = 3;
constexpr int kBlocksPerSm = 4;  // where --blocks is not given

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "micro: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(status == cudaErrorMemoryAllocation ? 3 : 1);
  }
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
