#include "estimate/readers/command_flags.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "estimate/readers/flag_table.hpp"

namespace carpool::estimate {
namespace {

// The names of the Hugging Face example scripts imply their task.
struct ScriptTask {
  std::string_view part;
  TransformerTask task;
};
constexpr auto kScripts = std::to_array<ScriptTask>({
    {"run_mlm", TransformerTask::MaskedLm},
    {"run_clm", TransformerTask::CausalLm},
    {"run_glue", TransformerTask::Classification},
    {"run_classification", TransformerTask::Classification},
    {"run_qa", TransformerTask::Classification},
    {"run_ner", TransformerTask::Classification},
    {"run_squad", TransformerTask::Classification},
});

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return static_cast<char>(c == '_' ? '-' : std::tolower(c));
  });
  return out;
}

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "1") {
    return true;
  }
  return word == "false" || word == "no" || word == "0" ? std::optional(false) : std::nullopt;
}

class CommandReader {
 public:
  explicit CommandReader(std::span<const std::string> argv) : argv_(argv) {}

  CommandFacts read() {
    while (next_ < argv_.size()) {
      read_word(argv_[next_++]);
    }
    JobSettings& settings = facts_.settings;
    if (trains_) {
      settings.mode = RunMode::Train;
    }
    if (!settings.precision) {
      settings.precision = autocast_;
    }
    if (evaluation_batch_ && (settings.mode == RunMode::Infer || !settings.batch)) {
      settings.batch = evaluation_batch_;
      facts_.batch_at = evaluation_batch_at_;
    }
    return std::move(facts_);
  }

