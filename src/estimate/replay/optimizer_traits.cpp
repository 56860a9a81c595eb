#include "estimate/replay/optimizer_traits.hpp"

namespace carpool::estimate {

OptimizerTraits optimizer_traits(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::Sgd:
      return {};
    case Optimizer::Momentum:
      return {.states = 1};
    case Optimizer::Adam:
      return {.states = 2, .foreach_temporaries = 1};
    case Optimizer::AdamFused:
      return {.states = 2};
    case Optimizer::AdamSingle:
      return {.states = 2, .single_temporaries = 2};
    case Optimizer::RmsProp:
      return {.states = 1, .foreach_temporaries = 1};
    case Optimizer::Adagrad:
      return {.states = 1, .states_at_start = true, .foreach_temporaries = 2};
  }
  return {};
}

}  // namespace carpool::estimate
