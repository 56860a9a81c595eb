// Commands of the program that allocate.
#include <algorithm>
#include <array>
#include <vector>

#include "program.hpp"

namespace carpool::shim_test {
namespace {

std::size_t free_memory(const DriverDoor& cuda) {
  std::size_t free = 0;
  std::size_t total = 0;
  static_cast<void>(cuda("cuMemGetInfo_v2", &free, &total));
  return free;
}

}  // namespace

// Allocates pieces until one is refused, frees all, and tells how many there were.
int run_fill(Program& program, int megabytes) {
  const DriverDoor& cuda = program.cuda;
  std::size_t free = 0;
  std::size_t total = 0;
  int failures = cuda("cuMemGetInfo_v2", &free, &total) != 0 ? 1 : 0;
  print("free", free);
  print("total", total);
  failures += cuda("cuDeviceTotalMem_v2", &total, program.device) != 0 ? 1 : 0;
  print("device_total", total);
  std::vector<DevicePointer> pieces;
  const std::size_t bytes = static_cast<std::size_t>(megabytes) * kMegabyte;
  int status = 0;
  for (DevicePointer piece = 0; pieces.size() < 10000; pieces.push_back(piece)) {
    status = cuda("cuMemAlloc_v2", &piece, bytes);
    if (status != 0) {
      break;
    }
  }
  print("pieces", pieces.size());
  print("refused_with", static_cast<std::uint64_t>(status));
  failures += cuda("cuMemGetInfo_v2", &free, &total) != 0 ? 1 : 0;
  print("free_when_full", free);
  for (const DevicePointer piece : pieces) {
    failures += cuda("cuMemFree_v2", piece) != 0 ? 1 : 0;
  }
  return failures;
}

// Takes and frees all that it gets, again and again.
int run_race(Program& program, int rounds) {
  const DriverDoor& cuda = program.cuda;
  std::uint64_t most = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<DevicePointer> pieces;
    DevicePointer piece = 0;
    while (pieces.size() < 1000 && cuda("cuMemAlloc_v2", &piece, kMegabyte) == 0) {
      pieces.push_back(piece);
    }
    most = std::max(most, std::uint64_t{pieces.size()});
    for (const DevicePointer each : pieces) {
      static_cast<void>(cuda("cuMemFree_v2", each));
    }
  }
  print("most", most);
  return 0;
}

// Free memory that the driver reports, before and after an allocation of each family.
int run_families(Program& program, int /*count*/) {
  const DriverDoor& cuda = program.cuda;
  const Handle stream = nullptr;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  const auto free_now = [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    expect(cuda("cuMemGetInfo_v2", &free, &total));
    return free;
  };
  const auto told = [&](const char* family, std::size_t before) {
    print(family, before - free_now());
  };
  const std::size_t start = free_now();
  constexpr std::size_t kBytes = 8 * kMegabyte;
  DevicePointer pointer = 0;
  expect(cuda("cuMemAllocManaged", &pointer, kBytes, 1U));
  told("managed", start);
  expect(cuda("cuMemFree_v2", pointer));
  std::size_t pitch = 0;
  expect(cuda("cuMemAllocPitch_v2", &pointer, &pitch, std::size_t{4096}, std::size_t{2048}, 4U));
  told("pitched", start);
  expect(cuda("cuMemFree_v2", pointer));
  expect(cuda("cuMemAllocAsync", &pointer, kBytes, stream));
  told("stream_ordered", start);
  expect(cuda("cuMemFreeAsync", pointer, stream));
  expect(cuda("cuStreamSynchronize", stream));
  constexpr int kUnsigned32 = 3;
  const interpose::ArrayShape shape{
      .width = 1024, .height = 2048, .format = kUnsigned32, .channels = 1};
  Handle array = nullptr;
  expect(cuda("cuArrayCreate_v2", &array, &shape));
  told("array", start);
  expect(cuda("cuArrayDestroy", array));

  interpose::AllocationProperties properties{};
  properties.type = 1;
  properties.location = {.type = interpose::kLocationDevice, .id = 0};
  interpose::MemoryHandle memory = 0;
  DevicePointer range = 0;
  expect(cuda("cuMemCreate", &memory, kBytes, &properties, 0ULL));
  told("physical", start);
  expect(cuda("cuMemAddressReserve", &range, kBytes, std::size_t{0}, DevicePointer{0}, 0ULL));
  expect(cuda("cuMemMap", range, kBytes, std::size_t{0}, memory, 0ULL));
  expect(cuda("cuMemRelease", memory));
  told("physical_mapped", start);
  expect(cuda("cuMemUnmap", range, kBytes));
  told("physical_gone", start);
  constexpr int kLocationHost = 2;
  properties.location = {.type = kLocationHost, .id = 0};
  if (cuda("cuMemCreate", &memory, kBytes, &properties, 0ULL) == 0) {
    told("host", start);
    expect(cuda("cuMemRelease", memory));
  }
  print("at_end", start - free_now());
  // A pointer that this process has not allocated: the driver refuses, and nothing is given back.
  print("foreign_free", static_cast<std::uint64_t>(cuda("cuMemFree_v2", DevicePointer{4096})));
  return failures;
}

