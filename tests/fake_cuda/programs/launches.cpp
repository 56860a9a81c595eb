// Scenarios that launch kernels.
#include <cstdio>
#include <dlfcn.h>
#include <functional>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "scenarios.hpp"

namespace fake_cuda {
namespace {

struct Way {
  const char* name;
  std::function<Result(Function*, Stream*, void**)> launch;
};

std::vector<Way> ways(const Api& api) {
  const auto plain = [](auto call) {
    return [call](Function* function, Stream* stream, void** parameters) {
      return call(function, 2, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
    };
  };
  const auto extended = [](auto call) {
    return [call](Function* function, Stream* stream, void** parameters) {
      LaunchAttribute attribute{};
      attribute.id = kAttributePriority;
      attribute.value.number = -1;
      const LaunchConfig config{2, 1, 1, 32, 1, 1, 0, stream, &attribute, 1};
      return call(&config, function, parameters, nullptr);
    };
  };
  const auto cooperative = [](auto call) {
    return [call](Function* function, Stream* stream, void** parameters) {
      return call(function, 2, 1, 1, 32, 1, 1, 0, stream, parameters);
    };
  };
  return {{"cuLaunchKernel", plain(api.cuLaunchKernel)},
          {"cuLaunchKernel_ptsz", plain(api.cuLaunchKernel_ptsz)},
          {"cuLaunchKernelEx", extended(api.cuLaunchKernelEx)},
          {"cuLaunchKernelEx_ptsz", extended(api.cuLaunchKernelEx_ptsz)},
          {"cuLaunchCooperativeKernel", cooperative(api.cuLaunchCooperativeKernel)},
          {"cuLaunchCooperativeKernel_ptsz", cooperative(api.cuLaunchCooperativeKernel_ptsz)}};
}

// Launches of earlier days take no parameters: they are counted, and that is all.
std::uint64_t launch_as_before(const Api& api, Stream* made) {
  Function* function = kernel_named(api, "old");
  need(api.cuFuncSetBlockShape(function, 32, 1, 1), "cuFuncSetBlockShape");
  need(api.cuLaunch(function), "cuLaunch");
  need(api.cuLaunchGrid(function, 2, 2), "cuLaunchGrid");
  need(api.cuLaunchGridAsync(function, 2, 2, made), "cuLaunchGridAsync");
  MultiLaunch both[2]{};
  for (MultiLaunch& each : both) {
    each = {function, 1, 1, 1, 32, 1, 1, 0, made, nullptr};
  }
  need(api.cuLaunchCooperativeKernelMultiDevice(both, 2, 0),
       "cuLaunchCooperativeKernelMultiDevice");
  need(api.cuCtxSynchronize(), "cuCtxSynchronize");
  return 5;
}

// The kernel also as part of a library, whose handle a launch takes, too.
Function* kernel_of_library(const Api& api) {
  Library* library = nullptr;
  need(api.cuLibraryLoadData(&library, "", nullptr, nullptr, 0, nullptr, nullptr, 0),
       "cuLibraryLoadData");
  Kernel* kernel = nullptr;
  need(api.cuLibraryGetKernel(&kernel, library, "increment_library"), "cuLibraryGetKernel");
  return reinterpret_cast<Function*>(kernel);
}

}  // namespace

int run_launches(const Api& api, const Options& options) {
  use_primary(api);
  const std::uint64_t count = options.number("count", 10);
  Stream* made = nullptr;
  need(api.cuStreamCreate(&made, kNonBlocking), "cuStreamCreate");
  DevicePtr number = 0;
  need(api.cuMemAlloc_v2(&number, 8), "cuMemAlloc_v2");
  need(api.cuMemsetD8_v2(number, 0, 8), "cuMemsetD8_v2");
  void* parameters[] = {&number};
  std::uint64_t launches = 0;
  for (Function* function : {kernel_named(api, "increment"), kernel_of_library(api)}) {
    for (const Way& way : ways(api)) {
      for (Stream* stream : {static_cast<Stream*>(nullptr), made}) {
        for (std::uint64_t each = 0; each < count; ++each, ++launches) {
          need(way.launch(function, stream, parameters), way.name);
        }
        need(api.cuCtxSynchronize(), "cuCtxSynchronize");
      }
    }
  }
  std::uint64_t ran = 0;
  need(api.cuMemcpyDtoH_v2(&ran, number, 8), "cuMemcpyDtoH_v2");
  const std::uint64_t old = launch_as_before(api, made);
  std::printf("launches=%lu\nran=%lu\n", launches + old, ran + old);
  return ran == launches ? 0 : 1;
}

int run_streams(const Api& api, const Options& options) {
  use_primary(api);
  const std::uint64_t count = options.number("count", 100);
  const std::uint64_t kernels = options.number("kernels", 5);
  DevicePtr number = 0;
  need(api.cuMemAlloc_v2(&number, 8), "cuMemAlloc_v2");
  need(api.cuMemsetD8_v2(number, 0, 8), "cuMemsetD8_v2");
  void* parameters[] = {&number};
  Function* function = kernel_named(api, "increment_" + options.text("length", "0us"));
  Event* before = nullptr;
  std::vector<Stream*> streams;
  for (std::uint64_t each = 0; each < count; ++each) {
    Stream* stream = nullptr;
    need(api.cuStreamCreateWithPriority(&stream, kNonBlocking, each % 2 == 0 ? 0 : -1),
         "cuStreamCreateWithPriority");
    if (before != nullptr) {
      need(api.cuStreamWaitEvent(stream, before, 0), "cuStreamWaitEvent");
    }
    for (std::uint64_t launch = 0; launch < kernels; ++launch) {
      need(api.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
           "cuLaunchKernel");
    }
    need(api.cuEventCreate(&before, 2), "cuEventCreate");
    need(api.cuEventRecord(before, stream), "cuEventRecord");
    streams.push_back(stream);
  }
  need(api.cuEventSynchronize(before), "cuEventSynchronize");
  for (Stream* stream : streams) {
    need(api.cuStreamQuery(stream), "cuStreamQuery");
    need(api.cuStreamDestroy_v2(stream), "cuStreamDestroy_v2");
  }
  std::uint64_t ran = 0;
  need(api.cuMemcpyDtoH_v2(&ran, number, 8), "cuMemcpyDtoH_v2");
  std::printf("launches=%lu\nran=%lu\n", count * kernels, ran);
  return ran == count * kernels ? 0 : 1;
}

int run_loop(const Api& api, const Options& options) {
  use_primary(api);
  if (const std::uint64_t mib = options.number("mib", 0); mib > 0) {
    DevicePtr held = 0;
    need(api.cuMemAlloc_v2(&held, mib * kMiB), "cuMemAlloc_v2");
  }
  Function* function = kernel_named(api, options.text("kernel", "spin_500us"));
  const std::uint64_t count = options.number("count", 0);
  const auto blocks = static_cast<unsigned>(options.number("blocks", 132));
  std::printf("ready\n");
  std::fflush(stdout);
  for (std::uint64_t each = 0; count == 0 || each < count; ++each) {
    need(api.cuLaunchKernel(function, blocks, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr),
         "cuLaunchKernel");
    // Some work is always waiting, as in a program that runs ahead of its device.
    if (each % 8 == 7) {
      need(api.cuStreamSynchronize(nullptr), "cuStreamSynchronize");
    }
  }
  need(api.cuCtxSynchronize(), "cuCtxSynchronize");
  std::printf("launches=%lu\n", count);
  return 0;
}

int run_cost(const Api& api, const Options& options) {
  use_primary(api);
  const std::uint64_t count = options.number("count", 100000);
  Function* function = kernel_named(api, "empty");
  const auto launch = [&] {
    need(api.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
         "cuLaunchKernel");
  };
  for (int each = 0; each < 1000; ++each) {
    launch();
  }
  const std::int64_t before = carpool::monotonic_ns();
  for (std::uint64_t each = 0; each < count; ++each) {
    launch();
  }
  const std::int64_t spent = carpool::monotonic_ns() - before;
  std::printf("launches=%lu\nns_per_launch=%.1f\n",
              count,
              static_cast<double>(spent) / static_cast<double>(count));
  return 0;
}

int run_doors(const Api& api, const Options& /*options*/) {
  int missing = 0;
  const auto tell = [&missing](const char* name, void* address) {
    Dl_info info{};
    const bool known = address != nullptr && ::dladdr(address, &info) != 0;
    missing += known ? 0 : 1;
    std::printf("%s=%s\n", name, known ? info.dli_fname : "-");
  };
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) \
  tell(#name, reinterpret_cast<void*>(api.name));
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  return missing == 0 ? 0 : 1;
}

}  // namespace fake_cuda
