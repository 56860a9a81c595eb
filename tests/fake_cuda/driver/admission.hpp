// Which tasks a stream takes, by the contexts that both belong to.
#pragma once

#include "driver.hpp"

namespace fake_cuda {

Result admit(Driver& driver, const Stream& stream, const Task& task);

}  // namespace fake_cuda
