#include "core/identity/steady_arguments.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "core/identity/varying_text.hpp"

namespace carpool::identity {
namespace {

// What follows the name of an option that is left out.
enum class Takes {
  Nothing,
  Value,
  Path,  // a path, a number or "auto"; else the option is a flag
};

struct LeftOut {
  std::string_view name;
  Takes takes = Takes::Value;
  bool alone = false;  // in "model.name" it means something else
};

// In lower case, with "-" for "_". Of a name with dots the last part counts, or the first one.
constexpr std::array kLeftOut = std::to_array<LeftOut>({
    // random numbers
    {"seed"},
    {"random-seed"},
    {"rng-seed"},
    {"manual-seed"},
    {"random-state"},
    // where results go
    {"o", Takes::Value, true},
    {"out", Takes::Value, true},
    {"outdir"},
    {"out-dir"},
    {"out-file"},
    {"outfile"},
    {"output", Takes::Value, true},
    {"output-dir"},
    {"output-path"},
    {"output-file"},
    {"output-folder"},
    {"output-name"},
    {"overwrite-output-dir", Takes::Nothing},
    {"overwrite", Takes::Nothing},
    {"results", Takes::Value, true},
    {"results-dir"},
    {"result-dir"},
    {"results-file"},
    {"work-dir"},
    {"workdir"},
    {"run-dir"},
    {"exp-dir"},
    {"experiment-dir"},
    {"default-root-dir"},
    {"snapshot-dir"},
    {"snapshot-path"},
    {"tmp-dir"},
    {"temp-dir"},
    {"cache-dir"},
    {"save", Takes::Path},
    {"save-dir"},
    {"save-path"},
    {"save-folder"},
    {"save-to"},
    {"save-name"},
    {"save-every"},
    {"save-freq"},
    {"save-steps"},
    {"save-interval"},
    {"save-total-limit"},
    {"save-strategy"},
    {"save-model", Takes::Nothing},
    {"checkpoint", Takes::Path},
    {"checkpoint-dir"},
    {"checkpoint-path"},
    {"ckpt", Takes::Path},
    {"ckpt-dir"},
    {"ckpt-path"},
    {"resume", Takes::Path},
    {"resume-from", Takes::Value},
    {"resume-path"},
    {"resume-from-checkpoint", Takes::Path},
    {"load-checkpoint", Takes::Path},
    // what is printed and logged
    {"log", Takes::Path, true},
    {"logs", Takes::Path, true},
    {"logdir"},
    {"log-dir"},
    {"log-file"},
    {"logfile"},
    {"log-path"},
    {"log-folder"},
    {"log-name"},
    {"log-level"},
    {"log-interval"},
    {"log-every"},
    {"log-every-n-steps"},
    {"log-freq"},
    {"log-steps"},
    {"logging-dir"},
    {"logging-steps"},
    {"loglevel"},
    {"report-to"},
    {"print-freq"},
    {"print-every"},
    {"tensorboard", Takes::Path},
    {"tensorboard-dir"},
    {"tb-dir"},
    {"tb-log-dir"},
    {"verbose", Takes::Nothing},
    {"v", Takes::Nothing, true},
    {"quiet", Takes::Nothing},
    {"q", Takes::Nothing, true},
    // the name of the run
    {"name", Takes::Value, true},
    {"run-name"},
    {"exp-name"},
    {"exp", Takes::Value, true},
    {"expname"},
    {"experiment", Takes::Value, true},
    {"experiment-name"},
    {"job-name"},
    {"project", Takes::Value, true},
    {"project-name"},
    {"id", Takes::Value, true},
    {"run-id"},
    {"run", Takes::Value, true},
    {"exp-id"},
    {"job-id"},
    {"task-id"},
    {"trial-id"},
    {"trial", Takes::Value, true},
    {"experiment-id"},
    {"uuid"},
    {"tag", Takes::Value, true},
    {"tags", Takes::Value, true},
    {"note", Takes::Value, true},
    {"notes", Takes::Value, true},
    {"comment", Takes::Value, true},
    {"description", Takes::Value, true},
    {"timestamp"},
    {"date", Takes::Value, true},
    // where it runs
    {"device", Takes::Value, true},
    {"gpu", Takes::Value, true},
    {"gpu-id"},
    {"gpu-ids"},
    {"gpu-index"},
    {"cuda-device"},
    {"device-id"},
    {"rank", Takes::Value, true},
    {"local-rank"},
    {"node-rank"},
    {"machine-rank"},
    {"port"},
    {"master-port"},
    {"main-process-port"},
    {"master-addr"},
    {"main-process-ip"},
    {"dist-url"},
    {"init-method"},
    {"host"},
    // a sweep over these is one workload: neither memory nor speed depends on them
    {"lr"},
    {"learning-rate"},
    {"weight-decay"},
    {"wd", Takes::Value, true},
    {"momentum"},
});

// Options of these services and libraries, whatever they are called: "--wandb-run",
// "hydra.run.dir".
constexpr std::array<std::string_view, 9> kServices = {
    "wandb", "mlflow", "hydra", "comet", "neptune", "rdzv", "logger", "logging", "aim"};

// Variables of the runtime, not of the program.
constexpr std::array<std::string_view, 24> kVariables = {
    "CUDA_",         "NVIDIA_",     "NCCL_",  "OMP_",   "MKL_",   "OPENBLAS_",
    "PYTHON",        "PYTORCH_",    "TORCH_", "TF_",    "XLA_",   "HF_",
    "TRANSFORMERS_", "TOKENIZERS_", "WANDB_", "MASTER", "RANK",   "LOCAL_RANK",
    "WORLD_SIZE",    "PATH",        "LD_",    "HOME",   "TMPDIR", "GLOO_"};

std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name) {
    out += c == '_' ? '-' : (c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
  }
  return out;
}

bool is_option(std::string_view word) {
  const bool number = word.size() > 1 && (word[1] == '.' || (word[1] >= '0' && word[1] <= '9'));
  return word.size() > 1 && word.starts_with('-') && !number;
}

const LeftOut* find_left_out(std::string_view written) {
  static constexpr LeftOut kService{"", Takes::Value};
  const std::size_t start = written.find_first_not_of("-+~");
  const std::string name = plain(written.substr(std::min(start, written.size())));
  const std::size_t dot = name.rfind('.');
  const bool dotted = dot != std::string::npos;
  const std::string_view last = std::string_view(name).substr(dotted ? dot + 1 : 0);
  const std::string_view first = std::string_view(name).substr(0, name.find_first_of(".-"));
  if (std::ranges::find(kServices, first) != kServices.end()) {
    return &kService;
  }
  const auto found = std::ranges::find(kLeftOut, last, &LeftOut::name);
  return found == kLeftOut.end() || (dotted && found->alone) ? nullptr : &*found;
}

bool is_path_or_number(std::string_view word) {
  return word.find_first_of("/.0123456789") != std::string_view::npos || word == "auto" ||
         word == "latest" || word == "last" || word == "none";
}

bool takes(const LeftOut& option, std::string_view next) {
  return !is_option(next) &&
         (option.takes == Takes::Value || (option.takes == Takes::Path && is_path_or_number(next)));
}

}  // namespace

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return false;
  }
  const auto names = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-' || c == '+' || c == '~' || c == '@';
  };
  return std::ranges::all_of(word.substr(0, equals), names);
}

bool is_left_out_variable(std::string_view name) {
  return find_left_out(name) != nullptr ||
         std::ranges::any_of(kVariables, [&](auto prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> steady_arguments(std::span<const std::string> words) {
  std::vector<std::string> steady;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string_view word = words[at];
    const bool option = is_option(word);
    if (!option && !is_assignment(word)) {
      steady.push_back(steady_value(word));
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool has_value = equals != std::string_view::npos;
    const std::string_view name = word.substr(0, equals);
    if (const LeftOut* left_out = find_left_out(name)) {
      at += !has_value && at + 1 < words.size() && takes(*left_out, words[at + 1]) ? 1 : 0;
      continue;
    }
    if (!has_value) {
      steady.emplace_back(name);
    } else if (option) {
      // "--x=v" and "--x v" are the same.
      steady.emplace_back(name);
      steady.push_back(steady_value(word.substr(equals + 1)));
    } else {
      steady.push_back(std::string(name) + "=" + steady_value(word.substr(equals + 1)));
    }
  }
  return steady;
}

}  // namespace carpool::identity
