#include "interpose/library/gating/sm_partition.hpp"

#include <algorithm>

#include "interpose/library/devices.hpp"
#include "interpose/library/symbols.hpp"

namespace carpool::interpose {

namespace {

constexpr unsigned kDefaultStream = 1;     // CU_GREEN_CTX_DEFAULT_STREAM, which is required
constexpr std::uint32_t kSmsMultiple = 8;  // of compute capability 9.0

// The one of the thread if it is the primary context of the GPU; else null.
Handle primary_context(int device) {
  Handle primary = nullptr;
  unsigned flags = 0;
  int active = 0;
  using GetState = Status(int, unsigned*, int*);
  if (call_real<GetState>(Symbol::cuDevicePrimaryCtxGetState, device, &flags, &active) !=
          kSuccess ||
      active == 0) {
    return nullptr;  // to retain it would make it
  }
  if (call_real<Status(Handle*, int)>(Symbol::cuDevicePrimaryCtxRetain, &primary, device) !=
      kSuccess) {
    return nullptr;
  }
  call_real<Status(int)>(Symbol::cuDevicePrimaryCtxRelease_v2, device);
  return primary == thread_context() ? primary : nullptr;
}

bool make_event(Handle& event) {
  using Create = Status(Handle*, unsigned);
  return call_real<Create>(Symbol::cuEventCreate, &event, kEventWithoutTime) == kSuccess;
}

int lowest_priority() {
  int least = 0;
  int greatest = 0;
  call_real<Status(int*, int*)>(Symbol::cuCtxGetStreamPriorityRange, &least, &greatest);
  return least;
}

// The program's stream, by the meaning that it has for the program.
Status record(Handle event, const StreamPlace& own) {
  return call_real<Status(Handle, Handle)>(
      own.twin == Twin::Legacy ? Symbol::cuEventRecord : Symbol::cuEventRecord_ptsz,
      event,
      own.stream);
}
Status wait_for(const StreamPlace& own, Handle event) {
  return call_real<Status(Handle, Handle, unsigned)>(
      own.twin == Twin::Legacy ? Symbol::cuStreamWaitEvent : Symbol::cuStreamWaitEvent_ptsz,
      own.stream,
      event,
      0U);
}

std::uint64_t product(const std::array<unsigned, 3>& sides) {
  return std::uint64_t{sides[0]} * sides[1] * sides[2];
}

}  // namespace

bool SmPartitions::make(int device, std::uint32_t sms) {
  if (refused_ || capture_alive()) {
    return false;
  }
  if (context_ != nullptr) {
    return true;
  }
  device_ = device;
  sms_ = sms;
  std::uint32_t size = sms / 2 / kSmsMultiple * kSmsMultiple;
  for (Part& part : parts_) {
    part = {.sms = size};
    size = size / 2 / kSmsMultiple * kSmsMultiple;
  }
  context_ = primary_context(device);
  refused_ = context_ == nullptr || parts_[0].sms == 0 || !make_event(before_) ||
             !make_event(after_) || !make_part(parts_[0]);
  if (refused_) {
    destroy();
  }
  return !refused_;
}

bool SmPartitions::make_part(Part& part) const {
  part.tried = true;
  SmResource whole{};
  SmResource split{};
  SmResource rest{};
  unsigned groups = 1;
  Handle description = nullptr;
  using Get = Status(int, SmResource*, int);
  using Split = Status(SmResource*, unsigned*, const SmResource*, SmResource*, unsigned, unsigned);
  using Describe = Status(Handle*, SmResource*, unsigned);
  using Create = Status(Handle*, Handle, int, unsigned);
  using CreateStream = Status(Handle*, Handle, unsigned, int);
  const bool made =
      call_real<Get>(Symbol::cuDeviceGetDevResource, device_, &whole, kSmResource) == kSuccess &&
      call_real<Split>(
          Symbol::cuDevSmResourceSplitByCount, &split, &groups, &whole, &rest, 0U, part.sms) ==
          kSuccess &&
      call_real<Describe>(Symbol::cuDevResourceGenerateDesc, &description, &split, 1U) ==
          kSuccess &&
      call_real<Create>(
          Symbol::cuGreenCtxCreate, &part.green, description, device_, kDefaultStream) == kSuccess;
  if (!made) {
    part.green = nullptr;
    return false;
  }
  if (call_real<CreateStream>(Symbol::cuGreenCtxStreamCreate,
                              &part.stream,
                              part.green,
                              kNonBlockingStream,
                              lowest_priority()) != kSuccess) {
    call_real<Status(Handle)>(Symbol::cuGreenCtxDestroy, part.green);
    part.green = nullptr;
    part.stream = nullptr;
    return false;
  }
  part.sms = split.sms;
  return true;
}

std::uint32_t SmPartitions::least_sms(const ConfinableLaunch& launch) {
  if (launch.key == 0) {
    return sms_;
  }
  const std::uint64_t fit = blocks_of_sm(launch);
  if (fit == 0) {
    return sms_;
  }
  const std::uint64_t blocks = std::max<std::uint64_t>(1, product(launch.shape.grid));
  return blocks > fit * sms_ ? 1 : static_cast<std::uint32_t>((blocks + fit - 1) / fit);
}

// By the very kernel, because kernels of one name may differ in their registers.
std::uint64_t SmPartitions::blocks_of_sm(const ConfinableLaunch& launch) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15U;
  const std::uint64_t threads = product(launch.shape.block);
  const std::uint64_t key =
      ((reinterpret_cast<std::uintptr_t>(launch.function) * kSpread + threads) * kSpread +
       launch.shared_bytes) *
          kSpread +
      launch.key;
  if (const std::uint64_t known = blocks_of_sm_.find(key); known != 0) {
    return known - 1;
  }
  if (capture_alive()) {
    return 0;
  }
  int at_once = 0;
  using Occupancy = Status(int*, Handle, int, std::size_t);
  const Status status = call_real<Occupancy>(Symbol::cuOccupancyMaxActiveBlocksPerMultiprocessor,
                                             &at_once,
                                             launch.function,
                                             static_cast<int>(threads),
                                             std::size_t{launch.shared_bytes});
  const std::uint64_t fit =
      status == kSuccess && at_once > 0 ? static_cast<std::uint64_t>(at_once) : 0;
  blocks_of_sm_.set(key, fit + 1);
  return fit;
}

