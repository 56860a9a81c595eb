#include "estimate/readers/source_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/files/file.hpp"
#include "base/files/mapped_file.hpp"
#include "base/files/packed_file.hpp"
#include "estimate/readers/config_json.hpp"
#include "estimate/readers/layer_summary.hpp"
#include "estimate/readers/onnx/onnx_file.hpp"
#include "estimate/readers/row_file.hpp"
#include "estimate/readers/weight_header.hpp"

namespace carpool::estimate {
namespace {

namespace fs = std::filesystem;

bool is_weights(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".safetensors") || name.ends_with(".safetensors.index.json");
}

// The weights in the folder of a model; nothing: none.
std::optional<fs::path> weights_in(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {"model.safetensors", "model.safetensors.index.json"}) {
    if (fs::is_regular_file(folder / name, ignored)) {
      return folder / name;
    }
  }
  return std::nullopt;
}

Result<ReadModel> read_config(const fs::path& path, const std::optional<fs::path>& weights) {
  const auto text = read_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  auto read = parse_config_json(*text, path.string());
  const auto file = weights ? weights : weights_in(path.parent_path());
  if (!read || !file) {
    return read;
  }
  const auto totals = read_weight_totals(*file);
  if (totals) {
    take_weights(*totals, *read);
  } else if (weights) {
    return tl::unexpected(totals.error());
  } else {
    read->notes.push_back(totals.error().message);  // not requested, so not an error
  }
  return read;
}

Result<ReadModel> read_json(const fs::path& path, const std::optional<fs::path>& weights) {
  const auto text = read_packed_file(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto parsed = nlohmann::json::parse(*text, nullptr, /*allow_exceptions=*/false);
  const bool row = !parsed.is_object() || parsed.contains("cfg");
  if (!row) {
    return read_config(path, weights);
  }
  if (weights) {
    return invalid_input("--weights needs a config.json");
  }
  return parse_row_file(*text, path.string());
}

}  // namespace

Result<ReadModel> read_source(const fs::path& source,
                              const std::optional<fs::path>& weights,
                              const JobSettings& settings) {
  std::error_code ignored;
  if (fs::is_directory(source, ignored)) {
    return read_config(source / "config.json", weights);
  }
  const std::string name = source.filename().string();
  if (is_weights(source)) {
    const fs::path config = source.parent_path() / "config.json";
    if (!fs::is_regular_file(config, ignored)) {
      return fail(ErrorCode::Unsupported,
                  fmt::format("{} contains the parameters of a model, not its activations; use its "
                              "config.json too: carpool estimate config.json --weights {}",
                              source.string(),
                              source.string()));
    }
    return read_config(config, source);
  }
  const bool json = name.ends_with(".json") || name.ends_with(".jsonl") || name.ends_with(".gz");
  if (json) {
    return read_json(source, weights);
  }
  if (name.ends_with(".onnx")) {
    const auto file = MappedFile::open(source);
    return file ? parse_onnx(file->bytes(), source.string(), settings)
                : Result<ReadModel>(tl::unexpected(file.error()));
  }
  const auto text = read_file(source);
  return text ? parse_layer_summary(*text, source.string(), settings)
              : Result<ReadModel>(tl::unexpected(text.error()));
}

std::optional<fs::path> downloaded_model(std::string_view name) {
  // https://huggingface.co/docs/huggingface_hub/guides/manage-cache
  if (name.empty() || name.front() == '/' || name.find("..") != std::string_view::npos ||
      std::ranges::count(name, '/') > 1) {
    return std::nullopt;
  }
  const char* own = std::getenv("HF_HOME");
  const char* home = std::getenv("HOME");
  if (own == nullptr && home == nullptr) {
    return std::nullopt;
  }
  std::string folder = "models--" + std::string(name);
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos) {
    folder.replace(slash, 1, "--");
  }
  const fs::path hub =
      own != nullptr ? fs::path(own) / "hub" : fs::path(home) / ".cache" / "huggingface" / "hub";
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(hub / folder / "snapshots", ignored)) {
    if (fs::is_regular_file(entry.path() / "config.json", ignored)) {
      return entry.path();
    }
  }
  return std::nullopt;
}

}  // namespace carpool::estimate