// A graph that allocates and frees while it runs.
int run_graph_memory(Program& program, int megabytes) {
  const DriverDoor& cuda = program.cuda;
  const std::size_t start = free_memory(cuda);
  constexpr int kRelaxed = 2;
  Handle stream = nullptr;
  Handle graph = nullptr;
  Handle executable = nullptr;
  DevicePointer pointer = 0;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  expect(cuda("cuStreamCreate", &stream, 1U));
  expect(cuda("cuStreamBeginCapture_v2", stream, kRelaxed));
  expect(
      cuda("cuMemAllocAsync", &pointer, static_cast<std::size_t>(megabytes) * kMegabyte, stream));
  expect(program.launch("cuLaunchKernel", stream));
  expect(cuda("cuMemFreeAsync", pointer, stream));
  expect(cuda("cuStreamEndCapture", stream, &graph));
  print("captured", start - free_memory(cuda));
  const int made = cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  print("made", static_cast<std::uint64_t>(made));
  if (made == 0) {
    print("executable", start - free_memory(cuda));
    expect(cuda("cuGraphLaunch", executable, stream));
    expect(cuda("cuStreamSynchronize", stream));
    expect(cuda("cuGraphExecDestroy", executable));
  }
  return failures;
}

// A pool that keeps what was freed, as PyTorch sets it.
int run_pool(Program& program, int megabytes) {
  const DriverDoor& cuda = program.cuda;
  const std::size_t start = free_memory(cuda);
  const std::size_t bytes = static_cast<std::size_t>(megabytes) * kMegabyte;
  const Handle stream = nullptr;
  Handle pool = nullptr;
  DevicePointer pointer = 0;
  std::uint64_t keep = ~std::uint64_t{0};
  constexpr int kReleaseThreshold = 4;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  expect(cuda("cuDeviceGetDefaultMemPool", &pool, program.device));
  expect(cuda("cuMemPoolSetAttribute", pool, kReleaseThreshold, static_cast<void*>(&keep)));
  for (int i = 0; i < 3; ++i) {  // each from what the one before has left
    expect(cuda("cuMemAllocAsync", &pointer, bytes, stream));
    expect(cuda("cuMemFreeAsync", pointer, stream));
    expect(cuda("cuStreamSynchronize", stream));
  }
  print("kept", start - free_memory(cuda));
  expect(cuda("cuMemAllocAsync", &pointer, bytes, stream));
  DevicePointer beside = 0;
  print("in_use", static_cast<std::uint64_t>(cuda("cuMemAlloc_v2", &beside, bytes)));
  expect(cuda("cuMemFreeAsync", pointer, stream));
  print("beside_it", static_cast<std::uint64_t>(cuda("cuMemAlloc_v2", &pointer, bytes)));
  expect(cuda("cuMemFree_v2", pointer));
  expect(cuda("cuMemAllocAsync", &pointer, bytes, stream));
  expect(cuda("cuMemFreeAsync", pointer, stream));
  expect(cuda("cuStreamSynchronize", stream));
  expect(cuda("cuMemPoolTrimTo", pool, std::size_t{0}));
  print("trimmed", start - free_memory(cuda));
  return failures;
}

// A pool that keeps several freed pieces, and then is asked for more than the quota has left beside
// them.
int run_pool_growth(Program& program, int megabytes) {
  const DriverDoor& cuda = program.cuda;
  const std::size_t bytes = static_cast<std::size_t>(megabytes) * kMegabyte;
  const Handle stream = nullptr;
  Handle pool = nullptr;
  std::array<DevicePointer, 4> pieces{};
  DevicePointer larger = 0;
  std::uint64_t keep = ~std::uint64_t{0};
  constexpr int kReleaseThreshold = 4;
  int failures = 0;
  const auto expect = [&failures](int status) { failures += status != 0 ? 1 : 0; };
  expect(cuda("cuDeviceGetDefaultMemPool", &pool, program.device));
  expect(cuda("cuMemPoolSetAttribute", pool, kReleaseThreshold, static_cast<void*>(&keep)));
  for (DevicePointer& piece : pieces) {
    expect(cuda("cuMemAllocAsync", &piece, bytes / pieces.size(), stream));
  }
  for (const DevicePointer piece : pieces) {
    expect(cuda("cuMemFreeAsync", piece, stream));
  }
  print("larger",
        static_cast<std::uint64_t>(cuda("cuMemAllocAsync", &larger, bytes + kMegabyte, stream)));
  print("beyond", static_cast<std::uint64_t>(cuda("cuMemAllocAsync", &pieces[0], bytes, stream)));
  expect(cuda("cuMemFreeAsync", larger, stream));
  return failures;
}

// Memory ends with its context.
int run_contexts(Program& program, int count) {
  const DriverDoor& cuda = program.cuda;
  int failures = 0;
  for (int i = 0; i < count; ++i) {
    Handle context = nullptr;
    DevicePointer pointer = 0;
    failures += cuda("cuCtxCreate_v2", &context, 0U, program.device) != 0 ? 1 : 0;
    failures += cuda("cuMemAlloc_v2", &pointer, kMegabyte) != 0 ? 1 : 0;
    failures += cuda("cuCtxDestroy_v2", context) != 0 ? 1 : 0;
  }
  failures += cuda("cuCtxSetCurrent", program.context) != 0 ? 1 : 0;
  DevicePointer pointer = 0;
  failures += cuda("cuMemAlloc_v2", &pointer, kMegabyte) != 0 ? 1 : 0;
  failures += cuda("cuDevicePrimaryCtxReset_v2", program.device) != 0 ? 1 : 0;
  return failures;
}

// What a program asks of GPUs that it does not use.
int run_total_memory(Program& program, int gpus) {
  int failures = 0;
  for (int device = 0; device < gpus; ++device) {
    std::size_t total = 0;
    failures += program.cuda("cuDeviceTotalMem_v2", &total, device) != 0 ? 1 : 0;
    print(("total_" + std::to_string(device)).c_str(), total);
  }
  return failures;
}

}  // namespace carpool::shim_test
