// The library is loaded into programs on machines older than the one it is built on: down to glibc
// 2.28. The linker passes references to newer symbols to the functions here (--wrap, see
// CMakeLists.txt), which use the oldest version of the symbol or a system call.
// tests/checks/hardening.py fails on a symbol that is still too new.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace carpool::interpose {

// NOLINTBEGIN: names, linkage and types are those of glibc and its linker

#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#else
#define OLDEST "GLIBC_2.17"
#endif

// OLD(result, name, parameters, arguments): __wrap_name() calls the oldest version of name.
#define OLD(RESULT, NAME, PARAMETERS, ARGUMENTS)      \
  extern "C" RESULT old_##NAME PARAMETERS;            \
  __asm__(".symver old_" #NAME "," #NAME "@" OLDEST); \
  extern "C" RESULT __wrap_##NAME PARAMETERS;         \
  extern "C" RESULT __wrap_##NAME PARAMETERS {        \
    return old_##NAME ARGUMENTS;                      \
  }

OLD(void*, dlopen, (const char* name, int how), (name, how))
OLD(void*, dlsym, (void* library, const char* name), (library, name))
OLD(int, dladdr, (const void* address, Dl_info* info), (address, info))
OLD(int,
    pthread_create,
    (pthread_t * thread, const pthread_attr_t* how, void* (*function)(void*), void* argument),
    (thread, how, function, argument))
OLD(int, pthread_attr_setstacksize, (pthread_attr_t * how, size_t bytes), (how, bytes))

// Macros before 2.33.
extern "C" {
int __wrap_stat(const char* path, struct stat* status);
int __wrap_stat(const char* path, struct stat* status) {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}
int __wrap_fstat(int file, struct stat* status);
int __wrap_fstat(int file, struct stat* status) {
  return static_cast<int>(::syscall(SYS_fstat, file, status));
}
}

// NOLINTEND

}  // namespace carpool::interpose
