#include "app/launch/gpu_share.hpp"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>

#include "app/launch/process_memory.hpp"
#include "app/launch/shim_environment.hpp"
#include "base/files/runtime_folder.hpp"
#include "base/log.hpp"
#include "base/text/memory_size.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "interpose/state/process_facts.hpp"
#include "interpose/state/reader.hpp"
#include "interpose/state/state_folder.hpp"

namespace carpool::app {
namespace {

// Apart from the numbers that servers give, and from those of other containers.
std::uint64_t job_number() {
  return kFirstRunJob | (interpose::own_pid_namespace() & 0xffU) << 32U |
         static_cast<std::uint64_t>(::getpid());
}

tl::unexpected<Error> state_problem(const std::filesystem::path& folder,
                                    interpose::StateError error) {
  return conflict(fmt::format(
      "{}: {}. Set CARPOOL_STATE_DIR to another folder, or wait until the programs that use it "
      "have ended and remove it",
      folder.string(),
      interpose::describe(error)));
}

bool is_outdated(interpose::StateError error) {
  return error == interpose::StateError::Corrupt || error == interpose::StateError::OlderLayout ||
         error == interpose::StateError::NewerLayout;
}

interpose::StateReport read_state(const std::filesystem::path& folder, const std::string& uuid) {
  interpose::StateReader reader;
  interpose::StateReport report;
  if (reader.open(folder.string(), uuid, ::geteuid()) == interpose::StateError::None) {
    static_cast<void>(reader.read(report));
  }
  return report;
}

// What other jobs use or may claim, and what processes without the library use.
std::uint64_t promised(const interpose::StateReport& report,
                       const std::vector<GpuProcess>& processes) {
  std::uint64_t sum =
      interpose::MemoryAccountant().add(report, memory_of(processes), report).foreign_bytes;
  for (const interpose::JobReport& job : report.jobs) {
    sum += std::max(job.used_bytes, job.guarantee_bytes);
  }
  return sum;
}

}  // namespace

Result<std::unique_ptr<GpuShare>> GpuShare::take(const ShareRequest& request) {
  const Result<Descriptor> launches = lock_launches(request.gpu.uuid);
  if (!launches) {
    return tl::unexpected(launches.error());
  }
  std::unique_ptr<GpuShare> share(new GpuShare());
  share->gpu_ = request.gpu;
  share->job_ = job_number();
  const Result<void> taken =
      share->enter_state(request).and_then([&] { return share->lock_gpu(); }).and_then([&] {
        return share->use_mps(request);
      });
  if (!taken) {
    return tl::unexpected(taken.error());
  }
  return share;
}

GpuShare::~GpuShare() {
  if (!slot_.joined()) {
    return;
  }
  // Only one that takes no part in the count any more may stop what the others use.
  const Result<Descriptor> launches =
      mps_ ? lock_launches(gpu_.uuid) : Result<Descriptor>(Descriptor());
  slot_.leave();
  if (mps_) {
    const Result<void> left = mps_->leave(others_remain());
    if (!left) {
      log_warning(left.error().message);
    }
  }
}

Result<void> GpuShare::enter_state(const ShareRequest& request) {
  interpose::PathBuffer folder{};
  if (!interpose::default_state_folder(folder)) {
    return invalid_input("the path in CARPOOL_STATE_DIR or XDG_RUNTIME_DIR is too long");
  }
  state_folder_ = folder.data();
  const std::uint64_t guarantee = request.guarantee_bytes.value_or(0);
  const std::uint64_t others = promised(read_state(state_folder_, gpu_.uuid), request.processes);
  if (gpu_.memory_bytes > 0 && guarantee > 0 && others + guarantee > gpu_.memory_bytes) {
    return conflict(fmt::format(
        "GPU {} has {}; other programs use or were guaranteed {}, so {} cannot be guaranteed",
        gpu_.index,
        gib_text(gpu_.memory_bytes),
        gib_text(others),
        gib_text(guarantee)));
  }
  const interpose::Membership membership{
      .name = kRunSlotName,
      .job = job_,
      .limit_bytes = request.limit_bytes.value_or(interpose::kUnlimited),
      .guarantee_bytes = guarantee};
  interpose::StateError error = slot_.join(state_folder_.string(), gpu_.uuid, membership);
  if (is_outdated(error) &&
      interpose::remove_unused_state(state_folder_.string(), gpu_.uuid, ::geteuid()) ==
          interpose::StateError::None) {
    error = slot_.join(state_folder_.string(), gpu_.uuid, membership);
  }
  if (error != interpose::StateError::None) {
    return state_problem(state_folder_, error);
  }
  return {};
}

bool GpuShare::run_is(pid_t pid) const {
  const interpose::StateReport report = read_state(state_folder_, gpu_.uuid);
  return std::ranges::any_of(report.clients, [&](const interpose::ClientReport& client) {
    return client.name == kRunSlotName && client.pid == pid && !client.orphaned;
  });
}

bool GpuShare::others_remain() const {
  const interpose::StateReport report = read_state(state_folder_, gpu_.uuid);
  return std::ranges::any_of(report.clients, [](const interpose::ClientReport& client) {
    return client.name == kRunSlotName && client.pid != ::getpid();
  });
}

// The runs of a user share one GPU; one of them has the lock, which keeps servers out.
Result<void> GpuShare::lock_gpu() {
  const auto holder = gpu_holder(gpu_.uuid);
  if (holder && !holder->system && holder->uid == ::geteuid() && holder->pid &&
      run_is(*holder->pid)) {
    return {};
  }
  GpuView view;
  view.index = gpu_.index;
  view.uuid = gpu_.uuid;
  Result<GpuLocks> lock = GpuLocks::take({view}, {});
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  lock_ = std::move(*lock);
  return {};
}

Result<void> GpuShare::use_mps(const ShareRequest& request) {
  environment_ = gpu::environment_without_mps(gpu_.uuid, runtime_folder() / "no-mps");
  if (request.mps == MpsWish::Off) {
    return {};
  }
  Result<SharedMps> mps = SharedMps::join(gpu_.uuid);
  if (!mps && request.mps == MpsWish::On) {
    return tl::unexpected(mps.error());
  }
  if (!mps) {
    log_info(fmt::format("without MPS, programs take turns on the GPU: {}", mps.error().message));
    return {};
  }
  environment_ = mps->environment();
  mps_ = std::move(*mps);
  return {};
}

void GpuShare::keep() {
  if (lock_) {
    static_cast<void>(lock_->keep());
  } else if (!gpu_holder(gpu_.uuid)) {
    static_cast<void>(lock_gpu());
  }
}

}  // namespace carpool::app
