// A client of NVTX without NVIDIA's headers: the functions that a program calls, with a tool behind
// them if NVTX_INJECTION64_PATH names one.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

#include "interpose/library/requests/nvtx_abi.hpp"

// NOLINTBEGIN(readability-identifier-naming): names of NVTX
namespace carpool::shim_test::fake_nvtx {

namespace nvtx = interpose::nvtx;
using nvtxEventAttributes_t = nvtx::EventAttributes;
using nvtxDomainHandle_t = const void*;
using nvtxStringHandle_t = const void*;
using nvtxRangeId_t = std::uint64_t;

inline std::array<nvtx::Function, 16> core_functions{};
inline std::array<nvtx::Function, 16> core2_functions{};

inline int module_functions(std::uint32_t module, nvtx::FunctionTable* table, unsigned* count) {
  static std::array<nvtx::Function*, 16> slots{};
  auto& functions =
      module == static_cast<std::uint32_t>(nvtx::Module::Core) ? core_functions : core2_functions;
  for (std::size_t i = 1; i < slots.size(); ++i) {
    slots.at(i) = &functions.at(i);
  }
  *table = slots.data();
  *count = slots.size();
  return 1;
}

inline const void* export_table(std::uint32_t table) {
  static const nvtx::CallbacksTable callbacks{.size = sizeof callbacks,
                                              .module_functions = &module_functions};
  return table == nvtx::kCallbacksTable ? &callbacks : nullptr;
}

inline bool initialize() {
  const char* const path = std::getenv("NVTX_INJECTION64_PATH");
  void* const tool = path == nullptr ? nullptr : ::dlopen(path, RTLD_LAZY);
  using Initialize = int(nvtx::GetExportTable);
  auto* const entry =
      tool == nullptr ? nullptr
                      : reinterpret_cast<Initialize*>(::dlsym(tool, "InitializeInjectionNvtx2"));
  return entry != nullptr && entry(&export_table) != 0;
}

template <class Result, class Number, class... Arguments>
Result call(Number number, Arguments... arguments) {
  static const bool has_tool = initialize();
  const auto& functions = std::is_same_v<Number, nvtx::CoreCall> ? core_functions : core2_functions;
  const auto function = functions.at(static_cast<std::size_t>(number));
  return has_tool && function != nullptr
             ? reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...)
             : Result();
}

inline int nvtxRangePushA(const char* name) {
  return call<int>(nvtx::CoreCall::RangePushA, name);
}
inline int nvtxRangePushW(const wchar_t* name) {
  return call<int>(nvtx::CoreCall::RangePushW, name);
}
inline int nvtxRangePushEx(const nvtxEventAttributes_t* event) {
  return call<int>(nvtx::CoreCall::RangePushEx, event);
}
inline int nvtxRangePop() {
  return call<int>(nvtx::CoreCall::RangePop);
}
inline nvtxRangeId_t nvtxRangeStartA(const char* name) {
  return call<nvtxRangeId_t>(nvtx::CoreCall::RangeStartA, name);
}
inline nvtxRangeId_t nvtxRangeStartEx(const nvtxEventAttributes_t* event) {
  return call<nvtxRangeId_t>(nvtx::CoreCall::RangeStartEx, event);
}
inline void nvtxRangeEnd(nvtxRangeId_t range) {
  call<void>(nvtx::CoreCall::RangeEnd, range);
}
inline nvtxDomainHandle_t nvtxDomainCreateA(const char* name) {
  return call<nvtxDomainHandle_t>(nvtx::Core2Call::DomainCreateA, name);
}
inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) {
  return call<nvtxStringHandle_t>(nvtx::Core2Call::DomainRegisterStringA, domain, text);
}
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return call<int>(nvtx::Core2Call::DomainRangePushEx, domain, event);
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t domain) {
  return call<int>(nvtx::Core2Call::DomainRangePop, domain);
}
inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain,
                                            const nvtxEventAttributes_t* event) {
  return call<nvtxRangeId_t>(nvtx::Core2Call::DomainRangeStartEx, domain, event);
}
inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t range) {
  call<void>(nvtx::Core2Call::DomainRangeEnd, domain, range);
}

inline nvtxEventAttributes_t event_of(const char* name) {
  return {.version = 3,
          .size = sizeof(nvtxEventAttributes_t),
          .message_type = nvtx::MessageType::Ascii,
          .message = name};
}
inline nvtxEventAttributes_t event_of_registered(nvtxStringHandle_t name) {
  return {.version = 3,
          .size = sizeof(nvtxEventAttributes_t),
          .message_type = nvtx::MessageType::Registered,
          .message = name};
}

}  // namespace carpool::shim_test::fake_nvtx
// NOLINTEND(readability-identifier-naming)
