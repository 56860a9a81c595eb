#include "code.hpp"

#include <algorithm>

#include "driver.hpp"

namespace fake_cuda {

Code& Code::get() {
  static Code* const code = new Code;  // NOLINT(cppcoreguidelines-owning-memory): as the driver
  return *code;
}

Module* Code::load_module(const Context& context) {
  const std::scoped_lock guard(mutex_);
  auto module = std::make_unique<Module>();
  module->context = &context;
  Module* handle = module.get();
  modules_[handle] = std::move(module);
  return handle;
}

bool Code::unload(Module* module) {
  const std::scoped_lock guard(mutex_);
  const auto found = modules_.find(module);
  if (found == modules_.end()) {
    return false;
  }
  for (const auto& [name, function] : module->functions) {
    functions_.erase(function.get());
  }
  modules_.erase(found);
  return true;
}

Library* Code::load_library() {
  const std::scoped_lock guard(mutex_);
  auto library = std::make_unique<Library>();
  Library* handle = library.get();
  libraries_[handle] = std::move(library);
  return handle;
}

bool Code::unload(Library* library) {
  const std::scoped_lock guard(mutex_);
  const auto found = libraries_.find(library);
  if (found == libraries_.end()) {
    return false;
  }
  for (const auto& [name, kernel] : library->kernels) {
    kernels_.erase(kernel.get());
  }
  for (const auto& [name, function] : library->module.functions) {
    functions_.erase(function.get());
  }
  libraries_.erase(found);
  return true;
}

Function* Code::function_locked(Module& module, const std::string& name) {
  std::unique_ptr<Function>& place = module.functions[name];
  if (!place) {
    place = std::make_unique<Function>();
    place->module = &module;
    place->name = name.substr(0, name.find('@'));  // a length there is not told
    place->ns = Driver::get().settings().kernel_ns(name);
    functions_.insert(place.get());
  }
  return place.get();
}

Function* Code::function(Module* module, const std::string& name) {
  const std::scoped_lock guard(mutex_);
  const bool of_library = std::ranges::any_of(
      libraries_, [&](const auto& each) { return &each.first->module == module; });
  return modules_.contains(module) || of_library ? function_locked(*module, name) : nullptr;
}

Kernel* Code::kernel(Library* library, const std::string& name) {
  const std::scoped_lock guard(mutex_);
  if (!libraries_.contains(library)) {
    return nullptr;
  }
  std::unique_ptr<Kernel>& place = library->kernels[name];
  if (!place) {
    place = std::make_unique<Kernel>();
    place->library = library;
    place->name = name;
    place->function = function_locked(library->module, name);
    kernels_.insert(place.get());
  }
  return place.get();
}

Module* Code::module_of(Library* library) {
  const std::scoped_lock guard(mutex_);
  return libraries_.contains(library) ? &library->module : nullptr;
}

Function* Code::resolve(Function* handle) {
  const std::scoped_lock guard(mutex_);
  if (functions_.contains(handle)) {
    return handle;
  }
  return kernels_.contains(handle) ? reinterpret_cast<Kernel*>(handle)->function : nullptr;
}

bool Code::is_function(const Function* handle) {
  const std::scoped_lock guard(mutex_);
  return functions_.contains(handle);
}

bool Code::is_kernel(const Kernel* handle) {
  const std::scoped_lock guard(mutex_);
  return kernels_.contains(handle);
}

}  // namespace fake_cuda
