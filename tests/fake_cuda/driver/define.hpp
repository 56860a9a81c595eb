// How an exported function is written: its name, its parameters and the expression that it returns.
// Of twins the first one takes handle 0 for the legacy default stream, the second one for that of
// the calling thread; the expression sees which as kDefault.
#pragma once

#include "driver.hpp"

#define FAKE_CUDA_DEFINE(name, parameters, expression)                    \
  FAKE_CUDA_EXPORT Result name parameters {                               \
    if (const Result entered = enter(Entry::name); entered != kSuccess) { \
      return entered;                                                     \
    }                                                                     \
    return expression;                                                    \
  }

#define FAKE_CUDA_DEFINE_ONE(name, meaning, parameters, expression)       \
  FAKE_CUDA_EXPORT Result name parameters {                               \
    if (const Result entered = enter(Entry::name); entered != kSuccess) { \
      return entered;                                                     \
    }                                                                     \
    constexpr Default kDefault = meaning;                                 \
    return expression;                                                    \
  }

#define FAKE_CUDA_DEFINE_TWINS(name, suffix, parameters, expression)  \
  FAKE_CUDA_DEFINE_ONE(name, Default::Legacy, parameters, expression) \
  FAKE_CUDA_DEFINE_ONE(name##suffix, Default::PerThread, parameters, expression)