 private:
  // --name VALUE, --name=VALUE, --switch, and group.name=VALUE of Hydra and Lightning.
  void read_word(std::string_view word) {
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::size_t equals = word.find('=');
    if (dashes == 0 && equals == std::string_view::npos) {
      read_script(word);
      return;
    }
    std::string name = lower(word.substr(
        dashes, equals == std::string_view::npos ? std::string_view::npos : equals - dashes));
    if (const std::size_t dot = name.rfind('.'); dot != std::string::npos) {
      name.erase(0, dot + 1);
    }
    const CommandFlag* flag = find_flag(name);
    if (flag == nullptr) {
      return;
    }
    facts_.hugging_face_trainer |= name == "model-name-or-path" || name.starts_with("per-device-");
    std::optional<std::string_view> value;
    if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    }
    if (flag->meaning >= FlagMeaning::Bf16) {
      read_switch(*flag, word, value);
    } else {
      read_value(*flag, word, value);
    }
  }

  void read_script(std::string_view word) {
    for (const ScriptTask& script : kScripts) {
      if (word.find(script.part) != std::string_view::npos && word.ends_with(".py")) {
        facts_.settings.task = script.task;
        facts_.hugging_face_trainer = true;
        facts_.read.emplace_back(word);
      }
    }
  }

  void read_switch(const CommandFlag& flag,
                   std::string_view word,
                   std::optional<std::string_view> value) {
    bool on = true;
    if (value) {
      on = yes_or_no(*value).value_or(true);
    } else if (next_ < argv_.size()) {
      if (const auto given = yes_or_no(argv_[next_])) {
        on = *given;
        ++next_;
      }
    }
    facts_.read.push_back(fmt::format("{}{}", word, on || value ? "" : " False"));
    apply(flag.meaning, on);
  }

  void apply(FlagMeaning meaning, bool on) {
    JobSettings& settings = facts_.settings;
    switch (meaning) {
      case FlagMeaning::Bf16:
        autocast_ = on ? std::optional(Precision::AmpBf16) : autocast_;
        break;
      case FlagMeaning::Fp16:
        autocast_ = on ? std::optional(Precision::AmpFp16) : autocast_;
        break;
      case FlagMeaning::Half:
        settings.precision = on ? std::optional(Precision::Fp16) : settings.precision;
        break;
      case FlagMeaning::Tf32:
        settings.tf32 = on;
        break;
      case FlagMeaning::Checkpointing:
        settings.checkpointing = on;
        break;
      case FlagMeaning::ChannelsLast:
        settings.channels_last = on;
        break;
      case FlagMeaning::Autotune:
        settings.autotune = on;
        break;
      case FlagMeaning::Training:
        trains_ = trains_ || on;
        break;
      case FlagMeaning::Inference:
        settings.mode = on ? std::optional(RunMode::Infer) : settings.mode;
        break;
      default:
        facts_.notes.emplace_back("quantised weights are counted at their full size");
    }
  }

  void read_value(const CommandFlag& flag,
                  std::string_view word,
                  std::optional<std::string_view> value) {
    if (!value) {
      if (next_ >= argv_.size()) {
        facts_.notes.push_back(fmt::format("{} has no value", word));
        return;
      }
      value = argv_[next_++];
    }
    // The value is the end of the last word read.
    value_at_ = {.word = next_ - 1, .offset = argv_[next_ - 1].size() - value->size()};
    if (take(flag.meaning, *value)) {
      facts_.read.push_back(word.find('=') == std::string_view::npos
                                ? fmt::format("{} {}", word, *value)
                                : std::string(word));
    } else {
      facts_.notes.push_back(fmt::format("{}: value \"{}\" is not recognised", word, *value));
    }
  }

  [[nodiscard]] bool take(FlagMeaning meaning, std::string_view value) {
    JobSettings& settings = facts_.settings;
    switch (meaning) {
      case FlagMeaning::Model:
        facts_.model = value;
        return !value.empty();
      case FlagMeaning::WeightType:
        return take_named(settings.precision, precision_named(lower(value)));
      case FlagMeaning::AutocastType:
        return take_named(autocast_, autocast_named(lower(value)));
      case FlagMeaning::OptimizerName:
        return take_optimizer(value);
      case FlagMeaning::Attention:
        return take_named(settings.attention, attention_named(value));
      default:
        return take_number(meaning, value);
    }
  }

  template <class Value>
  static bool take_named(std::optional<Value>& into, const Result<Value>& named) {
    if (named) {
      into = *named;
    }
    return named.has_value();
  }

  // "sgd" of timm and torchvision has a momentum.
  [[nodiscard]] bool take_optimizer(std::string_view value) {
    auto named = optimizer_named(value == "sgd" ? "momentum" : value);
    if (!named && value.find("8bit") != std::string_view::npos) {
      facts_.notes.emplace_back("8-bit optimizer states are counted at 32 bits");
      named = Optimizer::Adam;
    }
    return take_named(facts_.settings.optimizer, named);
  }

  [[nodiscard]] bool take_number(FlagMeaning meaning, std::string_view value) {
    const auto number = whole_number(value);
    if (!number) {
      return false;
    }
    JobSettings& settings = facts_.settings;
    switch (meaning) {
      case FlagMeaning::Batch:
        settings.batch = number;
        facts_.batch_at = value_at_;
        break;
      case FlagMeaning::EvaluationBatch:
        evaluation_batch_ = number;
        evaluation_batch_at_ = value_at_;
        break;
      case FlagMeaning::Sequence:
        settings.sequence = number;
        break;
      case FlagMeaning::Accumulation:
        settings.accumulation = number;
        break;
      case FlagMeaning::LoraRank:
        settings.lora_rank = number;
        break;
      case FlagMeaning::DecodeTokens:
        settings.decode_tokens = number;
        break;
      case FlagMeaning::Resolution:
        settings.resolution = number;
        break;
      case FlagMeaning::Gpus:
        settings.gpus = number;
        break;
      default:
        settings.zero_stage = number;
    }
    return true;
  }

  std::span<const std::string> argv_;
  std::size_t next_ = 0;
  CommandFacts facts_;
  std::optional<Precision> autocast_;
  std::optional<std::int64_t> evaluation_batch_;
  WordPlace value_at_;  // of the current value
  WordPlace evaluation_batch_at_;
  bool trains_ = false;
};

}  // namespace

CommandFacts read_command(std::span<const std::string> argv) {
  return CommandReader(argv).read();
}

}  // namespace carpool::estimate
