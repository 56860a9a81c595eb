#include "gpu/cupti/inject/nvtx_ranges.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "base/clock.hpp"
#include "gpu/cupti/inject/recorder.hpp"
#include "gpu/cupti/inject/settings.hpp"

namespace carpool::gpu::inject {
namespace {

struct Open {
  const void* domain = nullptr;
  bool wanted = false;
  std::int64_t start_ns = 0;
  std::string name;  // of a range to record
};

// State between calls; never destroyed, as the program may end ranges until it exits.
struct Shared {
  std::string wanted = nvtx_range_from_environment();
  std::mutex mutex;
  std::set<std::string> names;  // registered texts and domains; their addresses serve as handles
  std::map<std::uint64_t, Open> by_number;  // ranges that another thread may end
  std::uint64_t last_number = 0;
};

Shared& shared() {
  static auto* const made = new Shared;
  return *made;
}

std::vector<Open>& stack() {
  thread_local std::vector<Open> open;
  return open;
}

const char* message_of(const nvtx::EventAttributes* attributes) {
  if (attributes == nullptr || attributes->message == nullptr) {
    return "";
  }
  if (attributes->message_type == nvtx::kMessageRegistered) {
    return static_cast<const std::string*>(attributes->message)->c_str();
  }
  return attributes->message_type == nvtx::kMessageAscii
             ? static_cast<const char*>(attributes->message)
             : "";
}

Open opened(const void* domain, const char* message) {
  const std::string& wanted = shared().wanted;
  const std::string_view name = message != nullptr ? message : "";
  Open open{domain, wanted == "*" || name == wanted, 0, {}};
  if (open.wanted) {
    open.name = name;
    open.start_ns = monotonic_ns();
  }
  return open;
}

void closed(const Open& open) {
  if (open.wanted) {
    const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
    Recorder::instance().range({open.start_ns, monotonic_ns(), thread, 0}, open.name);
  }
}

int push(const void* domain, const char* message) noexcept {
  try {
    stack().push_back(opened(domain, message));
  } catch (...) {
    return -1;
  }
  return static_cast<int>(stack().size()) - 1;
}

int pop(const void* domain) noexcept {
  std::vector<Open>& open = stack();
  const auto last = std::find_if(
      open.rbegin(), open.rend(), [&](const Open& one) { return one.domain == domain; });
  if (last == open.rend()) {
    return -1;
  }
  try {
    closed(*last);
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the range is lost
  }
  open.erase(std::next(last).base());
  return static_cast<int>(open.size());
}

std::uint64_t begin(const void* domain, const char* message) noexcept {
  try {
    Open open = opened(domain, message);
    if (!open.wanted) {
      return 0;
    }
    const std::lock_guard lock(shared().mutex);
    const std::uint64_t number = ++shared().last_number;
    shared().by_number.emplace(number, std::move(open));
    return number;
  } catch (...) {
    return 0;
  }
}

void end(std::uint64_t number) noexcept {
  try {
    Open open;
    {
      const std::lock_guard lock(shared().mutex);
      const auto found = shared().by_number.find(number);
      if (found == shared().by_number.end()) {
        return;
      }
      open = std::move(found->second);
      shared().by_number.erase(found);
    }
    closed(open);
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the range is lost
  }
}

const void* handle_for(const char* text) noexcept {
  try {
    const std::lock_guard lock(shared().mutex);
    return &*shared().names.emplace(text != nullptr ? text : "").first;
  } catch (...) {
    return nullptr;
  }
}

// Functions with NVTX's signatures.
int push_text(const char* message) {
  return push(nullptr, message);
}
int push_event(const nvtx::EventAttributes* event) {
  return push(nullptr, message_of(event));
}
int pop_any() {
  return pop(nullptr);
}
std::uint64_t begin_text(const char* message) {
  return begin(nullptr, message);
}
std::uint64_t begin_event(const nvtx::EventAttributes* event) {
  return begin(nullptr, message_of(event));
}
int domain_push(const void* domain, const nvtx::EventAttributes* event) {
  return push(domain, message_of(event));
}
int domain_pop(const void* domain) {
  return pop(domain);
}
std::uint64_t domain_begin(const void* domain, const nvtx::EventAttributes* event) {
  return begin(domain, message_of(event));
}
void domain_end(const void* /*domain*/, std::uint64_t number) {
  end(number);
}
const void* register_text(const void* /*domain*/, const char* text) {
  return handle_for(text);
}
const void* create_domain(const char* name) {
  return handle_for(name);
}

// Installs functions in the slots of one module.
class Slots {
 public:
  Slots(const nvtx::Callbacks& callbacks, std::uint32_t module) {
    if (callbacks.module_functions(module, &table_, &count_) == 0) {
      count_ = 0;
    }
  }

  template <class F>
  void put(unsigned index, F* function) {
    if (index < count_ && table_[index] != nullptr) {
      *table_[index] = reinterpret_cast<nvtx::Function>(function);
    }
  }

 private:
  nvtx::FunctionTable table_ = nullptr;
  unsigned count_ = 0;
};

}  // namespace

bool install_nvtx(nvtx::GetExportTable get_table) {
  if (shared().wanted.empty() || get_table == nullptr) {
    return false;
  }
  const auto* callbacks = static_cast<const nvtx::Callbacks*>(get_table(nvtx::kTableCallbacks));
  if (callbacks == nullptr || callbacks->size < sizeof(nvtx::Callbacks) ||
      callbacks->module_functions == nullptr) {
    return false;
  }
  Slots core(*callbacks, nvtx::kModuleCore);
  core.put(nvtx::kRangeStartEx, &begin_event);
  core.put(nvtx::kRangeStartA, &begin_text);
  core.put(nvtx::kRangeEnd, &end);
  core.put(nvtx::kRangePushEx, &push_event);
  core.put(nvtx::kRangePushA, &push_text);
  core.put(nvtx::kRangePop, &pop_any);
  Slots core2(*callbacks, nvtx::kModuleCore2);
  core2.put(nvtx::kDomainRangeStartEx, &domain_begin);
  core2.put(nvtx::kDomainRangeEnd, &domain_end);
  core2.put(nvtx::kDomainRangePushEx, &domain_push);
  core2.put(nvtx::kDomainRangePop, &domain_pop);
  core2.put(nvtx::kDomainRegisterStringA, &register_text);
  core2.put(nvtx::kDomainCreateA, &create_domain);
  return true;
}

}  // namespace carpool::gpu::inject
