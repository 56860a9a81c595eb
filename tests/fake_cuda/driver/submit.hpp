// From a task to an operation of a stream, or to a node of the graph that the stream is captured
// into.
#pragma once

#include "driver.hpp"

namespace fake_cuda {

enum class Wait { No, Yes };

// Gives the task to the stream of the handle.
Result submit(Stream* handle, Default meaning, Task task, Wait wait = Wait::No);

// What the task does when it runs.
Operation operation_of(Driver& driver, Stream& stream, const Task& task, bool in_graph);
// Moves the bytes.
void copy_bytes(const Copy3D& copy);
[[nodiscard]] std::uint64_t bytes_of(const Copy3D& copy);
// A copy of one row, between addresses of any kind.
[[nodiscard]] Copy3D plain_copy(DevicePtr target, DevicePtr source, std::size_t bytes);

}  // namespace fake_cuda
