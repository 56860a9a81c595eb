// The HTTP library, and what it needs around it. Included by .cpp files only.
#pragma once

#include <csignal>
#include <httplib.h>

// A macro of <resolv.h>, which the library includes. Eigen has a parameter of that name.
#undef _res

namespace carpool::app {

// A peer that closes a TLS connection does not end this process while one of these lives.
class NoPipeSignal {
 public:
  NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;
  ~NoPipeSignal();

 private:
  sigset_t before_{};
};

}  // namespace carpool::app
