// Modules, libraries and kernels: every name that is asked for exists.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "task.hpp"

namespace fake_cuda {

struct Module {
  const Context* context = nullptr;  // none: of a library, which is of no context
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, DevicePtr> globals;
};

struct Library {
  Module module;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

struct Kernel {
  Library* library = nullptr;
  std::string name;
  Function* function = nullptr;
};

// What the driver has loaded. Has a lock of its own: a launch looks only here for its kernel.
class Code {
 public:
  static Code& get();

  Module* load_module(const Context& context);
  bool unload(Module* module);
  Library* load_library();
  bool unload(Library* library);
  // Null: the handle is none.
  Function* function(Module* module, const std::string& name);
  Kernel* kernel(Library* library, const std::string& name);
  Module* module_of(Library* library);

  // The function of a handle, which may be that of a kernel; null if it is neither.
  Function* resolve(Function* handle);
  [[nodiscard]] bool is_function(const Function* handle);
  [[nodiscard]] bool is_kernel(const Kernel* handle);

 private:
  Function* function_locked(Module& module, const std::string& name);

  std::mutex mutex_;
  std::map<Module*, std::unique_ptr<Module>> modules_;
  std::map<Library*, std::unique_ptr<Library>> libraries_;
  std::unordered_set<const void*> functions_;
  std::unordered_set<const void*> kernels_;
};

}  // namespace fake_cuda
