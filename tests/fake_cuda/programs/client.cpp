// cuda_client SCENARIO [--door linked|symbol|lookup] [--option value]…
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "scenarios.hpp"

namespace fake_cuda {
namespace {

struct Scenario {
  std::string_view name;
  int (*run)(const Api&, const Options&);
};

constexpr std::array<Scenario, 10> kScenarios{{
    {"launches", &run_launches},
    {"graphs", &run_graphs},
    {"allocate", &run_allocations},
    {"fork", &run_fork},
    {"exec", &run_exec},
    {"streams", &run_streams},
    {"loop", &run_loop},
    {"cost", &run_cost},
    {"totals", &run_totals},
    {"doors", &run_doors},
}};

int fail(const char* message) {
  std::fprintf(stderr, "cuda_client: %s\n", message);
  return 2;
}

int run(int count, char** arguments) {
  Options options;
  for (int number = 2; number + 1 < count; number += 2) {
    const std::string_view key = arguments[number];
    if (!key.starts_with("--")) {
      return fail("options are --key value");
    }
    options.values[std::string(key.substr(2))] = arguments[number + 1];
  }
  options.values["program"] = arguments[0];
  const auto door = door_named(options.text("door", "lookup"));
  const auto api = door ? open_driver(*door) : std::nullopt;
  if (!api) {
    return fail("no such door");
  }
  for (const Scenario& scenario : kScenarios) {
    if (count > 1 && scenario.name == arguments[1]) {
      return scenario.run(*api, options);
    }
  }
  return fail("no such scenario");
}

}  // namespace

std::string Options::text(const std::string& key, const std::string& fallback) const {
  const auto found = values.find(key);
  return found == values.end() ? fallback : found->second;
}

std::uint64_t Options::number(const std::string& key, std::uint64_t fallback) const {
  const auto found = values.find(key);
  return found == values.end() ? fallback : std::strtoull(found->second.c_str(), nullptr, 10);
}

void need(Result result, const char* call) {
  if (result != kSuccess) {
    std::fprintf(stderr, "%s: error %d\n", call, result);
    std::exit(1);
  }
}

Context* use_primary(const Api& api) {
  need(api.cuInit(0), "cuInit");
  int device = 0;
  need(api.cuDeviceGet(&device, 0), "cuDeviceGet");
  Context* context = nullptr;
  need(api.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  need(api.cuCtxSetCurrent(context), "cuCtxSetCurrent");
  return context;
}

Function* kernel_named(const Api& api, const std::string& name) {
  static Module* module = nullptr;
  if (module == nullptr) {
    need(api.cuModuleLoadData(&module, ""), "cuModuleLoadData");
  }
  Function* function = nullptr;
  need(api.cuModuleGetFunction(&function, module, name.c_str()), "cuModuleGetFunction");
  return function;
}

}  // namespace fake_cuda

int main(int count, char** arguments) {
  return fake_cuda::run(count, arguments);
}
