#include "interpose/library/own_thread.hpp"

#include <csignal>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace carpool::interpose {

namespace {

// The call of the C library would be the program's own where that replaces it.
void change_mask(int how, const sigset_t& signals, sigset_t* before = nullptr) {
  constexpr std::size_t kBytesOfKernel = 8;
  ::syscall(SYS_rt_sigprocmask, how, &signals, before, kBytesOfKernel);
}

}  // namespace

bool start_thread(void* (*function)(void*), void* argument, std::size_t stack_bytes) {
  sigset_t all{};
  ::sigfillset(&all);
  sigset_t before{};
  change_mask(SIG_BLOCK, all, &before);
  pthread_attr_t attributes{};
  pthread_t thread{};
  bool started = false;
  if (::pthread_attr_init(&attributes) == 0) {
    started = (stack_bytes == 0 || ::pthread_attr_setstacksize(&attributes, stack_bytes) == 0) &&
              ::pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0 &&
              ::pthread_create(&thread, &attributes, function, argument) == 0;
    ::pthread_attr_destroy(&attributes);
  }
  change_mask(SIG_SETMASK, before);
  return started;
}

}  // namespace carpool::interpose
