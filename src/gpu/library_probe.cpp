#include "gpu/library_probe.hpp"

#include <dlfcn.h>
#include <link.h>
#include <memory>

namespace carpool::gpu {
namespace {

struct Closer {
  void operator()(void* handle) const { ::dlclose(handle); }
};

}  // namespace

std::optional<std::filesystem::path> find_library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    // NODELETE: unloading CUPTI would leak what its constructors allocated.
    const std::unique_ptr<void, Closer> handle(
        ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE));
    if (handle == nullptr) {
      continue;
    }
    link_map* map = nullptr;
    const bool known =
        ::dlinfo(handle.get(), RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr;
    return std::filesystem::path(known ? map->l_name : name.c_str());
  }
  return std::nullopt;
}

}  // namespace carpool::gpu
