// The activity file, version 1, which libcarpool_profile.so writes for one process into the folder
// CARPOOL_PROFILE_DIR, and the control file by which an watcher starts and stops the recording.
// Library and reader (activity_reader.hpp) share only these structures.
//
// activity.<pid>.bin: little-endian, append-only. Each record is a RecordHeader and `size` bytes of
// payload: a fixed structure, then, where the structure's comment says so, text that fills the rest
// of the payload (UTF-8, no terminator). The first record is a FileStart. Each append is one write
// of whole records, so a file is readable up to its last whole record even if the process was
// killed. Times are nanoseconds of CLOCK_MONOTONIC.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace carpool::gpu::activity_format {

inline constexpr std::uint64_t kMagic = 0x0154434143504143;  // "CAPCACT\1"
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kMaxRecordBytes = 1U << 20U;  // payload of one record
inline constexpr const char* kFilePrefix = "activity.";      // activity.<pid>.bin
inline constexpr const char* kFileSuffix = ".bin";
inline constexpr const char* kControlFile = "control";

enum class RecordType : std::uint16_t {
  FileStart = 1,
  Device = 2,
  Kernel = 3,
  Launches = 4,
  MemoryOperations = 5,
  Range = 6,
  CounterSet = 7,
  CounterSamples = 8,
  Note = 9,
  Window = 10,
  End = 11,
};

struct RecordHeader {
  std::uint16_t type = 0;
  std::uint16_t reserved = 0;  // 0
  std::uint32_t size = 0;      // of the payload
};
static_assert(sizeof(RecordHeader) == 8);

// Text: the program's name (/proc/self/comm).
struct FileStart {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::uint32_t cupti_version = 0;  // of cuptiGetVersion; 0: CUPTI is not used, a note says why
  std::int64_t start_ns = 0;        // when the library was initialised
};
static_assert(sizeof(FileStart) == 32);

// Text: the name. Numbers that the driver does not report are 0.
struct Device {
  std::uint32_t ordinal = 0;  // device number in the process; launches refer to it
  std::uint32_t sm_count = 0;
  std::array<std::uint8_t, 16> uuid{};
  std::uint32_t compute_major = 0;
  std::uint32_t compute_minor = 0;
  std::uint32_t max_threads_per_sm = 0;
  std::uint32_t max_warps_per_sm = 0;
  std::uint32_t max_blocks_per_sm = 0;
  std::uint32_t registers_per_sm = 0;
  std::uint32_t shared_bytes_per_sm = 0;
  std::uint32_t reserved_shared_bytes_per_block = 0;
  std::uint32_t warp_size = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Device) == 64);

// Text: the mangled name. Ids count from 0 in the order of the file; a kernel is
// defined before its first launch. One id is one (name, grid, block, dynamic shared memory).
struct Kernel {
  std::uint32_t id = 0;
  std::array<std::uint32_t, 3> grid{};
  std::array<std::uint32_t, 3> block{};
  std::uint32_t registers_per_thread = 0;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t local_bytes_per_thread = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Kernel) == 48);

inline constexpr std::uint16_t kGraphNode = 1;  // flag of Launch and MemoryOperation

// A Launches record holds one or more of these.
struct Launch {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint32_t kernel = 0;
  std::uint32_t stream = 0;
  std::uint16_t device = 0;
  std::uint16_t flags = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Launch) == 32);

enum class MemoryKind : std::uint16_t {
  Other = 0,
  HostToDevice = 1,
  DeviceToHost = 2,
  DeviceToDevice = 3,
  PeerToPeer = 4,
  Set = 5,
};

// A MemoryOperations record holds one or more of these.
struct MemoryOperation {
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t bytes = 0;
  std::uint32_t stream = 0;
  std::uint16_t device = 0;
  std::uint16_t flags = 0;
  std::uint16_t kind = 0;  // MemoryKind
  std::uint16_t reserved = 0;
  std::uint32_t reserved2 = 0;
};
static_assert(sizeof(MemoryOperation) == 40);

// Text: the name of the range. Times are those of the calling thread, not of the GPU.
struct Range {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t thread = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Range) == 24);

// Text: the names of the metrics, separated by line feeds. Ids count from 0.
struct CounterSet {
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  std::uint32_t metrics = 0;  // number of them
  std::uint32_t passes = 0;   // that the GPU needs for the set
};
static_assert(sizeof(CounterSet) == 16);

// A CounterSamples record holds one or more of these.
struct CounterSample {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t set = 0;
  std::uint32_t metric = 0;  // index in the set
  double value = 0.0;
};
static_assert(sizeof(CounterSample) == 32);

enum class NoteKind : std::uint32_t {
  Information = 0,        // a finding, not a problem
  NoCupti = 1,            // not found, or of an unknown version
  AlreadySubscribed = 2,  // another tool uses CUPTI in this process
  ActivityRefused = 3,    // CUPTI or the driver refused kernel records
  CountersRefused = 4,    // … or PM sampling
  Dropped = 5,            // `code` records were lost: buffers full
  LimitReached = 6,       // CARPOOL_PROFILE_MAX_LAUNCHES; recording has stopped
  Failed = 7,             // any other failure; `code` is errno or NVIDIA's code
};

// Text: a message for people.
struct Note {
  std::uint32_t kind = 0;  // NoteKind
  std::int32_t code = 0;   // of NVIDIA or the system; 0: none
  std::int64_t at_ns = 0;
};
static_assert(sizeof(Note) == 16);

// Recording started (1) or stopped (0). All launches that started in between are in the file.
struct Window {
  std::int64_t at_ns = 0;
  std::uint32_t recording = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(Window) == 16);

// The last record of a process that ended normally.
struct End {
  std::int64_t at_ns = 0;
  std::uint64_t launches = 0;
  std::uint64_t dropped = 0;
};
static_assert(sizeof(End) == 24);

// Order of the watcher; the library reads it every few milliseconds.
enum class Order : std::uint32_t {
  Wait = 0,    // do not record yet
  Record = 1,  // record; a program without a control file records from its start
  Stop = 2,    // stop, write the rest and end the file; final
};

inline constexpr std::uint64_t kControlMagic = 0x014C525443504143;  // "CAPCTRL\1"

// The control file: memory shared between the watcher, which creates it (control_file.hpp), and
// all processes with the library, which write the counts.
struct ControlBlock {
  std::uint64_t magic = kControlMagic;
  std::uint32_t version = kVersion;
  std::atomic<std::uint32_t> order{0};      // Order
  std::atomic<std::uint32_t> attached{0};   // processes in which the library was initialised
  std::atomic<std::uint32_t> recording{0};  // processes that record now
  std::atomic<std::uint32_t> ended{0};      // processes that have ended their file
  std::uint32_t reserved = 0;
  std::atomic<std::uint64_t> launches{0};    // kernels recorded, all processes together
  std::atomic<std::int64_t> last_launch{0};  // start of the latest
};
static_assert(sizeof(ControlBlock) == 48);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace carpool::gpu::activity_format
