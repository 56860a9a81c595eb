// Commands of the program that look functions up.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"

namespace carpool::shim_test {
namespace {

struct Route {
  std::string exported;
  std::string name;
  int version;
  std::string twin;
};

}  // namespace

// Every function of the fake driver, asked for by name, version and flags.
int run_routes(Program& program, int /*count*/) {
  const std::vector<Route> routes{
#define FAKE_CUDA_FUNCTION(EXPORTED, NAME, VERSION, TWIN, PARAMETERS) \
  {#EXPORTED, #NAME, VERSION, #TWIN},
#include "all.inc"
#undef FAKE_CUDA_FUNCTION
  };
  const std::set<std::string> with_wrapper{
#define DRIVER_CALL(NAME, TYPES) #NAME,
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) #NAME,
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
  };
  const std::string own = std::getenv("LD_PRELOAD");
  const char* const shim = std::getenv("CARPOOL_SHIM");
  const bool off = shim != nullptr && std::string(shim) == "off";
  std::uint64_t wrapped = 0;
  std::uint64_t wrong = 0;
  for (const Route& route : routes) {
    void* found = nullptr;
    int status = 0;
    const std::uint64_t flags = route.twin == "any" ? 1 : 2;
    Dl_info info{};
    const bool answered =
        program.cuda(
            "cuGetProcAddress_v2", route.name.c_str(), &found, route.version, flags, &status) ==
            0 &&
        ::dladdr(found, &info) != 0 && info.dli_sname != nullptr;
    const bool is_wrapper = answered && std::filesystem::equivalent(info.dli_fname, own);
    wrapped += is_wrapper ? 1 : 0;
    if (!answered || info.dli_sname != route.exported ||
        is_wrapper != (with_wrapper.contains(route.exported) && !off)) {
      ++wrong;
      std::fprintf(stderr, "%s: %s\n", route.exported.c_str(), answered ? info.dli_sname : "none");
    }
  }
  print("asked", routes.size());
  print("wrapped", wrapped);
  print("wrong", wrong);
  return 0;
}

// As a runtime of CUDA 12 asks a driver that has only the first version of the look-up.
int run_old_driver(Program& program, int /*count*/) {
  constexpr int kDriver = 11080;
  const auto ask = [&program](const char* name, int version, int& status) {
    void* found = nullptr;
    Dl_info info{};
    status = -1;
    const int result =
        program.cuda("cuGetProcAddress_v2", name, &found, version, std::uint64_t{0}, &status);
    return result != 0                   ? std::string("error")
           : found == nullptr            ? std::string("none")
           : ::dladdr(found, &info) != 0 ? std::string(info.dli_sname)
                                         : std::string("unknown");
  };
  int status = 0;
  print("launch", ask("cuLaunchKernel", kDriver, status) == "cuLaunchKernel" ? 1 : 0);
  print("launch_status", static_cast<std::uint64_t>(status));
  print("memory", ask("cuMemAlloc", kDriver, status) == "cuMemAlloc_v2" ? 1 : 0);
  print("newer", ask("cuGraphInstantiateWithParams", kDriver, status) == "none" ? 1 : 0);
  print("newer_status", static_cast<std::uint64_t>(status));
  print("old_door", ask("cuGetProcAddress", kDriver, status) == "cuGetProcAddress" ? 1 : 0);
  return program.launch("cuLaunchKernel", nullptr);
}

int run_absent(Program& program, int /*count*/) {
  void* found = nullptr;
  int status = -1;
  static_cast<void>(program.cuda(
      "cuGetProcAddress_v2", "cuLaunchKernelEx", &found, 13000, std::uint64_t{0}, &status));
  print("found", found == nullptr ? 0 : 1);
  print("symbol_status", static_cast<std::uint64_t>(status));
  print("called", static_cast<std::uint64_t>(program.cuda("cuTexRefCreate", &found)));
  return 0;
}

int load_library(const char* path, const char* function) {
  void* const library = ::dlopen(path, RTLD_NOW);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, function);
  if (found == nullptr) {
    return 4;
  }
  std::array<std::uint64_t, 8> result{};
  print("returned",
        static_cast<std::uint64_t>(reinterpret_cast<int (*)(void*)>(found)(result.data())));
  void* const driver = ::dlopen(std::getenv("CARPOOL_REAL_LIBCUDA"), RTLD_NOW | RTLD_NOLOAD);
  auto* const calls = reinterpret_cast<std::uint64_t (*)(const char*)>(
      driver == nullptr ? nullptr : ::dlsym(driver, "fake_cuda_calls"));
  print("lookups", calls == nullptr ? 0 : calls("cuGetProcAddress_v2"));
  print("inits", calls == nullptr ? 0 : calls("cuInit"));
  return 0;
}

}  // namespace carpool::shim_test
