// The layout of the state that all processes of a user on one GPU share: a file that every process
// maps. docs/shim-state.md describes it; a change of it changes kLayoutVersion.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace carpool::interpose {

using SharedWord = std::atomic<std::uint64_t>;
static_assert(SharedWord::is_always_lock_free && sizeof(SharedWord) == 8);

inline constexpr std::uint64_t kLayoutMagic = 0x314c4f4f50524143;  // "CARPOOL1"
inline constexpr std::uint32_t kLayoutVersion = 9;
inline constexpr std::uint32_t kClientSlots = 128;
inline constexpr std::uint32_t kJobSlots = 128;
inline constexpr std::uint32_t kKernelEntries = 16384;  // a power of two
inline constexpr std::uint32_t kLogRecords = 4096;      // per client, a power of two
inline constexpr std::uint32_t kLanes = 16;
inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kPage = 4096;

// Amounts of memory have 48 bits; the other 16 bits of their word tell whom or whether to believe.
inline constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 48U) - 1;
inline constexpr std::uint64_t kUnlimited = kMostBytes;

enum class JobClass : std::uint32_t { BestEffort = 0, Slo = 1 };

// What clients do beside counting: bits of a word.
inline constexpr std::uint64_t kWantNothing = 0;
inline constexpr std::uint64_t kWantLog = 1;        // write each launch to the kernel log
inline constexpr std::uint64_t kWantDurations = 2;  // measure some launches for the kernel table

// First page. `ready` is written last: a file without it was left half made.
struct alignas(kPage) StateHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  std::uint32_t owner = 0;  // user
  std::uint64_t file_bytes = 0;
  std::uint64_t layout_digest = 0;  // of sizes and offsets, see layout_digest()
  std::array<char, 64> gpu_uuid{};
  SharedWord ready;
};

// Written by the server or by `carpool run`; every word carries a check (guard/checked_word.hpp).
struct alignas(kPage) GpuBlock {
  SharedWord total_bytes;                    // 0: unknown, only limits of jobs apply
  SharedWord headroom_bytes;                 // never given to a job
  SharedWord foreign_bytes;                  // of processes that have no slot here
  alignas(kLine) SharedWord live_slots_low;  // bit per client slot
  SharedWord live_slots_high;
  SharedWord live_jobs_low;  // bit per job entry
  SharedWord live_jobs_high;
  SharedWord wanted;  // of all clients, see kWantLog
  // For the gate: SLO clients, a bit per slot. A best-effort client looks here at each launch.
  alignas(kLine) std::array<SharedWord, 2> slo_clients;
  SharedWord lane;  // of the best-effort client whose iteration runs (gate/lane.hpp)
  // Signs of SLO clients that were silent before, and threads that sleep until the next one
  // (library/gating/sign_bell.hpp).
  alignas(kLine) SharedWord slo_signs;
  SharedWord waiting_keepers;
};

// A job's memory. Free while `job` is 0.
struct alignas(kLine) JobEntry {
  SharedWord job;
  SharedWord limit_bytes;      // checked word
  SharedWord guarantee_bytes;  // checked word
  SharedWord job_class;
  SharedWord refusals;  // of clients that have ended
  SharedWord kept;      // 1: the server removes it; 0: it ends with the last client of the job
  SharedWord wanted;    // of the clients of the job, see kWantLog
};

// One line, so that a launch dirties one line only.
struct alignas(kLine) ClientCounters {
  SharedWord launches;
  SharedWord graph_launches;
  SharedWord graph_nodes;
  SharedWord copies;
  SharedWord copied_bytes;
  SharedWord allocations;
  SharedWord refusals;
  SharedWord last_call_ns;
};

struct alignas(kLine) ClientMemory {
  SharedWord used;    // generation (16 bits), bytes (48 bits)
  SharedWord asking;  // announced and not yet admitted; generation, bytes
  SharedWord peak;
  // What the process has beside its allocations: contexts, modules. Written by the server or by
  // `carpool run` (guard/checked_word.hpp).
  SharedWord context;
};

// Of decisions by reason: gate/decision.hpp has fewer.
inline constexpr std::size_t kHoldWords = 24;

// In the word busy: work of the client is on the GPU that none of its threads waits for, but that
// it will probably wait for or ask about.
inline constexpr std::uint64_t kLaunchedAhead = std::uint64_t{1} << 32U;
[[nodiscard]] constexpr bool waits_for_gpu(std::uint64_t busy) {
  return busy % kLaunchedAhead != 0;
}