Handle SmPartitions::enter(const StreamPlace& own,
                           std::uint32_t least_sms,
                           std::uint32_t most_sms) {
  if (refused_ || context_ == nullptr || entered_ != nullptr || capture_alive() ||
      thread_context() != context_) {
    return nullptr;
  }
  const auto part = std::ranges::find_if(parts_, [&](const Part& each) {
    return each.sms > 0 && each.sms >= least_sms && each.sms <= most_sms;
  });
  if (part == parts_.end() || (part->stream == nullptr && (part->tried || !make_part(*part)))) {
    return nullptr;
  }
  using Wait = Status(Handle, Handle, unsigned);
  if (record(before_, own) != kSuccess ||
      call_real<Wait>(Symbol::cuStreamWaitEvent, part->stream, before_, 0U) != kSuccess) {
    return nullptr;
  }
  entered_ = &*part;
  return part->stream;
}

std::uint32_t SmPartitions::entered_sms() const {
  return entered_ == nullptr ? sms_ : entered_->sms;
}

// Also while a capture is alive: the program's stream must not go on before its kernel is done.
void SmPartitions::leave(const StreamPlace& own, bool launched) {
  if (entered_ == nullptr) {
    return;
  }
  const Handle stream = entered_->stream;
  entered_ = nullptr;
  if (!launched) {
    refused_ = true;
    return;
  }
  const bool ordered =
      call_real<Status(Handle, Handle)>(Symbol::cuEventRecord, after_, stream) == kSuccess &&
      wait_for(own, after_) == kSuccess;
  if (!ordered) {
    call_real<Status(Handle)>(Symbol::cuStreamSynchronize, stream);
    refused_ = true;
  }
}

void SmPartitions::destroy() {
  for (Part& part : parts_) {
    if (part.stream != nullptr && !capture_alive()) {
      call_real<Status(Handle)>(Symbol::cuStreamDestroy_v2, part.stream);
      call_real<Status(Handle)>(Symbol::cuGreenCtxDestroy, part.green);
    }
    part = {};
  }
  for (Handle* const event : {&before_, &after_}) {
    if (*event != nullptr && !capture_alive()) {
      call_real<Status(Handle)>(Symbol::cuEventDestroy_v2, *event);
    }
    *event = nullptr;
  }
  context_ = nullptr;
  entered_ = nullptr;
  blocks_of_sm_.clear();
}

void SmPartitions::forget(Handle context) {
  if (context_ != nullptr && (context == nullptr || context == context_)) {
    destroy();
  }
}

}  // namespace carpool::interpose
