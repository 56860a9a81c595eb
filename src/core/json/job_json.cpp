#include "core/json/job_json.hpp"

#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text/memory_size.hpp"
#include "base/text/strict_object.hpp"
#include "core/job_names.hpp"
#include "core/json/json_put.hpp"
#include "core/submission/resource_limits.hpp"

namespace carpool {
namespace {

using nlohmann::json;

// "auto", bytes, or a size as people write it.
void read_memory(StrictObject& reader, const char* key, std::optional<std::uint64_t>& bytes) {
  const json* given = reader.member(key);
  if (given != nullptr && given->is_string()) {
    const auto size = parse_memory_size(given->get<std::string>());
    if (!size) {
      reader.problem(key, size.error().message);
      return;
    }
    bytes = *size;
    return;
  }
  reader.read(key, bytes);
}

// Indices of GPUs: a list, or one number.
void read_gpu(StrictObject& reader, std::vector<unsigned>& indices) {
  const json* given = reader.member("gpu");
  if (given != nullptr && given->is_number()) {
    std::optional<unsigned> one;
    reader.read("gpu", one);
    if (one) {
      indices = {*one};
    }
    return;
  }
  reader.read("gpu", indices);
}

void read_limits(StrictObject& reader, JobSpec& spec) {
  std::map<std::string, std::string> texts;
  reader.read("limits", texts);
  if (auto limits = parse_limits(texts)) {
    spec.limits = std::move(*limits);
  } else {
    reader.problem("limits", limits.error().message);
  }
}

}  // namespace

json job_object(const JobSpec& spec) {
  const JobSpec usual;
  json out = {{"argv", spec.argv}};
  put(out, "name", spec.name, usual.name);
  put(out, "cwd", spec.cwd, usual.cwd);
  put(out, "env", spec.env.map(), usual.env.map());
  put(out, "gpus", spec.gpus, usual.gpus);
  put(out, "gpu", spec.gpu_filter.indices, usual.gpu_filter.indices);
  put(out, "gpu_type", spec.gpu_filter.type, usual.gpu_filter.type);
  if (spec.mem_auto && !spec.mem_bytes) {
    out["mem"] = "auto";
  } else {
    put(out, "mem", spec.mem_bytes);
    put(out, "mem_auto", spec.mem_auto, usual.mem_auto);
  }
  put(out, "mem_limit", spec.mem_limit_bytes);
  put(out, "time_s", spec.time_s);
  put(out, "runtime_s", spec.runtime_s);
  put(out, "priority", spec.priority, usual.priority);
  if (spec.job_class != usual.job_class) {
    out["class"] = name_of(spec.job_class);
  }
  put(out, "slo_ms", spec.slo_ms);
  put(out, "quantile", spec.quantile);
  put(out, "exclusive", spec.exclusive, usual.exclusive);
  put(out, "after", spec.after, usual.after);
  put(out, "after_any", spec.after_any, usual.after_any);
  put(out, "after_not_ok", spec.after_not_ok, usual.after_not_ok);
  put(out, "begin_s", spec.begin_s);
  put(out, "array", spec.array_index);
  put(out, "array_job", spec.array_job);
  put(out, "array_limit", spec.array_limit);
  put(out, "workload", spec.workload, usual.workload);
  put(out, "progress", spec.progress, usual.progress);
  put(out, "retries", spec.retries, usual.retries);
  put(out, "output", spec.output, usual.output);
  put(out, "error", spec.error, usual.error);
  put(out, "notify", spec.notify, usual.notify);
  put(out, "params", spec.params, usual.params);
  if (spec.umask) {
    out["umask"] = umask_text(*spec.umask);
  }
  put(out, "limits", limit_texts(spec.limits), {});
  return out;
}

Result<JobSpec> job_from(const json& object, const std::string& where) {
  JobSpec spec;
  StrictObject reader(object, where);
  reader.require("argv");
  reader.read("argv", spec.argv);
  reader.read("name", spec.name);
  reader.read("cwd", spec.cwd);
  Environment::Map variables;
  reader.read("env", variables);
  spec.env = std::move(variables);
  reader.read("gpus", spec.gpus);
  read_gpu(reader, spec.gpu_filter.indices);
  reader.read("gpu_type", spec.gpu_filter.type);
  const json* memory = reader.member("mem");
  reader.read("mem_auto", spec.mem_auto);
  if (memory != nullptr && *memory == "auto") {
    spec.mem_auto = true;
  } else {
    read_memory(reader, "mem", spec.mem_bytes);
  }
  read_memory(reader, "mem_limit", spec.mem_limit_bytes);
  reader.read("time_s", spec.time_s);
  reader.read("runtime_s", spec.runtime_s);
  reader.read("priority", spec.priority);
  reader.read_name("class", job_class, spec.job_class);
  reader.read("slo_ms", spec.slo_ms);
  reader.read("quantile", spec.quantile);
  reader.read("exclusive", spec.exclusive);
  reader.read("after", spec.after);
  reader.read("after_any", spec.after_any);
  reader.read("after_not_ok", spec.after_not_ok);
  reader.read("begin_s", spec.begin_s);
  reader.read("array", spec.array_index);
  reader.read("array_job", spec.array_job);
  reader.read("array_limit", spec.array_limit);
  reader.read("workload", spec.workload);
  reader.read("progress", spec.progress);
  reader.read("retries", spec.retries);
  reader.read("output", spec.output);
  reader.read("error", spec.error);
  reader.read("notify", spec.notify);
  reader.read("params", spec.params);
  reader.read_name("umask", parse_umask, spec.umask);
  read_limits(reader, spec);
  return reader.finish().map([&] { return std::move(spec); });
}

}  // namespace carpool
