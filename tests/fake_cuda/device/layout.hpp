// The devices as they lie in memory that processes share. Plain data: a process may be killed at
// any point.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <pthread.h>

#include "../counts.hpp"

namespace fake_cuda {

inline constexpr int kMaxGpus = 4;
inline constexpr int kMaxClients = 64;
inline constexpr int kMaxWorks = 256;
inline constexpr int kMaxGroups = 8;

// How a device shares itself between processes.
struct Rules {
  bool timeslice = false;
  std::uint32_t sms = 132;
  std::int64_t slice_ns = 2'000'000;
  std::int64_t switch_ns = 100'000;
};

// Multiprocessors that are set apart for some works of a process: of a green context.
struct Part {
  std::uint64_t id = 0;   // within the process
  std::uint32_t sms = 0;  // 0: no part, but the whole device
};

// Blocks of one work that started together.
struct Group {
  std::uint32_t blocks = 0;
  std::int64_t end = 0;
};

enum class WorkState : std::int32_t { Free, Running, Done };

// A kernel, or a copy (a work without blocks), from its start to its end.
struct Work {
  WorkState state = WorkState::Free;
  std::int32_t client = 0;
  std::int32_t priority = 0;  // smaller numbers go first
  std::uint32_t waiting = 0;  // blocks that have not started
  std::int64_t block_ns = 0;
  std::int64_t end = 0;  // of a copy; of everything once it is done
  std::uint64_t order = 0;
  Part part{};
  std::array<Group, kMaxGroups> groups;
};

struct Gpu {
  std::int64_t now = 0;
  // Under timeslice each process has a time of its own, which stands still while others run.
  std::array<std::int64_t, kMaxClients> local;
  std::int32_t active = -1;
  std::int64_t slice_left = 0;
  std::int64_t switch_left = 0;
  std::uint64_t orders = 0;
  std::uint64_t switches = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t peak_bytes = 0;
  std::array<Work, kMaxWorks> works;
};

// A process. It holds a lock on the byte of its number, which the kernel takes away when it dies.
struct Client {
  std::atomic<std::uint32_t> wake;  // futex: something happened on a device
  std::int32_t pid = 0;             // 0: the place is free
  std::uint32_t sm_limit = 0;
  std::int32_t mps_priority = 0;
  std::array<std::uint64_t, kMaxGpus> bytes;
  Counts counts;
};

inline constexpr std::uint64_t kDeviceMagic = 0x6361'7270'6f6f'6c01;

struct DeviceFile {
  std::uint64_t magic = 0;
  std::uint64_t size = 0;
  pthread_mutex_t mutex;
  Rules rules;
  bool virtual_clock = false;
  std::int64_t virtual_now = 0;
  std::uint64_t capacity = 0;
  Counts retired;  // of processes that are gone
  std::array<Client, kMaxClients> clients;
  std::array<Gpu, kMaxGpus> gpus;
};

}  // namespace fake_cuda
