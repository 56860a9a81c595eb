#include "estimate/judge/rows.hpp"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/packed_file.hpp"
#include "base/text/json_integer.hpp"
#include "base/text/memory_size.hpp"
#include "estimate/judge/json_lines.hpp"
#include "estimate/judge/row_json.hpp"
#include "estimate/machines.hpp"
#include "estimate/named_values.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

constexpr std::string_view kLine = "row of a measured job";
constexpr double kMostMiB = 1e9;

constexpr auto kViews = std::to_array<NamedValue<RowView>>({{"trace", RowView::Trace},
                                                            {"layers", RowView::Layers},
                                                            {"config", RowView::Config},
                                                            {"flags", RowView::Config}});

Result<std::int64_t> bytes_from_mib(const json& value) {
  const auto mib = value.get<double>();
  if (!(mib >= 0.0 && mib <= kMostMiB)) {
    return invalid_input(fmt::format("{} MiB is not a size of memory", mib));
  }
  return std::llround(mib * kMiB);
}

bool known_by_layers(const json& cfg) {
  const auto family = cfg.at("fam").get<std::string>();
  return family == "tv" || family == "timm" || family == "layers" ||
         (family == "cnn" && !cfg.contains("convs"));
}

std::string group_of(const json& cfg) {
  if (cfg.contains("name")) {
    return cfg.at("name").get<std::string>();
  }
  if (cfg.contains("conf")) {
    return fmt::format("{} {}", cfg.at("type").get<std::string>(), cfg.at("conf").dump());
  }
  return cfg.dump();
}

// The layers of a named model from the catalogue, at the resolution of the row.
Result<ModelShape> from_catalogue(const json& cfg, const LayerCatalogue& catalogue) {
  const auto name = cfg.value("name", std::string());
  const auto found = catalogue.find(name);
  if (found == catalogue.end()) {
    return fail(ErrorCode::Unsupported, fmt::format("the catalogue has no model \"{}\"", name));
  }
  const double side = cfg.value("res", 0.0);
  const double own = std::sqrt(static_cast<double>(found->second.input_elements) / 3.0);
  return side > 0.0 ? at_resolution(found->second, side / own) : found->second;
}

Result<ModelShape> shape_of(const json& row,
                            RowView view,
                            Precision precision,
                            const LayerCatalogue& catalogue) {
  const json& cfg = row.at("cfg");
  if (!known_by_layers(cfg)) {
    return shape_from_json(cfg);
  }
  if (view == RowView::Config) {
    return from_catalogue(cfg, catalogue);
  }
  return layers_from_json(row, precision);
}

Result<void> read_truth(const json& row, MeasuredJob& out) {
  const json& peak = row.at("peak");
  out.finished = integer_from<int>(row.at("ok")) != 0;
  out.peak_has_context = peak.contains("total");
  const auto bytes = bytes_from_mib(peak.at(out.peak_has_context ? "total" : "reserved"));
  if (!bytes) {
    return tl::unexpected(bytes.error());
  }
  out.peak = *bytes;
  if (peak.contains("alloc")) {
    const auto allocated = bytes_from_mib(peak.at("alloc"));
    if (!allocated) {
      return tl::unexpected(allocated.error());
    }
    out.allocated = *allocated;
  }
  return {};
}

void read_facts(const json& row, MeasuredJob& out) {
  out.contested = row.value("contested", false);
  if (row.contains("others")) {
    for (const auto& [name, value] : row.at("others").items()) {
      out.others[name] = std::llround(value.get<double>() * kMiB);
    }
  }
}

Result<MeasuredJob> read_row(const json& row, RowView view, const LayerCatalogue& catalogue) {
  auto job = job_from_row(row, view, catalogue);
  if (!job) {
    return tl::unexpected(job.error());
  }
  MeasuredJob out{.job = std::move(*job), .group = group_of(row.at("cfg"))};
  read_facts(row, out);
  if (auto read = read_truth(row, out); !read) {
    return tl::unexpected(read.error());
  }
  return out;
}

}  // namespace

Result<DescribedJob> job_from_row(const json& row, RowView view, const LayerCatalogue& catalogue) {
  const json& cfg = row.at("cfg");
  const auto setup = setup_from_json(cfg);
  if (!setup) {
    return tl::unexpected(setup.error());
  }
  const auto machine = find_machine(row.value("machine", "h200"));
  if (!machine) {
    return tl::unexpected(machine.error());
  }
  auto shape = shape_of(row, view, setup->precision, catalogue);
  if (!shape) {
    return tl::unexpected(shape.error());
  }
  DescribedJob job{.model = {.name = cfg.value("name", std::string()),
                             .family = cfg.at("fam").get<std::string>(),
                             .shape = std::move(*shape)},
                   .setup = *setup,
                   .machine = *machine};
  if (view == RowView::Trace && row.contains("saved_mib") && row.at("saved_mib").is_number()) {
    const auto saved = bytes_from_mib(row.at("saved_mib"));
    if (!saved) {
      return tl::unexpected(saved.error());
    }
    job.model.traced_saved_bytes = *saved;
    job.model.traced_batch = job.setup.batch;
  }
  return job;
}

Result<RowView> row_view_named(std::string_view name) {
  return find_value(kViews, "view of a row", name);
}

Result<MeasuredJobs> parse_measured_jobs(std::string_view text,
                                         std::string_view name,
                                         RowView view,
                                         const LayerCatalogue& catalogue) {
  MeasuredJobs jobs;
  auto read =
      for_each_line(text, name, kLine, [&](const json& row, std::size_t number) -> Result<void> {
        auto job = read_row(row, view, catalogue);
        if (job) {
          job->line = number;
          jobs.rows.push_back(std::move(*job));
          return {};
        }
        if (job.error().code == ErrorCode::Unsupported) {
          ++jobs.without_model;
          return {};
        }
        return tl::unexpected(job.error());
      });
  if (!read) {
    return tl::unexpected(read.error());
  }
  if (jobs.rows.empty()) {
    return invalid_input(fmt::format("{}: no row can be estimated", name));
  }
  return jobs;
}

Result<MeasuredJobs> read_measured_jobs(const std::filesystem::path& path,
                                        RowView view,
                                        const LayerCatalogue& catalogue) {
  const auto text = read_packed_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  return parse_measured_jobs(*text, path.string(), view, catalogue);
}

Result<LayerCatalogue> parse_catalogue(std::string_view text, std::string_view name) {
  LayerCatalogue catalogue;
  auto read = for_each_line(text, name, kLine, [&](const json& row, std::size_t) -> Result<void> {
    const auto model = row.at("cfg").value("name", std::string());
    auto list = layers_from_json(row, Precision::Fp32);
    if (list && !model.empty()) {
      for (LayerLine& line : list->layers) {
        line.element_bytes = 0;  // was that of the run that the list came from
      }
      catalogue.try_emplace(model, std::move(*list));
    }
    return {};
  });
  if (!read) {
    return tl::unexpected(read.error());
  }
  return catalogue;
}

}  // namespace carpool::estimate
