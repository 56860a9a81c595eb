// cuGetProcAddress: the newest function of a name that a program of this CUDA version knows.
#include <algorithm>
#include <array>
#include <string_view>

#include "../driver/define.hpp"

namespace fake_cuda {
namespace {

struct Row {
  std::string_view exported;
  std::string_view name;
  int version;
  bool per_thread;
  void* address;
};

constexpr bool kTwin_any = false;
constexpr bool kTwin_ptsz = true;
constexpr bool kTwin_ptds = true;

const std::array<Row, static_cast<std::size_t>(Entry::Count)>& rows() {
  static const std::array<Row, static_cast<std::size_t>(Entry::Count)> table{{
#define FAKE_CUDA_FUNCTION(exported, lookup, version, twin, parameters) \
  {#exported, #lookup, version, kTwin_##twin, reinterpret_cast<void*>(&(exported))},
#include "../abi/all.inc"
#undef FAKE_CUDA_FUNCTION
  }};
  return table;
}

Entry entry_of(const Row& row) {
  return static_cast<Entry>(&row - rows().data());
}

int driver_version() {
  return static_cast<int>(Driver::get().settings().number("version", 13000));
}

struct Found {
  void* address = nullptr;
  int status = kSymbolNotFound;
};

// Whether this row is a better answer than that one: a twin of the per-thread stream before others,
// then the newer version.
bool better(const Row& row, const Row* than) {
  return than == nullptr || (row.per_thread && !than->per_thread) ||
         (row.per_thread == than->per_thread && row.version > than->version);
}

Found find(std::string_view symbol, int version, std::uint64_t flags) {
  Found found;
  const Settings& settings = Driver::get().settings();
  const Row* best = nullptr;
  for (const Row& row : rows()) {
    if (row.name != symbol || row.version > driver_version() ||
        (row.per_thread && flags != kLookupPerThread) ||
        settings.has_word("missing", row.exported) ||
        (!Driver::get().green_contexts() && of_green_contexts(entry_of(row)))) {
      continue;
    }
    if (row.version > version) {
      found.status = kVersionNotSufficient;
    } else if (better(row, best)) {
      best = &row;
    }
  }
  return best != nullptr ? Found{best->address, 0} : found;
}

Result check(const char* symbol, void** address, int version, std::uint64_t flags) {
  const bool wrong = symbol == nullptr || address == nullptr || version > driver_version() ||
                     (flags != 0 && flags != kLookupLegacy && flags != kLookupPerThread);
  return wrong ? kInvalidValue : kSuccess;
}

// Before CUDA 12 a name that is not found is an error.
Result look_up_v1(const char* symbol, void** address, int version, std::uint64_t flags) {
  if (const Result result = check(symbol, address, version, flags); result != kSuccess) {
    return result;
  }
  *address = find(symbol, version, flags).address;
  return *address == nullptr ? kNotFound : kSuccess;
}

Result look_up(const char* symbol, void** address, int version, std::uint64_t flags, int* status) {
  if (const Result result = check(symbol, address, version, flags); result != kSuccess) {
    return result;
  }
  const Found found = find(symbol, version, flags);
  *address = found.address;
  if (status != nullptr) {
    *status = found.status;
  }
  return kSuccess;
}

Result tell_version(int* version) {
  if (version == nullptr) {
    return kInvalidValue;
  }
  *version = driver_version();
  return kSuccess;
}

// The private tables of NVIDIA's runtime are not imitated.
Result export_table(const void** table) {
  if (table != nullptr) {
    *table = nullptr;
  }
  return kNotFound;
}

struct ErrorText {
  Result code;
  const char* name;
};

constexpr std::array<ErrorText, 15> kErrors{{
    {kSuccess, "CUDA_SUCCESS"},
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
    {kNotInitialized, "CUDA_ERROR_NOT_INITIALIZED"},
    {kNoDevice, "CUDA_ERROR_NO_DEVICE"},
    {kInvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
    {kInvalidContext, "CUDA_ERROR_INVALID_CONTEXT"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND"},
    {kNotReady, "CUDA_ERROR_NOT_READY"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
    {kCaptureImplicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"},
}};

Result error_name(Result code, const char** name) {
  const auto found = std::ranges::find(kErrors, code, &ErrorText::code);
  *name = found == kErrors.end() ? nullptr : found->name;
  return found == kErrors.end() ? kInvalidValue : kSuccess;
}

}  // namespace

FAKE_CUDA_DEFINE(cuGetProcAddress,
                 (const char* symbol, void** address, int version, std::uint64_t flags),
                 look_up_v1(symbol, address, version, flags))
FAKE_CUDA_DEFINE(
    cuGetProcAddress_v2,
    (const char* symbol, void** address, int version, std::uint64_t flags, int* status),
    look_up(symbol, address, version, flags, status))
FAKE_CUDA_DEFINE(cuDriverGetVersion, (int* version), tell_version(version))
FAKE_CUDA_DEFINE(cuGetExportTable, (const void** table, const Uuid*), export_table(table))
FAKE_CUDA_DEFINE(cuGetErrorName, (Result code, const char** name), error_name(code, name))
FAKE_CUDA_DEFINE(cuGetErrorString, (Result code, const char** text), error_name(code, text))

}  // namespace fake_cuda
