#include "fake_driver.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <vector>

#include "fake_cupti.hpp"
#include "gpu/cupti/nvtx_abi.hpp"

namespace carpool::fake_cupti {
namespace {

// A function of the CUPTI that the injected library has loaded, under either name; null: none yet.
void* cupti_function(const char* function) {
  const char* named = std::getenv("CARPOOL_CUPTI_LIBRARY");
  for (const char* name : {named, "libcupti.so.13", "libcupti.so.12"}) {
    void* handle = name != nullptr ? ::dlopen(name, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    if (handle != nullptr) {
      return ::dlsym(handle, function);
    }
  }
  return nullptr;
}

// A library that is loaded later is called from then on.
template <class Function>
Function loaded(Function& function, const char* name) {
  if (function == nullptr) {
    function = reinterpret_cast<Function>(cupti_function(name));
  }
  return function;
}

template <class Record>
void deliver(const Record& record) {
  static Deliver function = nullptr;
  if (loaded(function, kDeliver) != nullptr) {
    function(&record, sizeof(record));
  }
}

void call_launch(std::uint32_t call) {
  static CallLaunch function = nullptr;
  if (loaded(function, kCallLaunch) != nullptr) {
    function(call);
  }
}

// The records that profile() asked for.
struct Profiled {
  std::atomic<std::size_t> kernels{0};
  std::vector<std::uint8_t> buffer = std::vector<std::uint8_t>(std::size_t{1} << 20U);
};

Profiled& profiled() {
  static auto* const made = new Profiled;
  return *made;
}

void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = profiled().buffer.data();
  *size = profiled().buffer.size();
  *records = 0;
}

void buffer_done(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t valid) {
  profiled().kernels += valid / sizeof(gpu::cupti::KernelRecord);
}

// The slots of NVTX's two modules, which a tool may fill.
constexpr unsigned kSlots = 16;
struct Module {
  std::array<gpu::nvtx::Function, kSlots> functions{};
  std::array<gpu::nvtx::Function*, kSlots> slots{};
};

Module& module_of(std::uint32_t number) {
  static std::array<Module, 2> modules;
  Module& chosen = modules.at(number == gpu::nvtx::kModuleCore ? 0 : 1);
  std::transform(chosen.functions.begin(),
                 chosen.functions.end(),
                 chosen.slots.begin(),
                 [](gpu::nvtx::Function& slot) { return &slot; });
  return chosen;
}

int module_functions(std::uint32_t number, gpu::nvtx::FunctionTable* table, unsigned* count) {
  *table = module_of(number).slots.data();
  *count = kSlots;
  return 1;
}

const void* export_table(std::uint32_t table) {
  static const gpu::nvtx::Callbacks callbacks{sizeof(gpu::nvtx::Callbacks), &module_functions};
  return table == gpu::nvtx::kTableCallbacks ? &callbacks : nullptr;
}

// The first use of NVTX.
bool load_nvtx_tool() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  void* handle = path != nullptr ? ::dlopen(path, RTLD_NOW) : nullptr;
  if (handle == nullptr) {
    return false;
  }
  using Initialize = int (*)(gpu::nvtx::GetExportTable);
  const auto initialize = reinterpret_cast<Initialize>(::dlsym(handle, "InitializeInjectionNvtx2"));
  return initialize != nullptr && initialize(&export_table) == 1;
}

gpu::nvtx::Function nvtx_function(unsigned slot) {
  static const bool loaded = load_nvtx_tool();
  return loaded ? module_of(gpu::nvtx::kModuleCore).functions.at(slot) : nullptr;
}

}  // namespace

bool fake_cu_init() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) {
    return false;
  }
  void* handle = ::dlopen(path, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return false;
  }
  const auto initialize = reinterpret_cast<int (*)()>(::dlsym(handle, "InitializeInjection"));
  return initialize != nullptr && initialize() == 1;
}

void launch(const gpu::cupti::KernelRecord& record) {
  call_launch(gpu::cupti::kLaunchCalls.front());
  deliver(record);
}

void launch_graph() {
  call_launch(gpu::cupti::kGraphLaunch);
}

void graph_kernel(const gpu::cupti::KernelRecord& record) {
  deliver(record);
}

void copy(const gpu::cupti::MemcpyRecord& record) {
  deliver(record);
}

void set_memory(const gpu::cupti::MemsetRecord& record) {
  deliver(record);
}

bool subscribe() {
  using Subscribe = gpu::cupti::Code (*)(gpu::cupti::Subscriber*, gpu::cupti::Callback, void*);
  const auto function = reinterpret_cast<Subscribe>(cupti_function("cuptiSubscribe"));
  gpu::cupti::Subscriber subscriber = nullptr;
  const auto nothing = [](void*, std::uint32_t, std::uint32_t, const void*) {};
  return function != nullptr && function(&subscriber, nothing, nullptr) == gpu::cupti::kSuccess;
}

bool profile() {
  using Register = gpu::cupti::Code (*)(gpu::cupti::BufferRequested, gpu::cupti::BufferCompleted);
  using Enable = gpu::cupti::Code (*)(gpu::cupti::Kind);
  const auto add = reinterpret_cast<Register>(cupti_function("cuptiActivityRegisterCallbacks"));
  const auto enable = reinterpret_cast<Enable>(cupti_function("cuptiActivityEnable"));
  return subscribe() && add(&request_buffer, &buffer_done) == gpu::cupti::kSuccess &&
         enable(gpu::cupti::kKindConcurrentKernel) == gpu::cupti::kSuccess;
}

std::size_t profiled_kernels() {
  using Flush = gpu::cupti::Code (*)(std::uint32_t);
  if (const auto flush = reinterpret_cast<Flush>(cupti_function("cuptiActivityFlushAll"))) {
    (void)flush(gpu::cupti::kFlushForced);
  }
  return profiled().kernels;
}

void push_range(const char* name) {
  if (const auto function = nvtx_function(gpu::nvtx::kRangePushA); function != nullptr) {
    (void)reinterpret_cast<int (*)(const char*)>(function)(name);
  }
}

void pop_range() {
  if (const auto function = nvtx_function(gpu::nvtx::kRangePop); function != nullptr) {
    (void)reinterpret_cast<int (*)()>(function)();
  }
}

}  // namespace carpool::fake_cupti

// The driver functions that the library looks up; the program exports them.
// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  namespace cupti = carpool::gpu::cupti;
  switch (attribute) {
    case cupti::kDeviceSmCount:
      *value = 132;
      break;
    case cupti::kDeviceComputeMajor:
      *value = 9;
      break;
    case cupti::kDeviceWarpSize:
      *value = 32;
      break;
    case cupti::kDeviceThreadsPerSm:
      *value = 2048;
      break;
    case cupti::kDeviceBlocksPerSm:
      *value = 32;
      break;
    case cupti::kDeviceRegistersPerSm:
      *value = 65536;
      break;
    case cupti::kDeviceSharedPerSm:
      *value = 233472;
      break;
    case cupti::kDeviceReservedSharedPerBlock:
      *value = 1024;
      break;
    default:
      *value = 0;
      return 1;
  }
  return 0;
}

int cuDeviceGetName(char* name, int size, int /*device*/) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake H200");
  return 0;
}

int cuDeviceGetUuid_v2(void* uuid, int /*device*/) {
  std::memset(uuid, 0xAB, 16);
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
