// NVTX ranges that mark requests. NVTX loads the library that NVTX_INJECTION64_PATH names, at its
// first use, and lets it fill in NVTX's functions, which are empty else.
#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "interpose/library/process.hpp"
#include "interpose/library/requests/nvtx_abi.hpp"
#include "interpose/library/requests/request_calls.hpp"
#include "interpose/library/settings.hpp"

namespace carpool::interpose {

namespace {

using nvtx::Core2Call;
using nvtx::CoreCall;
using nvtx::EventAttributes;
using nvtx::MessageType;

using Domain = const void*;  // what create_domain() gave; null: the default one

// How the names of ranges begin that are requests. Written before NVTX calls anything of this file.
class WantedName {
 public:
  void read() {
    const std::string_view told = setting("CARPOOL_SHIM_NVTX");
    const std::string_view name = told.empty() ? "carpool:request" : told;
    length_ = name.copy(text_.data(), text_.size());
  }

  template <class Character>
  [[nodiscard]] bool begins(const Character* name) const {
    for (std::size_t i = 0; i < length_; ++i) {
      // The end of the name differs as well.
      if (name[i] != static_cast<Character>(static_cast<unsigned char>(text_[i]))) {
        return false;
      }
    }
    return true;
  }

 private:
  std::array<char, 64> text_{};
  std::size_t length_ = 0;
};
constinit WantedName wanted_name;  // NOLINT

template <class Character>
bool names_request(const Character* name) {
  return name != nullptr && wanted_name.begins(name);
}

// Of a registered text only this is kept: its handle is the address of one of them.
constinit const std::array<char, 2> registered_kinds{};  // NOLINT
template <class Character>
const void* register_text(Domain /*domain*/, const Character* text) {
  return &registered_kinds[names_request(text) ? 1 : 0];
}

bool names_request(const EventAttributes* event) {
  if (event == nullptr) {
    return false;
  }
  switch (event->message_type) {
    case MessageType::Ascii:
      return names_request(static_cast<const char*>(event->message));
    case MessageType::Wide:
      return names_request(static_cast<const wchar_t*>(event->message));
    case MessageType::Registered:
      return event->message == &registered_kinds[1];
  }
  return false;
}

// The ranges that a thread has pushed: each domain has a stack of its own.
class PushedRanges {
 public:
  int push(Domain domain, bool request) {
    if (depth_ < ranges_.size()) {
      ranges_[depth_] = {.domain = domain, .request = request};
      if (request) {
        carpool_request_begin();
      }
    }
    return static_cast<int>(depth_++);  // what is deeper than the array is only counted
  }

  int pop(Domain domain) {
    if (depth_ > ranges_.size()) {
      return static_cast<int>(--depth_);
    }
    for (std::size_t place = depth_; place > 0; --place) {
      const Range range = ranges_[place - 1];
      if (range.domain == domain) {
        for (std::size_t next = place; next < depth_; ++next) {
          ranges_[next - 1] = ranges_[next];
        }
        --depth_;
        if (range.request) {
          carpool_request_end();
        }
        return static_cast<int>(depth_);
      }
    }
    return -1;  // none is open
  }

 private:
  struct Range {
    Domain domain = nullptr;
    bool request = false;
  };
  std::array<Range, 32> ranges_{};
  std::size_t depth_ = 0;
};
constinit thread_local PushedRanges pushed;  // NOLINT

// Ranges that another thread may end: requests have odd numbers.
constinit std::atomic<std::uint64_t> last_range{0};  // NOLINT
std::uint64_t start(bool request) {
  if (request) {
    carpool_request_begin();
  }
  return (last_range.fetch_add(1, std::memory_order_relaxed) + 1) * 2 + (request ? 1 : 0);
}
void end(std::uint64_t range) {
  if (range % 2 != 0) {
    carpool_request_end();
  }
}

// Domains differ by their address; those that do not fit share the last one.
template <class Character>
Domain create_domain(const Character* /*name*/) {
  static constinit const std::array<char, 256> domains{};
  static constinit std::atomic<std::size_t> made{0};
  return &domains[std::min(made.fetch_add(1, std::memory_order_relaxed), domains.size() - 1)];
}

// Functions with NVTX's signatures.
template <class Message>
int push(const Message* message) {
  return pushed.push(nullptr, names_request(message));
}
int pop() {
  return pushed.pop(nullptr);
}
template <class Message>
std::uint64_t start(const Message* message) {
  return start(names_request(message));
}
int push_in(Domain domain, const EventAttributes* event) {
  return pushed.push(domain, names_request(event));
}
int pop_in(Domain domain) {
  return pushed.pop(domain);
}
std::uint64_t start_in(Domain /*domain*/, const EventAttributes* event) {
  return start(names_request(event));
}
void end_in(Domain /*domain*/, std::uint64_t range) {
  end(range);
}

// The slots of NVTX for the functions of a module.
class Slots {
 public:
  Slots(const nvtx::CallbacksTable& callbacks, nvtx::Module module) {
    if (callbacks.module_functions(static_cast<std::uint32_t>(module), &table_, &count_) == 0) {
      count_ = 0;
    }
  }

  template <class Number, class Type>
  void fill(Number number, Type* function) {
    const auto place = static_cast<unsigned>(number);
    if (place < count_ && table_[place] != nullptr) {
      *table_[place] = reinterpret_cast<nvtx::Function>(function);
    }
  }

 private:
  nvtx::FunctionTable table_ = nullptr;
  unsigned count_ = 0;
};

void fill_slots(const nvtx::CallbacksTable& callbacks) {
  Slots core(callbacks, nvtx::Module::Core);
  core.fill(CoreCall::RangeStartEx, &start<EventAttributes>);
  core.fill(CoreCall::RangeStartA, &start<char>);
  core.fill(CoreCall::RangeStartW, &start<wchar_t>);
  core.fill(CoreCall::RangeEnd, &end);
  core.fill(CoreCall::RangePushEx, &push<EventAttributes>);
  core.fill(CoreCall::RangePushA, &push<char>);
  core.fill(CoreCall::RangePushW, &push<wchar_t>);
  core.fill(CoreCall::RangePop, &pop);
  Slots core2(callbacks, nvtx::Module::Core2);
  core2.fill(Core2Call::DomainRangeStartEx, &start_in);
  core2.fill(Core2Call::DomainRangeEnd, &end_in);
  core2.fill(Core2Call::DomainRangePushEx, &push_in);
  core2.fill(Core2Call::DomainRangePop, &pop_in);
  core2.fill(Core2Call::DomainRegisterStringA, &register_text<char>);
  core2.fill(Core2Call::DomainRegisterStringW, &register_text<wchar_t>);
  core2.fill(Core2Call::DomainCreateA, &create_domain<char>);
  core2.fill(Core2Call::DomainCreateW, &create_domain<wchar_t>);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): NVTX looks for this name
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    nvtx::GetExportTable get_table);

// 0: NVTX stays empty, for a program without requests.
extern "C" int InitializeInjectionNvtx2(nvtx::GetExportTable get_table) {
  if (!shim_wanted() || setting("CARPOOL_SHIM_CLASS") != "slo" || get_table == nullptr) {
    return 0;
  }
  const auto* const callbacks =
      static_cast<const nvtx::CallbacksTable*>(get_table(nvtx::kCallbacksTable));
  if (callbacks == nullptr || callbacks->size < sizeof(nvtx::CallbacksTable) ||
      callbacks->module_functions == nullptr) {
    return 0;
  }
  wanted_name.read();
  fill_slots(*callbacks);
  return 1;
}
// NOLINTEND(readability-identifier-naming)

}  // namespace carpool::interpose
