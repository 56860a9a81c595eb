// The library is loaded into programs on machines older than the one it is built on: down to glibc
// 2.28. The linker passes references to newer symbols, those of the static C++ runtime included, to
// the functions here (--wrap, see CMakeLists.txt), which use the oldest version of the symbol or do
// without. tests/checks/hardening.py fails on a symbol that is still too new.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"

// NOLINTBEGIN: names, linkage and types are those of glibc and its linker

namespace carpool::gpu {

// OLD(result, name, version, parameters, arguments): __wrap_name() calls name@version.
#define OLD(RESULT, NAME, VERSION, PARAMETERS, ARGUMENTS) \
  extern "C" RESULT old_##NAME PARAMETERS;                \
  __asm__(".symver old_" #NAME "," #NAME "@" VERSION);    \
  extern "C" RESULT __wrap_##NAME PARAMETERS;             \
  extern "C" RESULT __wrap_##NAME PARAMETERS {            \
    return old_##NAME ARGUMENTS;                          \
  }

using Destructor = void (*)(void*);
using Routine = void* (*)(void*);

OLD(void*, dlopen, "GLIBC_2.2.5", (const char* name, int how), (name, how))
OLD(void*, dlsym, "GLIBC_2.2.5", (void* library, const char* name), (library, name))
OLD(char*, dlerror, "GLIBC_2.2.5", (), ())
OLD(int, dlinfo, "GLIBC_2.3.3", (void* library, int what, void* answer), (library, what, answer))
OLD(int,
    pthread_create,
    "GLIBC_2.2.5",
    (pthread_t * thread, const pthread_attr_t* how, Routine routine, void* argument),
    (thread, how, routine, argument))
OLD(int, pthread_join, "GLIBC_2.2.5", (pthread_t thread, void** result), (thread, result))
OLD(int, pthread_detach, "GLIBC_2.2.5", (pthread_t thread), (thread))
OLD(int, pthread_once, "GLIBC_2.2.5", (pthread_once_t * once, void (*routine)()), (once, routine))
OLD(int,
    pthread_key_create,
    "GLIBC_2.2.5",
    (pthread_key_t * key, Destructor destructor),
    (key, destructor))
OLD(int,
    __pthread_key_create,
    "GLIBC_2.2.5",
    (pthread_key_t * key, Destructor destructor),
    (key, destructor))
OLD(int, pthread_key_delete, "GLIBC_2.2.5", (pthread_key_t key), (key))
OLD(void*, pthread_getspecific, "GLIBC_2.2.5", (pthread_key_t key), (key))
OLD(int, pthread_setspecific, "GLIBC_2.2.5", (pthread_key_t key, const void* value), (key, value))
OLD(int,
    pthread_sigmask,
    "GLIBC_2.2.5",
    (int how, const sigset_t* set, sigset_t* before),
    (how, set, before))

// Newer than 2.28 in every version.
extern "C" {

char __wrap___libc_single_threaded = 0;  // 2.32; 0: always count references atomically

int __wrap_fstat(int file, struct stat* status);
int __wrap_fstat(int file, struct stat* status) {  // 2.33
  return static_cast<int>(::syscall(SYS_fstat, file, status));
}

std::uint32_t __wrap_arc4random();
std::uint32_t __wrap_arc4random() {  // 2.36
  std::uint32_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

// 2.30; the C++ runtime waits by the monotonic clock only. Here by the wall clock, whose jumps must
// not make a wait long; a wait may end early at any time.
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex,
                                  clockid_t clock,
                                  const struct timespec* until);
int __wrap_pthread_cond_clockwait(pthread_cond_t* condition,
                                  pthread_mutex_t* mutex,
                                  clockid_t /*clock*/,
                                  const struct timespec* until) {
  constexpr double kNanosecond = 1e-9;
  constexpr double kLongest = 1.0;
  const double left = static_cast<double>(until->tv_sec) +
                      static_cast<double>(until->tv_nsec) * kNanosecond -
                      static_cast<double>(monotonic_ns()) * kNanosecond;
  if (left <= 0.0) {
    return ETIMEDOUT;
  }
  const double end = epoch_seconds() + (left < kLongest ? left : kLongest);
  const auto seconds = static_cast<std::time_t>(end);
  const timespec wake{
      .tv_sec = seconds,
      .tv_nsec = static_cast<long>((end - static_cast<double>(seconds)) / kNanosecond)};
  const int result = ::pthread_cond_timedwait(condition, mutex, &wake);
  return result == ETIMEDOUT && left > kLongest ? 0 : result;
}

// 2.35: by which the unwinder of exceptions finds the tables of the code at an address.
int __wrap__dl_find_object(void* address, struct dl_find_object* found);
int __wrap__dl_find_object(void* address, struct dl_find_object* found) {
  struct Search {
    std::uintptr_t address;
    dl_find_object* found;
  } search{reinterpret_cast<std::uintptr_t>(address), found};
  const auto look = [](dl_phdr_info* object, std::size_t /*size*/, void* data) {
    auto& [wanted, answer] = *static_cast<Search*>(data);
    bool inside = false;
    void* tables = nullptr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = object->dlpi_phdr[i];
      const std::uintptr_t start = object->dlpi_addr + part.p_vaddr;
      if (part.p_type == PT_LOAD && wanted >= start && wanted < start + part.p_memsz) {
        inside = true;
        answer->dlfo_map_start = reinterpret_cast<void*>(start);
        answer->dlfo_map_end = reinterpret_cast<void*>(start + part.p_memsz);
      } else if (part.p_type == PT_GNU_EH_FRAME) {
        tables = reinterpret_cast<void*>(start);
      }
    }
    answer->dlfo_eh_frame = tables;
    return inside && tables != nullptr ? 1 : 0;
  };
  return ::dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
}

}  // namespace carpool::gpu
// NOLINTEND
