#include "interpose/launch/coverage.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <dlfcn.h>
#include <link.h>
#include <map>
#include <set>

namespace carpool::interpose {
namespace {

constexpr std::uint64_t kLegacy = 1;
constexpr std::uint64_t kPerThread = 2;

const std::vector<std::string>& wrapped_names() {
  static const std::vector<std::string> names{
#define DRIVER_CALL(NAME, TYPES) #NAME,
#include "interpose/library/driver_calls.inc"
#undef DRIVER_CALL
#define DRIVER_COPY(NAME, PARAMETERS, ARGUMENTS, COUNT) #NAME,
#include "interpose/library/copy_calls.inc"
#undef DRIVER_COPY
  };
  return names;
}

// "cuMemAlloc" of "cuMemAlloc_v2", as programs ask for it.
std::string base_name(std::string name) {
  for (const char* suffix : {"_ptsz", "_ptds", "_v2", "_v3", "_v4"}) {
    if (name.ends_with(suffix)) {
      name.resize(name.size() - std::string_view(suffix).size());
    }
  }
  return name;
}

// Wherever a driver may have got another version of a function.
std::vector<int> versions_up_to(int newest) {
  std::vector<int> versions;
  for (int major = 2; major * 1000 <= newest; ++major) {
    for (int minor = 0; minor < 100 && major * 1000 + minor <= newest; minor += 10) {
      versions.push_back(major * 1000 + minor);
    }
  }
  return versions;
}

// Either form of cuGetProcAddress.
class LookUp {
 public:
  explicit LookUp(void* library)
      : second_(reinterpret_cast<Second*>(::dlsym(library, "cuGetProcAddress_v2"))),
        first_(reinterpret_cast<First*>(::dlsym(library, "cuGetProcAddress"))) {}

  [[nodiscard]] void* operator()(const std::string& name, int version, std::uint64_t flags) const {
    void* found = nullptr;
    int answer = 0;
    const int status = second_ != nullptr  ? second_(name.c_str(), &found, version, flags, &answer)
                       : first_ != nullptr ? first_(name.c_str(), &found, version, flags)
                                           : 1;
    return status == 0 ? found : nullptr;
  }

 private:
  using Second = int(const char*, void**, int, std::uint64_t, int*);
  using First = int(const char*, void**, int, std::uint64_t);
  Second* second_;
  First* first_;
};

int version_of(void* driver) {
  int version = 0;
  auto* const ask = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  return ask != nullptr && ask(&version) == 0 ? version : 0;
}

// Functions of the driver with the wrappers that stand for them; several names may share one.
std::map<void*, std::set<void*>> wrappers_of(void* library, void* driver) {
  std::map<void*, std::set<void*>> wrappers;
  for (const std::string& name : wrapped_names()) {
    if (void* const function = ::dlsym(driver, name.c_str())) {
      wrappers[function].insert(::dlsym(library, name.c_str()));
    }
  }
  return wrappers;
}

std::uint64_t check_name(const std::string& name,
                         const std::vector<int>& versions,
                         const LookUp& ours,
                         const LookUp& real,
                         const std::map<void*, std::set<void*>>& wrappers) {
  std::uint64_t asked = 0;
  for (const int version : versions) {
    for (const std::uint64_t flags : {kLegacy, kPerThread}) {
      void* const function = real(name, version, flags);
      if (function == nullptr) {
        continue;
      }
      ++asked;
      const auto known = wrappers.find(function);
      if (known == wrappers.end() || !known->second.contains(ours(name, version, flags))) {
        std::printf("missed=%s, CUDA %d.%d%s\n",
                    name.c_str(),
                    version / 1000,
                    version % 1000 / 10,
                    flags == kPerThread ? ", per-thread stream" : "");
      }
    }
  }
  return asked;
}

}  // namespace

int print_coverage(const char* driver) {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const link_map* opened = nullptr;
  void* const real = ::dlopen(driver, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr || real == nullptr ||
      ::dlinfo(library, RTLD_DI_LINKMAP, static_cast<void*>(&opened)) != 0) {
    std::printf("%s\n", ::dlerror());
    return 1;
  }
  std::printf("opened=%s\n", opened->l_name);
  const int version = version_of(real);
  std::printf("version=%d\n", version);
  std::set<std::string> names;
  for (const std::string& name : wrapped_names()) {
    names.insert(base_name(name));
  }
  names.erase("cuGetProcAddress");  // answered by itself, also where the driver has only one form
  const auto wrappers = wrappers_of(library, real);
  std::uint64_t asked = 0;
  for (const std::string& name : names) {
    asked += check_name(name, versions_up_to(version), LookUp(library), LookUp(real), wrappers);
  }
  std::printf("asked=%llu\n", static_cast<unsigned long long>(asked));
  return 0;
}

Coverage parse_coverage(std::string_view text) {
  Coverage coverage;
  const auto read_number = [](std::string_view digits, auto& number) {
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  };
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const std::size_t sign = line.find('=');
    const std::string_view name = line.substr(0, sign);
    const std::string_view value = sign == std::string_view::npos ? "" : line.substr(sign + 1);
    if (name == "opened") {
      coverage.opened = value;
    } else if (name == "version") {
      read_number(value, coverage.driver_version);
    } else if (name == "asked") {
      read_number(value, coverage.asked);
    } else if (name == "missed") {
      coverage.missed.emplace_back(value);
    }
  }
  return coverage;
}

}  // namespace carpool::interpose