// What the gate knows of a client, written by the client alone. An SLO client writes its requests,
// a best-effort client its work in flight and its holds.
struct alignas(kLine) ClientGate {
  SharedWord policy;  // number of the policy, plus 1; 0: the client does not ask the gate
  SharedWord slo_ns;  // 0: none
  SharedWord quantile_millionths;
  SharedWord lease_ns;  // last sign of life: a launch, or work that was waited for is done
  SharedWord in_flight_ns;
  SharedWord commands_in_flight;
  SharedWord request_began_ns;  // 0: no request is active
  SharedWord last_launch_ns;
  alignas(kLine) SharedWord requests;  // that have ended
  SharedWord late_requests;            // longer than the SLO
  SharedWord p50_ns;                   // of the last requests
  SharedWord tail_ns;                  // their quantile
  SharedWord next_arrival_ns;          // expected; 0: unknown
  SharedWord room_millionths;          // of best-effort work, by the outer loop
  SharedWord time_only_until_ns;       // no sharing in space before, by the outer loop
  SharedWord busy;                     // declared requests, threads that wait for the GPU, and
                                       // kLaunchedAhead
  alignas(kLine) SharedWord due_ns;    // best effort: when work in flight is done, by bounds
  SharedWord start_tag;                // turns among best-effort clients: of the last launch
  SharedWord last_asked_ns;            // a launch is held and asked then; 0: none is
  SharedWord quiet_ns;                 // SLO: after which a request that was waited for has ended
  SharedWord service_ns;               // SLO: mean time of a request without its queue; 0: unknown
  SharedWord service_square_us2;       // mean of its square
  SharedWord in_mps;                   // SLO: 1, it is a client of MPS
  SharedWord waiting;                  // SLO: threads that wait for the GPU
  alignas(kLine) SharedWord open_commands;  // SLO: commands of a request during which best-effort
                                            // work may go on, as commands_in_flight counts them
  alignas(kLine) std::array<SharedWord, kHoldWords> holds;  // launches that waited, by reason
  std::array<SharedWord, kHoldWords> held_ns;
};

// A page of its own, so that a process can register it with the driver and the GPU can write
// `completed`.
struct alignas(kPage) ClientSlot {
  SharedWord generation;  // increases whenever the slot changes its owner
  SharedWord joined;      // 1: all fields are valid
  SharedWord pid;         // in the owner's PID namespace
  SharedWord pid_namespace;
  SharedWord start_ticks;
  SharedWord job;
  SharedWord job_index;
  SharedWord job_class;
  alignas(kLine) ClientCounters counters;
  ClientMemory memory;
  ClientGate gate;
  alignas(kLine) SharedWord log_head;                       // records ever written
  alignas(kLine) std::array<SharedWord, kLanes> completed;  // written by the GPU
  alignas(kLine) std::array<char, 64> name{};
};

struct KernelEntry {
  SharedWord key;       // 0: free
  SharedWord estimate;  // mean and deviation in ns, one float each
  SharedWord count;
  SharedWord source;
};

struct LogRecord {
  SharedWord sequence;  // number of the record plus 1; 0 while it is written
  SharedWord key;
  SharedWord time_ns;
  SharedWord duration_and_stream;  // ns (0: not measured), number of the stream
};

struct alignas(kPage) KernelLogRing {
  std::array<LogRecord, kLogRecords> records;
};

struct SharedState {
  StateHeader header;
  GpuBlock gpu;
  alignas(kPage) std::array<JobEntry, kJobSlots> jobs;
  std::array<ClientSlot, kClientSlots> clients;
  alignas(kPage) std::array<KernelEntry, kKernelEntries> kernels;
  std::array<KernelLogRing, kClientSlots> logs;  // sparse: only rings that are used take memory
};

[[nodiscard]] constexpr std::uint64_t slot_offset(std::uint32_t slot) {
  return offsetof(SharedState, clients) + std::uint64_t{slot} * sizeof(ClientSlot);
}
[[nodiscard]] constexpr std::uint64_t job_offset(std::uint32_t index) {
  return offsetof(SharedState, jobs) + std::uint64_t{index} * sizeof(JobEntry);
}
[[nodiscard]] constexpr std::uint64_t log_offset(std::uint32_t slot) {
  return offsetof(SharedState, logs) + std::uint64_t{slot} * sizeof(KernelLogRing);
}

// Bytes that locks are taken on lie behind the content, where no data is.
inline constexpr std::uint64_t kTableLockByte = sizeof(SharedState);
inline constexpr std::uint64_t kFirstSlotLockByte = kTableLockByte + 1;

// Two programs with the same version but other sizes or offsets do not understand each other.
[[nodiscard]] constexpr std::uint64_t layout_digest() {
  std::uint64_t digest = 0xcbf29ce484222325;
  const auto mix = [&digest](std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      digest = (digest ^ (value >> (8U * static_cast<unsigned>(byte)) & 0xffU)) * 0x100000001b3;
    }
  };
  for (const std::uint64_t value : {std::uint64_t{kLayoutVersion},
                                    std::uint64_t{sizeof(SharedState)},
                                    std::uint64_t{sizeof(GpuBlock)},
                                    std::uint64_t{sizeof(JobEntry)},
                                    std::uint64_t{sizeof(ClientSlot)},
                                    std::uint64_t{sizeof(KernelEntry)},
                                    std::uint64_t{sizeof(LogRecord)},
                                    std::uint64_t{kClientSlots},
                                    std::uint64_t{kJobSlots},
                                    std::uint64_t{kKernelEntries},
                                    std::uint64_t{kLogRecords},
                                    std::uint64_t{offsetof(ClientSlot, counters)},
                                    std::uint64_t{offsetof(ClientSlot, memory)},
                                    std::uint64_t{offsetof(ClientMemory, context)},
                                    std::uint64_t{offsetof(ClientSlot, gate)},
                                    std::uint64_t{offsetof(ClientSlot, completed)},
                                    std::uint64_t{offsetof(ClientSlot, name)},
                                    std::uint64_t{offsetof(SharedState, jobs)},
                                    std::uint64_t{offsetof(SharedState, clients)},
                                    std::uint64_t{offsetof(SharedState, kernels)},
                                    std::uint64_t{offsetof(SharedState, logs)}}) {
    mix(value);
  }
  return digest;
}

}  // namespace carpool::interpose
