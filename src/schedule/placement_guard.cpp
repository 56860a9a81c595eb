#include "schedule/placement_guard.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/text/memory_size.hpp"

namespace carpool::schedule {
namespace {

using Found = std::optional<Violation>;

// GPUs are numbered from 0 in most snapshots; explain() passes single ones.
const GpuView* view_of(std::span<const GpuView> gpus, unsigned index) {
  if (index < gpus.size() && gpus[index].index == index) {
    return &gpus[index];
  }
  const auto found = std::ranges::find(gpus, index, &GpuView::index);
  return found == gpus.end() ? nullptr : &*found;
}

Found check_job(const QueuedJob& job, const Placement& placement) {
  if (placement.gpus.empty() || placement.gpus.size() != job.gpus) {
    return Violation{
        Constraint::GpuCount,
        fmt::format("chose {} GPUs for a job that requests {}", placement.gpus.size(), job.gpus)};
  }
  if (!(placement.thread_limit > 0.0 && placement.thread_limit <= kAllThreads)) {
    return Violation{Constraint::Interference,
                     fmt::format("set a thread limit of {:g} %", placement.thread_limit)};
  }
  if (placement.progress && !(std::isfinite(*placement.progress) && *placement.progress >= 0.0)) {
    return Violation{Constraint::Interference,
                     fmt::format("predicted a progress of {:g}", *placement.progress)};
  }
  if (job.exclusive && placement.mechanism != ShareMechanism::None) {
    return Violation{Constraint::Exclusive, "let an exclusive job share"};
  }
  if (job.gpus > 1 && placement.mechanism == ShareMechanism::Mps) {
    return Violation{Constraint::GpuCount, "placed a job on several GPUs under MPS"};
  }
  if (placement.reserve_bytes > 0 && placement.reserve_bytes < job.need_bytes.value_or(0)) {
    return Violation{Constraint::Memory,
                     fmt::format("reserved {} for a job that needs {}",
                                 gib_text(placement.reserve_bytes),
                                 gib_text(*job.need_bytes))};
  }
  if (placement.cap_bytes &&
      (*placement.cap_bytes == 0 || *placement.cap_bytes > placement.reserve_bytes)) {
    return Violation{Constraint::Memory,
                     fmt::format("allowed it {} and reserved {}",
                                 gib_text(*placement.cap_bytes),
                                 gib_text(placement.reserve_bytes))};
  }
  return std::nullopt;
}

Found check_sharing(const GpuView& gpu, const Placement& placement) {
  if (placement.mechanism == ShareMechanism::None && (!gpu.residents.empty() || gpu.foreign)) {
    return Violation{
        Constraint::Exclusive,
        fmt::format("placed it without sharing on GPU {}, which is in use", gpu.index)};
  }
  for (const Resident& resident : gpu.residents) {
    if (resident.exclusive || resident.mechanism == ShareMechanism::None) {
      return Violation{
          Constraint::Exclusive,
          fmt::format("placed it on GPU {}, which job {} does not share", gpu.index, resident.job)};
    }
  }
  return std::nullopt;
}

// The promise to one user is not paid for by another.
Found check_promise(const GpuView& gpu, const QueuedJob& job) {
  for (const Resident& resident : gpu.residents) {
    if (resident.uid != job.uid &&
        (job.job_class == JobClass::Slo || resident.job_class == JobClass::Slo)) {
      return Violation{Constraint::OtherUser,
                       fmt::format("placed it on GPU {} beside another user's job {}, and a job "
                                   "with an SLO shares only with jobs of its own user",
                                   gpu.index,
                                   resident.job)};
    }
  }
  return std::nullopt;
}

Found check_mps(const GpuView& gpu, const QueuedJob& job) {
  if (!gpu.mps_possible) {
    return Violation{
        Constraint::NoGpu,
        fmt::format("placed it under MPS on GPU {}, where MPS is not possible", gpu.index)};
  }
  if (std::ranges::any_of(gpu.residents,
                          [&](const Resident& resident) { return resident.uid != job.uid; })) {
    return Violation{
        Constraint::OtherUser,
        fmt::format("placed it under MPS on GPU {}, which runs another user's jobs", gpu.index)};
  }
  const auto clients = std::ranges::count(gpu.residents, ShareMechanism::Mps, &Resident::mechanism);
  if (std::cmp_greater_equal(clients, kMostMpsClients)) {
    return Violation{
        Constraint::NoGpu,
        fmt::format("placed it under MPS on GPU {}, which has {} clients", gpu.index, clients)};
  }
  return std::nullopt;
}

// The reservation is the same on all GPUs of a job: where GPUs differ, that of a whole GPU is the
// largest of them.
Found check_memory(const GpuView& gpu,
                   const QueuedJob& job,
                   const Placement& placement,
                   std::uint64_t largest_bytes) {
  const bool whole = !job.need_bytes && gpu.residents.empty();
  const std::uint64_t available = whole ? largest_bytes : gpu.free_bytes();
  const std::uint64_t asked = std::max(job.need_bytes.value_or(0), placement.reserve_bytes);
  if (asked <= available) {
    return std::nullopt;
  }
  return Violation{
      Constraint::Memory,
      fmt::format("placed it on GPU {}, which lacks {}", gpu.index, gib_text(asked - available))};
}

Found check_gpu(const GpuView& gpu, const QueuedJob& job) {
  if (!gpu.unusable.empty()) {
    return Violation{
        Constraint::NoGpu,
        fmt::format("placed it on GPU {}, which is not usable ({})", gpu.index, gpu.unusable)};
  }
  if (!passes(job.gpu_filter, gpu)) {
    return Violation{Constraint::NoGpu,
                     fmt::format("placed it on GPU {}, but it runs on {} only",
                                 gpu.index,
                                 filter_words(job.gpu_filter))};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Violation> find_violation(std::span<const GpuView> gpus,
                                        const QueuedJob& job,
                                        const Placement& placement) {
  if (auto found = check_job(job, placement)) {
    return found;
  }
  std::uint64_t largest_bytes = 0;
  for (const unsigned index : placement.gpus) {
    const GpuView* gpu = view_of(gpus, index);
    largest_bytes = std::max(largest_bytes, gpu == nullptr ? 0 : gpu->memory_bytes);
  }
  for (std::size_t i = 0; i < placement.gpus.size(); ++i) {
    const unsigned index = placement.gpus[i];
    const GpuView* gpu = view_of(gpus, index);
    if (gpu == nullptr) {
      return Violation{Constraint::NoGpu,
                       fmt::format("placed it on GPU {}, which does not exist", index)};
    }
    if (auto found = check_gpu(*gpu, job)) {
      return found;
    }
    const auto others = std::span(placement.gpus).subspan(i + 1);
    if (std::ranges::find(others, index) != others.end()) {
      return Violation{Constraint::GpuCount, fmt::format("placed it twice on GPU {}", index)};
    }
    Found found = check_sharing(*gpu, placement);
    if (!found) {
      found = check_promise(*gpu, job);
    }
    if (!found && placement.mechanism == ShareMechanism::Mps) {
      found = check_mps(*gpu, job);
    }
    if (!found) {
      found = check_memory(*gpu, job, placement, largest_bytes);
    }
    if (found) {
      return found;
    }
  }
  return std::nullopt;
}

Deferral refusal(std::string_view policy, JobId job, const Violation& violation) {
  return {.job = job,
          .constraint = violation.constraint,
          .reason = fmt::format("policy \"{}\" {}: refused", policy, violation.what)};
}

}  // namespace carpool::schedule
