#include "estimate/readers/weight_header.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/files/mapped_file.hpp"
#include "estimate/layers/model_sizes.hpp"
#include "estimate/readers/json_numbers.hpp"
#include "estimate/readers/onnx/wire_reader.hpp"
#include "estimate/replay/checked_sizes.hpp"
#include "estimate/replay/replay.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

// https://github.com/huggingface/safetensors: 8 bytes with the length of the header, little-endian,
// at most 100 MB; the header as JSON; the weights.
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMostHeader = 100'000'000;
constexpr std::size_t kMostParts = 10'000;

struct TypeSize {
  std::string_view name;
  std::int64_t bytes;
};
constexpr auto kWeightTypes = std::to_array<TypeSize>({{"F64", 8},
                                                       {"I64", 8},
                                                       {"U64", 8},
                                                       {"F32", 4},
                                                       {"I32", 4},
                                                       {"U32", 4},
                                                       {"F16", 2},
                                                       {"BF16", 2},
                                                       {"I16", 2},
                                                       {"U16", 2},
                                                       {"I8", 1},
                                                       {"U8", 1},
                                                       {"BOOL", 1},
                                                       {"F8_E4M3", 1},
                                                       {"F8_E5M2", 1}});

Result<std::int64_t> elements_of(const json& shape) {
  if (!shape.is_array()) {
    return invalid_input("\"shape\" is not a list");
  }
  std::int64_t elements = 1;
  for (const json& extent : shape) {
    if (!extent.is_number_unsigned() ||
        extent.get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxCount)) {
      return invalid_input("\"shape\" may contain only whole numbers of at most 10^12");
    }
    elements = times(elements, extent.get<std::int64_t>());
  }
  if (elements > kMaxCount) {
    return invalid_input("more than 10^12 elements");
  }
  return elements;
}

Result<void> add_tensor(const json& entry, WeightTotals& totals) {
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.at("dtype").is_string()) {
    return invalid_input("\"dtype\" and \"shape\" are expected");
  }
  const auto type = entry.at("dtype").get<std::string>();
  const auto* const known = std::ranges::find(kWeightTypes, type, &TypeSize::name);
  if (known == kWeightTypes.end()) {
    return invalid_input(fmt::format("type \"{}\" is not known", type));
  }
  const auto elements = elements_of(entry.at("shape"));
  if (!elements) {
    return tl::unexpected(elements.error());
  }
  totals.parameters = std::min(plus(totals.parameters, *elements), kMaxCount);
  totals.bytes = plus(totals.bytes, times(*elements, known->bytes));
  totals.by_type[type] += *elements;
  ++totals.tensors;
  return {};
}

Result<WeightTotals> read_one(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return file ? parse_safetensors(file->bytes(), path.string())
              : Result<WeightTotals>(tl::unexpected(file.error()));
}

Result<std::set<std::string>> parts_of(std::string_view text, std::string_view name) {
  const json index = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object()) {
    return invalid_input(
        fmt::format("{} is not an index of weights: it has no \"weight_map\"", name));
  }
  std::set<std::string> parts;
  for (const json& part : *map) {
    const auto file = part.is_string() ? part.get<std::string>() : std::string();
    if (file.empty() || file.find('/') != std::string::npos) {
      return invalid_input(fmt::format("{}: a part is not a file name", name));
    }
    parts.insert(file);
  }
  if (parts.size() > kMostParts) {
    return invalid_input(
        fmt::format("{} names {} parts; at most {} are supported", name, parts.size(), kMostParts));
  }
  return parts;
}

}  // namespace

Result<WeightTotals> parse_safetensors(std::string_view file, std::string_view name) {
  if (file.size() < kLengthBytes) {
    return invalid_input(fmt::format("{} has {} bytes: not a safetensors file", name, file.size()));
  }
  const std::uint64_t length = little_endian(file.substr(0, kLengthBytes));
  if (length > kMostHeader) {
    return invalid_input(fmt::format(
        "{}: the header has {} bytes; at most {} are allowed", name, length, kMostHeader));
  }
  if (length > file.size() - kLengthBytes) {
    return invalid_input(
        fmt::format("{} is truncated: its header has {} bytes, but the file only {}",
                    name,
                    length,
                    file.size() - kLengthBytes));
  }
  const json header =
      json::parse(file.substr(kLengthBytes, length), nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) {
    return invalid_input(fmt::format("{}: the header is not a JSON object", name));
  }
  WeightTotals totals;
  for (const auto& [tensor, entry] : header.items()) {
    if (tensor == "__metadata__") {
      continue;
    }
    if (auto added = add_tensor(entry, totals); !added) {
      return invalid_input(
          fmt::format("{}: tensor \"{}\": {}", name, tensor, added.error().message));
    }
  }
  if (totals.tensors == 0) {
    return invalid_input(fmt::format("{} contains no tensor", name));
  }
  return totals;
}

Result<WeightTotals> read_weight_totals(const std::filesystem::path& path) {
  if (path.extension() != ".json") {
    return read_one(path);
  }
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto parts = parts_of(*text, path.string());
  if (!parts) {
    return tl::unexpected(parts.error());
  }
  WeightTotals all;
  for (const std::string& part : *parts) {
    const auto one = read_one(path.parent_path() / part);
    if (!one) {
      return one;
    }
    all.parameters = std::min(plus(all.parameters, one->parameters), kMaxCount);
    all.bytes = plus(all.bytes, one->bytes);
    all.tensors += one->tensors;
    for (const auto& [type, elements] : one->by_type) {
      all.by_type[type] += elements;
    }
  }
  return all;
}

void take_weights(const WeightTotals& totals, ReadModel& read) {
  auto* shape = std::get_if<TransformerShape>(&read.model.shape);
  if (shape == nullptr) {
    read.notes.emplace_back("weights are counted from the layers, not from the weight file");
    return;
  }
  DescribedJob job{.model = read.model};
  job.setup.sequence = 1;
  if (!check_job(job)) {
    return;  // the estimate reports the error
  }
  const std::int64_t built = sizes_of_model(job).parameters - shape->unlisted_parameters;
  shape->unlisted_parameters = std::max<std::int64_t>(totals.parameters - built, 0);
  read.basis = "config and weights";
  read.notes.push_back(
      fmt::format("{:.1f} M parameters in {} stored tensors, {:.1f} M by the configuration",
                  static_cast<double>(totals.parameters) * 1e-6,
                  totals.tensors,
                  static_cast<double>(built) * 1e-6));
}

}  // namespace carpool::estimate
