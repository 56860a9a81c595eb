#include "gpu/cupti/inject/activity_source.hpp"

#include <array>
#include <atomic>

#include "base/clock.hpp"

namespace carpool::gpu::inject {
namespace {

namespace format = activity_format;

// Graph traces stay off: they give one record per graph instead of one per kernel. So do latency
// timestamps, launch attributes and API records, which are not needed and cost time.
constexpr std::array<cupti::Kind, 4> kKinds{
    cupti::kKindConcurrentKernel, cupti::kKindMemcpy, cupti::kKindMemcpyPeer, cupti::kKindMemset};
constexpr std::int64_t kDrainNs = 1'000'000'000;

// The receiver of CUPTI's callbacks, which have no user argument.
std::atomic<ActivitySource*>& current() {
  static std::atomic<ActivitySource*> source = nullptr;
  return source;
}

void on_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = nullptr;
  try {
    *buffer = ActivitySource::lend_buffer();
  } catch (...) {  // NOLINT(bugprone-empty-catch): no buffer, and CUPTI counts what it drops
  }
  *size = *buffer != nullptr ? BufferPool::kBufferBytes : 0;
  *records = 0;
}

void on_buffer_completed(void* /*context*/,
                         std::uint32_t /*stream*/,
                         std::uint8_t* buffer,
                         std::size_t /*size*/,
                         std::size_t valid) {
  try {
    ActivitySource::buffer_completed(buffer, valid);
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the buffer is lost
  }
}

std::uint64_t on_timestamp() {
  return static_cast<std::uint64_t>(monotonic_ns());
}

void on_callback(void* /*user*/,
                 std::uint32_t /*domain*/,
                 std::uint32_t /*id*/,
                 const void* /*data*/) {}

}  // namespace

void ActivitySource::start() {
  if (!subscribe()) {
    return;
  }
  current() = this;
  set_attributes();
  const std::int64_t offset = set_clock();
  const cupti::Code code =
      cupti_.functions.register_callbacks(&on_buffer_requested, &on_buffer_completed);
  if (code != cupti::kSuccess) {
    refuse(format::NoteKind::ActivityRefused, "cuptiActivityRegisterCallbacks", code);
    return;
  }
  enable_kinds(offset);
}

bool ActivitySource::subscribe() {
  cupti::Subscriber subscriber = nullptr;
  const cupti::Code code = cupti_.functions.subscribe(&subscriber, &on_callback, nullptr);
  if (code == cupti::kMultipleSubscribers) {
    refuse(format::NoteKind::AlreadySubscribed,
           "another tool in this process uses CUPTI already (a profiler in the program, "
           "Nsight, a debugger)",
           code);
  } else if (code != cupti::kSuccess) {
    refuse(format::NoteKind::ActivityRefused, "cuptiSubscribe", code);
  }
  return code == cupti::kSuccess;
}

void ActivitySource::set_attributes() {
  if (cupti_.functions.set_attribute == nullptr) {
    return;
  }
  // The library's thread clears the buffers, which CUPTI would otherwise do in the program's.
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof(zeroed);
  (void)cupti_.functions.set_attribute(cupti::kAttributeZeroedBuffer, &size, &zeroed);
}

// Sets CUPTI's clock to monotonic_ns(); returns the offset to add where CUPTI has no such function.
std::int64_t ActivitySource::set_clock() {
  const CuptiFunctions& functions = cupti_.functions;
  if (functions.register_timestamp != nullptr &&
      functions.register_timestamp(&on_timestamp) == cupti::kSuccess) {
    return 0;
  }
  std::uint64_t theirs = 0;
  const bool known = functions.timestamp(&theirs) == cupti::kSuccess;
  return known ? monotonic_ns() - static_cast<std::int64_t>(theirs) : 0;
}

// Immediately, so that CUPTI sees the creation of each context and graph. Records from before the
// order to record are dropped.
void ActivitySource::enable_kinds(std::int64_t clock_offset) {
  for (const cupti::Kind kind : kKinds) {
    const cupti::Code code = cupti_.functions.enable(kind);
    if (code == cupti::kSuccess) {
      continue;
    }
    if (kind == cupti::kKindConcurrentKernel) {
      refuse(format::NoteKind::ActivityRefused, "cuptiActivityEnable of kernels", code);
      return;
    }
    file_.note(
        format::NoteKind::Failed,
        code,
        joined(
            {"no copies of kind ", std::to_string(kind), ": ", code_text(cupti_.functions, code)}));
  }
  decoder_.emplace(cupti_.functions, file_, clock_offset);
}

void ActivitySource::refuse(format::NoteKind kind, std::string_view what, cupti::Code code) {
  file_.note(
      kind, code, joined({"no kernel records: ", what, ": ", code_text(cupti_.functions, code)}));
}

void ActivitySource::forget() {
  current() = nullptr;
}

std::uint8_t* ActivitySource::lend_buffer() {
  ActivitySource* const source = current();
  return source != nullptr ? source->pool_.lend() : nullptr;
}

void ActivitySource::buffer_completed(std::uint8_t* buffer, std::size_t valid) {
  if (ActivitySource* const source = current(); source != nullptr) {
    source->pool_.complete(buffer, valid);
  }
}

void ActivitySource::keep_from(std::int64_t from_ns) {
  if (started()) {
    decoder_->keep_from(from_ns);
  }
}

void ActivitySource::write_completed() {
  for (const BufferPool::Full& full : pool_.take()) {
    if (started()) {
      decoder_->decode(full.buffer, full.valid);
    }
    pool_.recycle(full.buffer);
  }
}

void ActivitySource::flush() {
  // Before the first buffer request there are no records, and the program may still be in cuInit.
  if (started() && pool_.in_use()) {
    (void)cupti_.functions.flush_all(0);
    count_dropped();
  }
}

void ActivitySource::finish_at(std::int64_t now_ns) {
  if (!started()) {
    return;
  }
  decoder_->keep_until(now_ns);
  for (const cupti::Kind kind : kKinds) {
    (void)cupti_.functions.disable(kind);
  }
  drain();
  take_the_rest();
}

void ActivitySource::finish_at_exit() {
  if (started()) {
    take_the_rest();
  }
}

// Running kernels end soon, but CUPTI returns a buffer only when all its kernels have ended.
void ActivitySource::drain() {
  const std::int64_t until = monotonic_ns() + kDrainNs;
  while (pool_.lent() != 0 && monotonic_ns() < until) {
    (void)cupti_.functions.flush_all(0);
    write_completed();
  }
}

void ActivitySource::take_the_rest() {
  // Records without times from the forced flush are of unfinished kernels, not lost ones.
  dropped_ += decoder_->without_time();
  if (pool_.in_use()) {
    (void)cupti_.functions.flush_all(cupti::kFlushForced);
    write_completed();
    count_dropped();
  }
}

void ActivitySource::count_dropped() {
  std::size_t dropped = 0;
  if (cupti_.functions.dropped != nullptr &&
      cupti_.functions.dropped(nullptr, 0, &dropped) == cupti::kSuccess) {
    dropped_ += dropped;
  }
}

std::uint64_t ActivitySource::launches() const {
  return started() ? decoder_->launches() : 0;
}

std::uint64_t ActivitySource::kept() const {
  return started() ? decoder_->kept() : 0;
}

std::int64_t ActivitySource::last_start() const {
  return started() ? decoder_->last_start() : 0;
}

std::optional<std::uint32_t> ActivitySource::device() const {
  if (!started() || decoder_->devices().empty()) {
    return std::nullopt;
  }
  return *decoder_->devices().begin();
}

}  // namespace carpool::gpu::inject
