#include "api.hpp"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

namespace fake_cuda {
namespace {

constexpr std::uint64_t kFlags_any = 0;
constexpr std::uint64_t kFlags_ptsz = kLookupPerThread;
constexpr std::uint64_t kFlags_ptds = kLookupPerThread;

void* open_library() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
  }
  return library;
}

using LookupFunction = Result (*)(const char*, void**, int, std::uint64_t, int*);

void* look(LookupFunction lookup, const char* name, int version, std::uint64_t flags) {
  void* address = nullptr;
  return lookup(name, &address, version, flags, nullptr) == kSuccess ? address : nullptr;
}

Api by_symbol(void* library) {
  Api api{};
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(::dlsym(library, #name));
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  return api;
}

Api by_lookup(LookupFunction find) {
  Api api{};
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(look(find, #lookup, version, kFlags_##twin));
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  return api;
}

#ifdef FAKE_CUDA_LINKED
Api by_linking() {
  Api api{};
#define FAKE_CUDA_FUNCTION(name, lookup, version, twin, parameters) api.name = &fake_cuda::name;
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  return api;
}
#endif

}  // namespace

std::optional<Api> open_driver(Door door) {
  if (door == Door::Linked) {
#ifdef FAKE_CUDA_LINKED
    return by_linking();
#else
    return std::nullopt;
#endif
  }
  void* library = open_library();
  if (library == nullptr) {
    return std::nullopt;
  }
  if (door == Door::Symbol) {
    return by_symbol(library);
  }
  const auto find = reinterpret_cast<LookupFunction>(::dlsym(library, "cuGetProcAddress_v2"));
  return find == nullptr ? std::nullopt : std::optional(by_lookup(find));
}

std::optional<Door> door_named(const std::string& name) {
  if (name == "linked") {
    return Door::Linked;
  }
  if (name == "symbol") {
    return Door::Symbol;
  }
  return name == "lookup" ? std::optional(Door::Lookup) : std::nullopt;
}

}  // namespace fake_cuda
