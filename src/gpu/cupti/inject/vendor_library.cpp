#include "gpu/cupti/inject/vendor_library.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <vector>

namespace carpool::gpu::inject {
namespace {

constexpr std::array<const char*, 2> kNames{"libcupti.so.13", "libcupti.so.12"};
constexpr std::array<const char*, 2> kUsualFolders{"/usr/local/cuda/lib64",
                                                   "/usr/local/cuda/extras/CUPTI/lib64"};
// Paths from the folder of a CUDA or PyTorch library to CUPTI in Python packages.
constexpr std::array<const char*, 5> kBeside{"",
                                             "/../../cuda_cupti/lib",
                                             "/../../nvidia/cu13/lib",
                                             "/../../nvidia/cuda_cupti/lib",
                                             "/../extras/CUPTI/lib64"};

// Folders of libcudart and PyTorch in this process.
std::vector<std::string> cuda_folders() {
  std::vector<std::string> folders;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                             &std::fclose);
  std::array<char, 4096> line{};
  while (maps != nullptr &&
         std::fgets(line.data(), static_cast<int>(line.size()), maps.get()) != nullptr) {
    const std::string_view text(line.data());
    const std::size_t begin = text.find('/');
    const std::size_t end = text.rfind('/');
    if (begin == std::string_view::npos) {
      continue;
    }
    const std::string_view file = text.substr(end + 1);
    const std::string_view folder = text.substr(begin, end - begin);
    const bool is_cuda = file.starts_with("libcudart.so") || file.starts_with("libtorch_cuda.so");
    if (is_cuda && std::find(folders.begin(), folders.end(), folder) == folders.end()) {
      folders.emplace_back(folder);
    }
  }
  return folders;
}

void* open_by_place() {
  for (const char* name : kNames) {
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD); loaded != nullptr) {
      return loaded;
    }
  }
  std::vector<std::string> folders;
  for (const std::string& cuda : cuda_folders()) {
    for (const char* beside : kBeside) {
      folders.push_back(cuda + beside);
    }
  }
  folders.emplace_back();  // the loader's search path
  folders.insert(folders.end(), kUsualFolders.begin(), kUsualFolders.end());
  for (const std::string& folder : folders) {
    for (const char* name : kNames) {
      const std::string path = folder.empty() ? name : joined({folder, "/", name});
      if (void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL); handle != nullptr) {
        return handle;
      }
    }
  }
  return nullptr;
}

// Fills in functions and keeps the first missing essential name.
class Binder {
 public:
  explicit Binder(void* handle) : handle_(handle) {}

  template <class F>
  void optional(F& slot, const char* name) {
    slot = reinterpret_cast<F>(::dlsym(handle_, name));
  }

  template <class F>
  void essential(F& slot, const char* name) {
    optional(slot, name);
    if (slot == nullptr && missing_.empty()) {
      missing_ = name;
    }
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* handle_;
  std::string missing_;
};

std::string bind(void* handle, CuptiFunctions& functions) {
  Binder binder(handle);
  binder.essential(functions.version, "cuptiGetVersion");
  binder.essential(functions.subscribe, "cuptiSubscribe");
  binder.essential(functions.unsubscribe, "cuptiUnsubscribe");
  binder.essential(functions.enable_callback, "cuptiEnableCallback");
  binder.essential(functions.register_callbacks, "cuptiActivityRegisterCallbacks");
  binder.essential(functions.enable, "cuptiActivityEnable");
  binder.essential(functions.disable, "cuptiActivityDisable");
  binder.essential(functions.next_record, "cuptiActivityGetNextRecord");
  binder.essential(functions.flush_all, "cuptiActivityFlushAll");
  binder.essential(functions.timestamp, "cuptiGetTimestamp");
  binder.optional(functions.dropped, "cuptiActivityGetNumDroppedRecords");
  binder.optional(functions.result_string, "cuptiGetResultString");
  binder.optional(functions.set_attribute, "cuptiActivitySetAttribute");
  binder.optional(functions.register_timestamp, "cuptiActivityRegisterTimestampCallback");
  binder.optional(functions.finalize, "cuptiFinalize");
  return binder.missing();
}

bool is_known(std::uint32_t version) {
  return (version >= cupti::kCuda12First && version <= cupti::kCuda12Last) ||
         (version >= cupti::kCuda13First && version <= cupti::kCuda13Last);
}

}  // namespace

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text.append(part);
  }
  return text;
}

Cupti find_cupti(const std::string& named) {
  Cupti found;
  void* handle = named.empty() ? open_by_place() : ::dlopen(named.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = named.empty() ? nullptr : ::dlerror();
    found.refusal = why != nullptr
                        ? joined({"cannot load CUPTI: ", why})
                        : std::string(
                              "CUPTI was not found: no libcupti.so.13 or .12 is in this "
                              "program, beside its CUDA libraries or in /usr/local/cuda; "
                              "CARPOOL_CUPTI_LIBRARY can name it");
    return found;
  }
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr) {
    found.path = map->l_name;
  }
  const std::string missing = bind(handle, found.functions);
  if (!missing.empty()) {
    found.refusal = joined({found.path, " lacks the function ", missing});
    return found;
  }
  if (found.functions.version(&found.version) != cupti::kSuccess || !is_known(found.version)) {
    found.refusal = joined({found.path,
                            " has API version ",
                            std::to_string(found.version),
                            "; supported are those of CUDA 12 and 13"});
    return found;
  }
  found.handle = handle;
  return found;
}

std::string code_text(const CuptiFunctions& functions, cupti::Code code) {
  const char* text = nullptr;
  if (functions.result_string == nullptr ||
      functions.result_string(code, &text) != cupti::kSuccess || text == nullptr) {
    text = "CUPTI error";
  }
  return joined({text, " (code ", std::to_string(code), ")"});
}

void* driver_function(const char* name) {
  void* driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return ::dlsym(driver != nullptr ? driver : RTLD_DEFAULT, name);
}

}  // namespace carpool::gpu::inject
