#include "gpu/nvml/nvml_telemetry.hpp"

#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/process/thread.hpp"
#include "gpu/nvml/gpm_span.hpp"
#include "gpu/nvml/library.hpp"
#include "gpu/nvml/owner_thread.hpp"
#include "gpu/nvml/read_device.hpp"
#include "gpu/nvml/read_health.hpp"
#include "gpu/nvml/read_processes.hpp"

namespace carpool::gpu {
namespace {

using nvml::DeviceRef;
using nvml::GpmSpan;

// The started library and its open devices. Used only on the owner thread.
class Session {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Session>> open(
      const std::vector<std::string>& library_names) {
    auto library = nvml::Library::load(library_names);
    if (!library) {
      return tl::unexpected(std::move(library.error()));
    }
    if (const auto code = library->call().init(); code != nvml::kSuccess) {
      return tl::unexpected(library->failure("start NVIDIA's management library", code));
    }
    std::unique_ptr<Session> session(new Session(std::move(*library)));
    unsigned count = 0;
    if (const auto code = session->library_.call().device_count(&count); code != nvml::kSuccess) {
      return tl::unexpected(session->library_.failure("count the GPUs", code));
    }
    session->gpus_.resize(count);
    return session;
  }

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    gpus_.clear();  // frees their samples and events while the library runs
    library_.call().shutdown();
  }

  [[nodiscard]] unsigned count() const { return static_cast<unsigned>(gpus_.size()); }

  [[nodiscard]] Result<DeviceRef> device(unsigned index) {
    if (index >= gpus_.size()) {
      return fail(
          ErrorCode::NotFound,
          fmt::format(
              "there is no GPU {}: the driver reports {}, counted from 0", index, gpus_.size()));
    }
    DeviceRef& known = gpus_[index].device;
    if (known.handle == nullptr) {
      nvml::Device handle = nullptr;
      const auto code = library_.call().device_by_index(index, &handle);
      if (code != nvml::kSuccess) {
        return tl::unexpected(library_.failure(fmt::format("open GPU {}", index), code));
      }
      known = DeviceRef{.library = &library_, .handle = handle, .index = index};
    }
    return known;
  }

  [[nodiscard]] Result<GpmSpan*> span(unsigned index) {
    return device(index).map([&](const DeviceRef& gpu) {
      std::optional<GpmSpan>& span = gpus_[index].span;
      return span ? &*span : &span.emplace(gpu);
    });
  }

  [[nodiscard]] Result<GpuHealth> health(unsigned index) {
    return device(index).and_then([&](const DeviceRef& gpu) {
      std::optional<nvml::XidEvents>& xids = gpus_[index].xids;
      return nvml::read_health(gpu, xids ? *xids : xids.emplace(gpu));
    });
  }

  [[nodiscard]] Result<std::optional<std::vector<ProcessActivity>>> process_activity(
      unsigned index) {
    return device(index).and_then([&](const DeviceRef& gpu) {
      return nvml::read_process_activity(gpu, gpus_[index].processes_seen_us);
    });
  }

 private:
  struct Gpu {
    DeviceRef device;
    std::optional<GpmSpan> span;
    std::optional<nvml::XidEvents> xids;
    unsigned long long processes_seen_us = 0;  // time of the last reading of their activity
  };

  explicit Session(nvml::Library library) : library_(std::move(library)) {}

  nvml::Library library_;
  std::vector<Gpu> gpus_;
};

Result<std::vector<GpuInfo>> list(Session& session) {
  std::vector<GpuInfo> gpus;
  for (unsigned i = 0; i < session.count(); ++i) {
    auto info = session.device(i).and_then(nvml::read_info);
    if (!info) {
      return tl::unexpected(std::move(info.error()));
    }
    gpus.push_back(std::move(*info));
  }
  return gpus;
}

Result<std::optional<GpuActivity>> next_activity(Session& session, unsigned gpu) {
  constexpr std::chrono::nanoseconds kShortest = kShortestActivitySpan;
  auto span = session.span(gpu);
  if (!span) {
    return tl::unexpected(std::move(span.error()));
  }
  if (!(*span)->under_way()) {
    return (*span)->begin().map([] { return std::optional<GpuActivity>(); });
  }
  if (monotonic_ns() - (*span)->began_ns() < kShortest.count()) {
    return std::nullopt;
  }
  auto activity = (*span)->end();
  if (!activity) {
    return tl::unexpected(std::move(activity.error()));
  }
  return session.device(gpu)
      .and_then([&](const DeviceRef& device) {
        return nvml::with_substitute_metrics(device, std::move(*activity));
      })
      .map([](GpuActivity&& complete) { return std::optional(std::move(complete)); });
}

class NvmlTelemetry final : public TelemetrySource {
 public:
  NvmlTelemetry() = default;
  ~NvmlTelemetry() override {
    (void)owner_.call([&] {
      session_.reset();
      return true;
    });
  }
  NvmlTelemetry(const NvmlTelemetry&) = delete;
  NvmlTelemetry& operator=(const NvmlTelemetry&) = delete;

  [[nodiscard]] Result<void> open(const std::vector<std::string>& library_names) {
    return owner_.call([&] {
      return Session::open(library_names).map([&](std::unique_ptr<Session>&& session) {
        session_ = std::move(session);
      });
    });
  }

  [[nodiscard]] Result<std::vector<GpuInfo>> list_gpus() override {
    return owner_.call([&] { return list(*session_); });
  }

  [[nodiscard]] Result<GpuSample> sample(unsigned gpu) override {
    return owner_.call([&] { return session_->device(gpu).and_then(nvml::read_sample); });
  }

  [[nodiscard]] Result<std::optional<GpuEnergy>> energy(unsigned gpu) override {
    return owner_.call([&] { return session_->device(gpu).and_then(nvml::read_energy); });
  }

  [[nodiscard]] Result<std::optional<GpuActivity>> activity(unsigned gpu) override {
    return owner_.call([&] { return next_activity(*session_, gpu); });
  }

  [[nodiscard]] Result<void> begin_activity(unsigned gpu) override {
    return owner_.call(
        [&] { return session_->span(gpu).and_then([](GpmSpan* span) { return span->begin(); }); });
  }

  [[nodiscard]] Result<std::vector<GpuProcess>> processes(unsigned gpu) override {
    return owner_.call([&] { return session_->device(gpu).and_then(nvml::read_processes); });
  }

  [[nodiscard]] Result<GpuHealth> health(unsigned gpu) override {
    return owner_.call([&] { return session_->health(gpu); });
  }

  [[nodiscard]] Result<std::optional<std::vector<ProcessActivity>>> process_activity(
      unsigned gpu) override {
    return owner_.call([&] { return session_->process_activity(gpu); });
  }

 private:
  std::unique_ptr<Session> session_;  // created, used and destroyed on the owner thread
  OwnerThread owner_;
};

}  // namespace

Result<std::unique_ptr<TelemetrySource>> open_nvml(const std::vector<std::string>& library_names) {
  std::unique_ptr<NvmlTelemetry> telemetry;
  try {
    telemetry = std::make_unique<NvmlTelemetry>();
  } catch (const std::system_error& problem) {
    return thread_failure(problem);
  }
  if (auto opened = telemetry->open(library_names); !opened) {
    return tl::unexpected(std::move(opened.error()));
  }
  return telemetry;
}

}  // namespace carpool::gpu
