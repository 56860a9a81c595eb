#include "gpu/replay/gpu_json.hpp"

#include <array>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "gpu/replay/object_reader.hpp"

namespace carpool::gpu {
namespace {

using nlohmann::json;

template <class T>
struct Field {
  const char* key = nullptr;
  std::optional<double> T::* member = nullptr;
  bool ratio = false;
};

constexpr std::array kSampleFields{
    Field<GpuSample>{"gpu_utilisation", &GpuSample::gpu_utilisation, true},
    Field<GpuSample>{"memory_utilisation", &GpuSample::memory_utilisation, true},
    Field<GpuSample>{"power_watts", &GpuSample::power_watts},
    Field<GpuSample>{"sm_clock_mhz", &GpuSample::sm_clock_mhz},
    Field<GpuSample>{"memory_clock_mhz", &GpuSample::memory_clock_mhz},
    Field<GpuSample>{"temperature_celsius", &GpuSample::temperature_celsius},
};

constexpr std::array kActivityFields{
    Field<GpuActivity>{"graphics_active", &GpuActivity::graphics_active, true},
    Field<GpuActivity>{"sm_active", &GpuActivity::sm_active, true},
    Field<GpuActivity>{"sm_occupancy", &GpuActivity::sm_occupancy, true},
    Field<GpuActivity>{"dram_active", &GpuActivity::dram_active, true},
    Field<GpuActivity>{"tensor_active", &GpuActivity::tensor_active, true},
    Field<GpuActivity>{"fp64_active", &GpuActivity::fp64_active, true},
    Field<GpuActivity>{"fp32_active", &GpuActivity::fp32_active, true},
    Field<GpuActivity>{"fp16_active", &GpuActivity::fp16_active, true},
    Field<GpuActivity>{"pcie_read_bytes_per_second", &GpuActivity::pcie_read_bytes_per_second},
    Field<GpuActivity>{"pcie_write_bytes_per_second", &GpuActivity::pcie_write_bytes_per_second},
    Field<GpuActivity>{"nvlink_read_bytes_per_second", &GpuActivity::nvlink_read_bytes_per_second},
    Field<GpuActivity>{"nvlink_write_bytes_per_second",
                       &GpuActivity::nvlink_write_bytes_per_second},
};

template <class T, class Fields>
void put_fields(json& out, const T& value, const Fields& fields) {
  for (const auto& field : fields) {
    if (const std::optional<double>& number = value.*field.member) {
      out[field.key] = *number;
    }
  }
}

template <class T, class Fields>
void take_fields(ObjectReader& reader, T& value, const Fields& fields) {
  for (const auto& field : fields) {
    value.*field.member = reader.maybe_number(field.key);
    if (field.ratio && value.*field.member > 1.0) {
      reader.problem(field.key, "expected a number from 0 to 1");
    }
  }
}

Result<MigSlice> mig_slice_from_json(const json& in) {
  ObjectReader reader(in, "MIG slice");
  MigSlice slice{.uuid = reader.text("uuid"),
                 .profile = reader.text("profile"),
                 .memory_bytes = reader.count("memory_bytes")};
  return reader.finish(std::move(slice));
}

}  // namespace

json to_json(const MigSlice& slice) {
  return {{"uuid", slice.uuid}, {"profile", slice.profile}, {"memory_bytes", slice.memory_bytes}};
}

json to_json(const GpuInfo& info) {
  json out = {{"index", info.index},
              {"uuid", info.uuid},
              {"name", info.name},
              {"driver", info.driver},
              {"pci_bus", info.pci_bus},
              {"compute_capability", info.compute_capability},
              {"memory_bytes", info.memory_bytes},
              {"mig_enabled", info.mig_enabled},
              {"mig", json::array()},
              {"fine_activity", info.fine_activity}};
  if (info.power_limit_watts) {
    out["power_limit_watts"] = *info.power_limit_watts;
  }
  if (info.compute_mode) {
    out["compute_mode"] = *info.compute_mode;
  }
  for (const MigSlice& slice : info.mig) {
    out["mig"].push_back(to_json(slice));
  }
  return out;
}

json to_json(const GpuSample& sample) {
  json out = {{"at_ns", sample.at_ns},
              {"memory_used_bytes", sample.memory_used_bytes},
              {"throttle_reasons", sample.throttle_reasons}};
  put_fields(out, sample, kSampleFields);
  return out;
}

json to_json(const GpuActivity& activity) {
  json out = {{"span_seconds", activity.span_seconds}, {"stand_ins", activity.substitute_metrics}};
  put_fields(out, activity, kActivityFields);
  return out;
}

json to_json(const GpuProcess& process) {
  json out = {{"pid", process.pid}, {"mps_client", process.mps_client}};
  if (process.memory_bytes) {
    out["memory_bytes"] = *process.memory_bytes;
  }
  return out;
}

Result<GpuInfo> gpu_info_from_json(const json& in) {
  ObjectReader reader(in, "GPU");
  GpuInfo info{
      .index = static_cast<unsigned>(reader.count("index", std::numeric_limits<unsigned>::max())),
      .uuid = reader.text("uuid"),
      .name = reader.text("name"),
      .driver = reader.text("driver"),
      .pci_bus = reader.text("pci_bus"),
      .compute_capability = reader.text("compute_capability"),
      .memory_bytes = reader.count("memory_bytes"),
      .power_limit_watts = reader.maybe_number("power_limit_watts"),
      .compute_mode = reader.maybe_text("compute_mode"),
      .mig_enabled = reader.flag("mig_enabled"),
      .mig = {},
      .fine_activity = reader.flag("fine_activity")};
  const json* slices = reader.array("mig");
  for (const json& item : slices != nullptr ? *slices : json::array()) {
    auto slice = mig_slice_from_json(item);
    if (!slice) {
      return tl::unexpected(std::move(slice.error()));
    }
    info.mig.push_back(std::move(*slice));
  }
  return reader.finish(std::move(info));
}

Result<GpuSample> gpu_sample_from_json(const json& in) {
  ObjectReader reader(in, "sample");
  GpuSample sample;
  sample.at_ns = static_cast<std::int64_t>(reader.count("at_ns"));
  sample.memory_used_bytes = reader.count("memory_used_bytes");
  sample.throttle_reasons = reader.texts("throttle_reasons");
  take_fields(reader, sample, kSampleFields);
  return reader.finish(std::move(sample));
}

Result<GpuActivity> gpu_activity_from_json(const json& in) {
  ObjectReader reader(in, "activity");
  GpuActivity activity;
  activity.span_seconds = reader.number("span_seconds");
  activity.substitute_metrics = reader.texts("stand_ins");
  take_fields(reader, activity, kActivityFields);
  return reader.finish(std::move(activity));
}

Result<GpuProcess> gpu_process_from_json(const json& in) {
  ObjectReader reader(in, "process");
  GpuProcess process{.pid = static_cast<std::int64_t>(reader.count("pid")),
                     .memory_bytes = reader.maybe_count("memory_bytes"),
                     .mps_client = reader.flag("mps_client")};
  return reader.finish(process);
}

}  // namespace carpool::gpu
