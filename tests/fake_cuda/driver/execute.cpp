// What tasks do.
#include <algorithm>
#include <cstring>

#include "admission.hpp"
#include "graph.hpp"
#include "memory.hpp"
#include "submit.hpp"

namespace fake_cuda {

namespace {

struct Rows {
  char* base = nullptr;
  std::size_t pitch = 0;
  std::size_t height = 0;  // rows of a layer
};

Rows source_of(const Copy3D& copy) {
  if (copy.source_type == kMemoryArray) {
    return {reinterpret_cast<char*>(copy.source_array->memory),
            copy.source_array->pitch,
            std::max<std::size_t>(copy.source_array->shape.height, 1)};
  }
  const auto host = reinterpret_cast<DevicePtr>(copy.source_host);
  return {reinterpret_cast<char*>(copy.source_type == kMemoryHost ? host : copy.source_device),
          copy.source_pitch,
          copy.source_height};
}

Rows target_of(const Copy3D& copy) {
  if (copy.target_type == kMemoryArray) {
    return {reinterpret_cast<char*>(copy.target_array->memory),
            copy.target_array->pitch,
            std::max<std::size_t>(copy.target_array->shape.height, 1)};
  }
  const auto host = reinterpret_cast<DevicePtr>(copy.target_host);
  return {reinterpret_cast<char*>(copy.target_type == kMemoryHost ? host : copy.target_device),
          copy.target_pitch,
          copy.target_height};
}

void set_bytes(const MemsetNodeParams& set) {
  for (std::size_t row = 0; row < set.height; ++row) {
    char* place = reinterpret_cast<char*>(set.target) + row * set.pitch;
    for (std::size_t element = 0; element < set.width; ++element) {
      std::memcpy(place + element * set.element_size, &set.value, set.element_size);
    }
  }
}

bool value_reached(const ValueTask& task) {
  const auto have = task.wide ? reinterpret_cast<std::atomic<std::uint64_t>*>(task.address)->load()
                              : reinterpret_cast<std::atomic<std::uint32_t>*>(task.address)->load();
  switch (task.flags & 3U) {
    case 0:
      return task.wide ? static_cast<std::int64_t>(have - task.value) >= 0
                       : static_cast<std::int32_t>(have - task.value) >= 0;
    case 1:
      return have == task.value;
    case 2:
      return (have & task.value) != 0;
    default:
      return (~(have | task.value) & (task.wide ? ~0ULL : 0xFFFF'FFFFULL)) != 0;
  }
}

void write_value(const ValueTask& task) {
  if (task.wide) {
    reinterpret_cast<std::atomic<std::uint64_t>*>(task.address)->store(task.value);
  } else {
    reinterpret_cast<std::atomic<std::uint32_t>*>(task.address)
        ->store(static_cast<std::uint32_t>(task.value));
  }
}

void run_kernel(Driver& driver, const KernelTask& kernel, bool in_graph) {
  Counts& counts = driver.counts();
  counts.add(in_graph ? Count::graph_kernel_nodes : Count::kernel_launches);
  if (kernel.cooperative && !in_graph) {
    counts.add(Count::cooperative_launches);
  }
  if (kernel.green != nullptr && !in_graph) {
    counts.add(Count::green_launches);
  }
  // A kernel whose effect can be seen: it adds one to the number that its parameter points to.
  if (kernel.parameter != 0) {
    ++*reinterpret_cast<std::uint64_t*>(kernel.parameter);
  }
}

// One overload for each kind of task.
class Maker {
 public:
  Maker(Driver& driver, Stream& stream, bool in_graph)
      : driver_(driver), stream_(stream), in_graph_(in_graph) {}

  Operation operator()(const KernelTask& task) const {
    Operation operation;
    operation.ns = task.function->ns;
    operation.blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(task.blocks(), ~0U));
    operation.priority = task.priority;
    operation.green = task.green;
    operation.complete = [this_driver = &driver_, task, in_graph = in_graph_](std::int64_t) {
      run_kernel(*this_driver, task, in_graph);
    };
    return operation;
  }
  Operation operator()(const CopyTask& task) const {
    Operation operation;
    operation.ns = driver_.copy_ns(bytes_of(task.copy));
    operation.complete = [counts = &driver_.counts(), copy = task.copy](std::int64_t) {
      copy_bytes(copy);
      counts->add(Count::copies);
      counts->add(Count::copy_bytes, bytes_of(copy));
    };
    return operation;
  }
  Operation operator()(const SetTask& task) const {
    Operation operation;
    operation.complete = [counts = &driver_.counts(), set = task.set](std::int64_t) {
      set_bytes(set);
      counts->add(Count::sets);
      counts->add(Count::set_bytes, set.width * set.height * set.element_size);
    };
    return operation;
  }
  Operation operator()(const HostTask& task) const {
    Operation operation;
    operation.on_host = [task] { task.function(task.data); };
    operation.complete = [counts = &driver_.counts()](std::int64_t) {
      counts->add(Count::host_functions);
    };
    return operation;
  }
  Operation operator()(const CallbackTask& task) const {
    Operation operation;
    operation.on_host = [task] { task.function(task.stream, kSuccess, task.data); };
    operation.complete = [counts = &driver_.counts()](std::int64_t) {
      counts->add(Count::host_functions);
    };
    return operation;
  }
  Operation operator()(const RecordTask& task) const {
    Operation operation;
    auto time = std::make_shared<std::int64_t>(0);
    task.event->time = time;
    task.event->point = {stream_.progress, stream_.progress->submitted + 1};
    operation.complete = [time, counts = &driver_.counts()](std::int64_t when) {
      *time = when;
      counts->add(Count::event_records);
    };
    return operation;
  }
  Operation operator()(const WaitTask& task) const {
    Operation operation;
    operation.after.push_back(task.event->point);
    return operation;
  }
  Operation operator()(const ValueTask& task) const {
    Operation operation;
    if (task.waits) {
      operation.ready = [task] { return value_reached(task); };
      operation.complete = [counts = &driver_.counts()](std::int64_t) {
        counts->add(Count::value_waits);
      };
      return operation;
    }
    operation.complete = [task, counts = &driver_.counts()](std::int64_t) {
      write_value(task);
      counts->add(Count::value_writes);
    };
    return operation;
  }
  // The address of a graph's or stream's allocation is known when it is made; the memory is there
  // from then on.
  Operation operator()(const AllocTask& /*task*/) const { return {}; }
  Operation operator()(const FreeTask& task) const {
    Operation operation;
    operation.complete = [this_driver = &driver_, task, in_graph = in_graph_](std::int64_t) {
      if (!in_graph) {
        free_async(*this_driver, task.address);
      }
    };
    return operation;
  }
  Operation operator()(const EmptyTask& /*task*/) const { return {}; }
  Operation operator()(const GraphTask& /*task*/) const { return {}; }

 private:
  Driver& driver_;
  Stream& stream_;
  bool in_graph_;
};

}  // namespace

std::uint64_t bytes_of(const Copy3D& copy) {
  return static_cast<std::uint64_t>(copy.width) * copy.height * copy.depth;
}

void copy_bytes(const Copy3D& copy) {
  const Rows source = source_of(copy);
  const Rows target = target_of(copy);
  for (std::size_t layer = 0; layer < copy.depth; ++layer) {
    for (std::size_t row = 0; row < copy.height; ++row) {
      const std::size_t from =
          ((copy.source_z + layer) * source.height + copy.source_y + row) * source.pitch;
      const std::size_t to =
          ((copy.target_z + layer) * target.height + copy.target_y + row) * target.pitch;
      std::memmove(
          target.base + to + copy.target_x, source.base + from + copy.source_x, copy.width);
    }
  }
}

Copy3D plain_copy(DevicePtr target, DevicePtr source, std::size_t bytes) {
  Copy3D copy{};
  copy.source_type = kMemoryUnified;
  copy.source_device = source;
  copy.target_type = kMemoryUnified;
  copy.target_device = target;
  copy.width = bytes;
  copy.height = 1;
  copy.depth = 1;
  return copy;
}

Operation operation_of(Driver& driver, Stream& stream, const Task& task, bool in_graph) {
  return std::visit(Maker(driver, stream, in_graph), task);
}

Result submit(Stream* handle, Default meaning, Task task, Wait wait) {
  Driver& driver = Driver::get();
  Guard guard = driver.lock();
  Stream* stream = driver.find_stream(handle, meaning);
  if (stream == nullptr) {
    return driver.why_no_stream(handle);
  }
  if (auto* kernel = std::get_if<KernelTask>(&task); kernel != nullptr) {
    kernel->priority = kernel->priority == 0 ? stream->priority : kernel->priority;
    kernel->green = stream->context->green.get();
  }
  Result result = admit(driver, *stream, task);
  if (result != kSuccess) {
    return result;
  }
  if (Captures::get().intercept(driver, *stream, task, wait, result)) {
    return result;
  }
  if (const auto* kernel = std::get_if<KernelTask>(&task);
      kernel != nullptr && kernel->function->ns == 0 && driver.idle()) {
    // Nothing to wait for and nothing to do: launches stay cheap, so that what a library in front
    // of the driver adds can be measured.
    run_kernel(driver, *kernel, false);
    return kSuccess;
  }
  driver.enqueue(guard, *stream, operation_of(driver, *stream, task, false));
  if (wait == Wait::Yes) {
    driver.wait_for(guard, stream->end());
  }
  return kSuccess;
}

}  // namespace fake_cuda
