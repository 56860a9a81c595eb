#include "gpu/cupti/inject/window/kernel_trace.hpp"

#include <atomic>
#include <cstring>

#include "gpu/cupti/inject/buffer_pool.hpp"
#include "gpu/cupti/inject/device_facts.hpp"

namespace carpool::gpu::inject {
namespace {

constexpr std::size_t kWindowBuffers = 64;  // 16 MiB

// CUPTI detaches reliably from CUDA 12.6 on. Disabling the records of kernels can hang in the first
// release of CUDA 13.0. From CUDA 13.3 on CUPTI may serve several tools at once, and a subscription
// no longer says that no other is active.
constexpr std::uint32_t kFirstOfCuda12 = 24;
constexpr std::uint32_t kFirstOfCuda13 = 130001;
constexpr std::uint32_t kSeveralTools = 130300;

BufferPool& window_pool() {
  static auto* const pool = new BufferPool(kWindowBuffers);
  return *pool;
}

// Read before the lock of the pool, which a child of fork() may find taken.
struct Lending {
  std::atomic<bool> open = false;    // CUPTI gets buffers
  std::atomic<bool> forked = false;  // this is a child: it neither gets nor returns any
};

Lending& lending() {
  static Lending made;
  return made;
}

void on_window_buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = nullptr;
  try {
    *buffer = lending().open ? window_pool().lend() : nullptr;
  } catch (...) {  // NOLINT(bugprone-empty-catch): no buffer, and CUPTI counts what it drops
  }
  *size = *buffer != nullptr ? BufferPool::kBufferBytes : 0;
  *records = 0;
}

void on_window_buffer_completed(void* /*context*/,
                                std::uint32_t /*stream*/,
                                std::uint8_t* buffer,
                                std::size_t /*size*/,
                                std::size_t valid) {
  try {
    if (buffer != nullptr && !lending().forked) {
      window_pool().complete(buffer, valid);
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): out of memory; the buffer is lost
  }
}

// Buffers that CUPTI returned late are of no use.
void recycle_all(BufferPool& pool) {
  for (const BufferPool::Full& full : pool.take()) {
    pool.recycle(full.buffer);
  }
}

}  // namespace

bool can_trace_kernels(const Cupti& cupti) {
  const bool cuda12 = cupti.version >= kFirstOfCuda12 && cupti.version <= cupti::kCuda12Last;
  const bool cuda13 = cupti.version >= kFirstOfCuda13 && cupti.version < kSeveralTools;
  return cupti.functions.finalize != nullptr && (cuda12 || cuda13);
}

KernelTrace::~KernelTrace() {
  disable();
  lending().open = false;
  recycle_all(window_pool());
  window_pool().release();
}

void KernelTrace::forget() {
  lending().open = false;
  lending().forked = true;
}

// Enabled before the buffers are registered, as in NVIDIA's samples: where it is refused because of
// another tool, the buffers of that tool stay.
cupti::Code KernelTrace::begin() {
  recycle_all(window_pool());
  if (const cupti::Code code = functions_.timestamp(&began_); code != cupti::kSuccess) {
    return code;
  }
  summary_.emplace(began_);
  lending().open = true;
  if (const cupti::Code code = functions_.enable(cupti::kKindConcurrentKernel);
      code != cupti::kSuccess) {
    return code;
  }
  enabled_ = true;
  return functions_.register_callbacks(&on_window_buffer_requested, &on_window_buffer_completed);
}

void KernelTrace::take() {
  for (const BufferPool::Full& full : window_pool().take()) {
    decode(full.buffer, full.valid);
    window_pool().recycle(full.buffer);
  }
}

void KernelTrace::decode(std::uint8_t* buffer, std::size_t valid) {
  void* record = nullptr;
  while (functions_.next_record(buffer, valid, &record) == cupti::kSuccess && record != nullptr) {
    cupti::Kind kind = 0;
    std::memcpy(&kind, record, sizeof(kind));
    if (kind == cupti::kKindConcurrentKernel) {
      cupti::KernelRecord kernel;
      std::memcpy(&kernel, record, sizeof(kernel));
      summary_->add(kernel, device(kernel.device));
    }
  }
}

const activity_format::Device& KernelTrace::device(std::uint32_t ordinal) {
  const auto known = devices_.find(ordinal);
  return known != devices_.end()
             ? known->second
             : devices_.emplace(ordinal, device_facts(static_cast<int>(ordinal))).first->second;
}

void KernelTrace::flush() {
  (void)functions_.flush_all(0);
}

void KernelTrace::disable() {
  if (enabled_) {
    (void)functions_.disable(cupti::kKindConcurrentKernel);
    enabled_ = false;
  }
}

void KernelTrace::end() {
  (void)functions_.timestamp(&ended_);
  disable();
}

bool KernelTrace::waits() const {
  return window_pool().lent() != 0;
}

void KernelTrace::finish() {
  complete_ = !waits();
  (void)functions_.flush_all(cupti::kFlushForced);
  take();
  std::size_t dropped = 0;
  if (functions_.dropped != nullptr &&
      functions_.dropped(nullptr, 0, &dropped) == cupti::kSuccess) {
    dropped_ = dropped;
  }
}

KernelTrace::Traced KernelTrace::traced() const {
  constexpr std::uint64_t kOf = 50;  // one in 50 may be missing
  const std::uint64_t window_ns = ended_ > began_ ? ended_ - began_ : 0;
  // Kernels that had not ended are known to be missing, and are no loss.
  const std::uint64_t missing = dropped_ + (complete_ ? summary_->untimed() : 0);
  return {.kernels = summary_->reduced(window_ns, complete_),
          .lost = missing * kOf > summary_->kernels()};
}

}  // namespace carpool::gpu::inject
