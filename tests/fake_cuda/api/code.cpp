// Modules, libraries, kernels, and what is known of them.
#include "../driver/code.hpp"

#include "../driver/define.hpp"
#include "../driver/memory.hpp"

namespace fake_cuda {
namespace {

constexpr std::uint64_t kGlobalBytes = 4096;

Result load(Module** module, const void* image) {
  if (image == nullptr) {
    return kInvalidValue;
  }
  if (current_context() == nullptr) {
    return kInvalidContext;
  }
  *module = Code::get().load_module(*current_context());
  return kSuccess;
}

Result get_function(Function** function, Module* module, const char* name) {
  *function = Code::get().function(module, name);
  return *function == nullptr ? kInvalidHandle : kSuccess;
}

Result get_global(DevicePtr* address, std::size_t* bytes, Module* module, const char* name) {
  Driver& driver = Driver::get();
  const Guard guard = driver.lock();
  DevicePtr& place = module->globals[name];
  if (place == 0) {
    place = Heap::get().map_host(kGlobalBytes, MemoryKind::Host);
  }
  if (address != nullptr) {
    *address = place;
  }
  if (bytes != nullptr) {
    *bytes = kGlobalBytes;
  }
  return kSuccess;
}

Result loading_mode(int* mode) {
  *mode = 2;  // lazy
  return kSuccess;
}

Result load_library(Library** library, const void* image) {
  if (image == nullptr) {
    return kInvalidValue;
  }
  *library = Code::get().load_library();
  return kSuccess;
}

Result get_kernel(Kernel** kernel, Library* library, const char* name) {
  *kernel = Code::get().kernel(library, name);
  return *kernel == nullptr ? kInvalidHandle : kSuccess;
}

Result module_of_library(Module** module, Library* library) {
  *module = Code::get().module_of(library);
  return *module == nullptr ? kInvalidHandle : kSuccess;
}

Result function_of(Function** function, Kernel* kernel) {
  if (!Code::get().is_kernel(kernel)) {
    return kInvalidHandle;
  }
  *function = kernel->function;
  return kSuccess;
}

Result kernel_name(const char** name, Kernel* kernel) {
  if (!Code::get().is_kernel(kernel)) {
    return kInvalidHandle;
  }
  *name = kernel->name.c_str();
  return kSuccess;
}

Result function_name(const char** name, Function* function) {
  if (!Code::get().is_function(function)) {
    return kInvalidHandle;
  }
  *name = function->name.c_str();
  return kSuccess;
}

Result function_attribute(int* value, int which, Function* handle) {
  if (Code::get().resolve(handle) == nullptr) {
    return kInvalidHandle;
  }
  switch (which) {
    case 0:  // threads of a block
      *value = 1024;
      break;
    case 4:  // registers
      *value = 32;
      break;
    case 5:  // PTX and binary version
    case 6:
      *value = 90;
      break;
    default:
      *value = 0;
  }
  return kSuccess;
}

Result module_of(Module** module, Function* function) {
  if (!Code::get().is_function(function)) {
    return kInvalidHandle;
  }
  *module = function->module;
  return kSuccess;
}

Result check(Function* function) {
  return Code::get().resolve(function) == nullptr ? kInvalidHandle : kSuccess;
}

Result is_loaded(int* state, Function* function) {
  if (!Code::get().is_function(function)) {
    return kInvalidHandle;
  }
  *state = function->loaded ? 1 : 0;
  return kSuccess;
}

Result load_function(Function* function) {
  if (!Code::get().is_function(function)) {
    return kInvalidHandle;
  }
  function->loaded = true;
  return kSuccess;
}

Result occupancy(int* blocks, Function* function, int threads, std::size_t shared_bytes) {
  constexpr std::size_t kSharedOfSm = std::size_t{228} << 10U;
  if (threads <= 0) {
    return kInvalidValue;
  }
  *blocks = std::min(32, 2048 / threads);
  if (shared_bytes > 0) {
    *blocks = std::min(*blocks, static_cast<int>(kSharedOfSm / shared_bytes));
  }
  return check(function);
}

}  // namespace

FAKE_CUDA_DEFINE(cuModuleLoad, (Module * *module, const char* file), load(module, file))
FAKE_CUDA_DEFINE(cuModuleLoadData, (Module * *module, const void* image), load(module, image))
FAKE_CUDA_DEFINE(cuModuleLoadDataEx,
                 (Module * *module, const void* image, unsigned, int*, void**),
                 load(module, image))
FAKE_CUDA_DEFINE(cuModuleLoadFatBinary, (Module * *module, const void* image), load(module, image))
FAKE_CUDA_DEFINE(cuModuleUnload,
                 (Module * module),
                 Code::get().unload(module) ? kSuccess : kInvalidHandle)
FAKE_CUDA_DEFINE(cuModuleGetFunction,
                 (Function * *function, Module* module, const char* name),
                 get_function(function, module, name))
FAKE_CUDA_DEFINE(cuModuleGetGlobal_v2,
                 (DevicePtr * address, std::size_t* bytes, Module* module, const char* name),
                 get_global(address, bytes, module, name))
FAKE_CUDA_DEFINE(cuModuleGetLoadingMode, (int* mode), loading_mode(mode))
FAKE_CUDA_DEFINE(
    cuLibraryLoadData,
    (Library * *library, const void* image, int*, void**, unsigned, int*, void**, unsigned),
    load_library(library, image))
FAKE_CUDA_DEFINE(cuLibraryUnload,
                 (Library * library),
                 Code::get().unload(library) ? kSuccess : kInvalidHandle)
FAKE_CUDA_DEFINE(cuLibraryGetKernel,
                 (Kernel * *kernel, Library* library, const char* name),
                 get_kernel(kernel, library, name))
FAKE_CUDA_DEFINE(cuLibraryGetModule,
                 (Module * *module, Library* library),
                 module_of_library(module, library))
FAKE_CUDA_DEFINE(cuKernelGetFunction,
                 (Function * *function, Kernel* kernel),
                 function_of(function, kernel))
FAKE_CUDA_DEFINE(cuKernelGetName, (const char** name, Kernel* kernel), kernel_name(name, kernel))
FAKE_CUDA_DEFINE(cuFuncGetName,
                 (const char** name, Function* function),
                 function_name(name, function))
FAKE_CUDA_DEFINE(cuFuncGetAttribute,
                 (int* value, int which, Function* function),
                 function_attribute(value, which, function))
FAKE_CUDA_DEFINE(cuFuncSetAttribute, (Function * function, int, int), check(function))
FAKE_CUDA_DEFINE(cuFuncGetModule,
                 (Module * *module, Function* function),
                 module_of(module, function))
FAKE_CUDA_DEFINE(cuKernelGetAttribute,
                 (int* value, int which, Kernel* kernel, int),
                 function_attribute(value, which, reinterpret_cast<Function*>(kernel)))
FAKE_CUDA_DEFINE(cuFuncLoad, (Function * function), load_function(function))
FAKE_CUDA_DEFINE(cuFuncIsLoaded, (int* state, Function* function), is_loaded(state, function))
FAKE_CUDA_DEFINE(cuOccupancyMaxActiveBlocksPerMultiprocessor,
                 (int* blocks, Function* function, int threads, std::size_t shared),
                 occupancy(blocks, function, threads, shared))
FAKE_CUDA_DEFINE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                 (int* blocks, Function* function, int threads, std::size_t shared, unsigned),
                 occupancy(blocks, function, threads, shared))

}  // namespace fake_cuda
