#include "estimate/judge/row_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text/json_integer.hpp"
#include "estimate/named_values.hpp"
#include "estimate/replay/checked_sizes.hpp"

namespace carpool::estimate {
namespace {

using nlohmann::json;

constexpr auto kModes =
    std::to_array<NamedValue<RunMode>>({{"train", RunMode::Train}, {"infer", RunMode::Infer}});
constexpr auto kRowPrecisions =
    std::to_array<NamedValue<Precision>>({{"fp32", Precision::Fp32},
                                          {"bf16", Precision::Bf16},
                                          {"fp16", Precision::Fp16},
                                          {"ampbf16", Precision::AmpBf16},
                                          {"amp16", Precision::AmpFp16}});
constexpr auto kRowOptimizers =
    std::to_array<NamedValue<Optimizer>>({{"sgd", Optimizer::Sgd},
                                          {"sgdm", Optimizer::Momentum},
                                          {"adam", Optimizer::Adam},
                                          {"adamw", Optimizer::Adam},
                                          {"adamw_fused", Optimizer::AdamFused},
                                          {"adamw_single", Optimizer::AdamSingle},
                                          {"rmsprop", Optimizer::RmsProp},
                                          {"adagrad", Optimizer::Adagrad}});
constexpr auto kRowAttentions = std::to_array<NamedValue<AttentionKind>>(
    {{"sdpa", AttentionKind::Sdpa}, {"eager", AttentionKind::Eager}});
constexpr auto kRowTasks =
    std::to_array<NamedValue<TransformerTask>>({{"mlm", TransformerTask::MaskedLm},
                                                {"clm", TransformerTask::CausalLm},
                                                {"seq", TransformerTask::Classification}});

bool flag(const json& cfg, const char* key) {
  const auto found = cfg.find(key);
  return found != cfg.end() &&
         (found->is_boolean() ? found->get<bool>() : integer_from<int>(*found) != 0);
}

std::vector<std::int64_t> whole_list(const json& list) {
  std::vector<std::int64_t> numbers;
  for (const json& number : list.get_ref<const json::array_t&>()) {
    numbers.push_back(integer_from<std::int64_t>(number));
  }
  return numbers;
}

std::int64_t whole(const json& cfg, const char* key, std::int64_t otherwise) {
  return cfg.contains(key) ? integer_from<std::int64_t>(cfg.at(key)) : otherwise;
}

// The first of several keys that configurations use for one number; 0: none.
std::int64_t first_of(const json& conf, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (conf.contains(key)) {
      return integer_from<std::int64_t>(conf.at(key));
    }
  }
  return 0;
}

MlpShape mlp_from_json(const json& cfg) {
  return {.inputs = integer_from<std::int64_t>(cfg.at("inp")),
          .widths = whole_list(cfg.at("widths")),
          .classes = integer_from<std::int64_t>(cfg.at("classes")),
          .activation = cfg.at("act").get<std::string>(),
          .batch_norm = flag(cfg, "bn"),
          .dropout = flag(cfg, "drop"),
          .last = cfg.value("last", "")};
}

CnnShape cnn_from_json(const json& cfg) {
  CnnShape shape{.channels = integer_from<std::int64_t>(cfg.at("ch")),
                 .resolution = integer_from<std::int64_t>(cfg.at("res")),
                 .kernel = integer_from<std::int64_t>(cfg.at("k")),
                 .classes = integer_from<std::int64_t>(cfg.at("classes")),
                 .activation = cfg.at("act").get<std::string>(),
                 .batch_norm = flag(cfg, "bn"),
                 .in_place = flag(cfg, "inplace")};
  for (const json& pair : cfg.at("convs")) {
    shape.convolutions.push_back({.filters = integer_from<std::int64_t>(pair.at(0)),
                                  .stride = integer_from<std::int64_t>(pair.at(1))});
  }
  return shape;
}

Result<ModelShape> transformer_from_json(const json& cfg) {
  const json& conf = cfg.at("conf");
  const auto task = find_value(kRowTasks, "task", cfg.at("task").get<std::string>());
  if (!task) {
    return tl::unexpected(task.error());
  }
  TransformerShape shape{
      .type = cfg.at("type").get<std::string>(),
      .task = *task,
      .hidden = first_of(conf, {"hidden_size", "dim", "n_embd"}),
      .layers = first_of(conf, {"num_hidden_layers", "n_layers", "n_layer"}),
      .heads = first_of(conf, {"num_attention_heads", "n_heads", "n_head"}),
      .key_value_heads = first_of(conf, {"num_key_value_heads"}),
      .feed_forward = first_of(conf, {"intermediate_size", "hidden_dim", "ffn_dim"}),
      .vocabulary = integer_from<std::int64_t>(conf.at("vocab_size")),
      .positions = first_of(conf, {"max_position_embeddings", "n_positions"}),
      .extra_saved_hidden = whole(cfg, "extra_saved_hidden", 0)};
  if (conf.contains("tie_word_embeddings")) {
    shape.tied_embeddings = conf.at("tie_word_embeddings").get<bool>();
  }
  return shape;
}

unsigned bytes_of_type(std::string_view type) {
  if (type == "float16" || type == "bfloat16") {
    return 2;
  }
  return type == "float64" || type == "int64" ? 8 : 4;
}

}  // namespace

Result<TrainingSetup> setup_from_json(const json& cfg) {
  const auto mode = find_value(kModes, "mode", cfg.at("mode").get<std::string>());
  const auto precision = find_value(kRowPrecisions, "precision", cfg.at("prec").get<std::string>());
  const auto optimizer = find_value(kRowOptimizers, "optimizer", cfg.at("opt").get<std::string>());
  const auto attention = find_value(kRowAttentions, "attention", cfg.value("attn", "sdpa"));
  for (const Error* error : {mode ? nullptr : &mode.error(),
                             precision ? nullptr : &precision.error(),
                             optimizer ? nullptr : &optimizer.error(),
                             attention ? nullptr : &attention.error()}) {
    if (error != nullptr) {
      return tl::unexpected(*error);
    }
  }
  return TrainingSetup{
      .mode = *mode,
      .precision = *precision,
      .optimizer = *optimizer,
      .batch = integer_from<std::int64_t>(cfg.at("batch")),
      .sequence = whole(cfg, "seq", 0),
      .accumulation = whole(cfg, "accum", 1),
      .checkpointing = flag(cfg, "ckpt"),
      .lora_rank = whole(cfg, "lora", 0),
      .attention = *attention,
      .tf32 = !cfg.contains("tf32") || flag(cfg, "tf32"),  // PyTorch's default
      .channels_last = flag(cfg, "cl"),
      .autotune = flag(cfg, "bench"),
      .decode_tokens = whole(cfg, "decode", 0),
      .gpus = cfg.contains("gpus") ? integer_from<unsigned>(cfg.at("gpus")) : 1U,
      .zero_stage = cfg.contains("zero") ? integer_from<unsigned>(cfg.at("zero")) : 0U,
      .fresh_inputs = flag(cfg, "fresh_inputs"),
      .keeps_output = flag(cfg, "keeps_output"),
      .summary_pass = flag(cfg, "summary_pass"),
      .samples = whole(cfg, "samples", 0)};
}

Result<ModelShape> shape_from_json(const json& cfg) {
  const auto family = cfg.at("fam").get<std::string>();
  if (family == "mlp") {
    return mlp_from_json(cfg);
  }
  if (family == "cnn" && cfg.contains("convs")) {
    return cnn_from_json(cfg);
  }
  if (family == "hf" || family == "llm") {
    return transformer_from_json(cfg);
  }
  if (family == "totals") {
    return ModelTotals{.parameters = integer_from<std::int64_t>(cfg.at("params")),
                       .activation_bytes = integer_from<std::int64_t>(cfg.at("activation_bytes"))};
  }
  return fail(ErrorCode::Unsupported,
              fmt::format("jobs of family \"{}\" are described by layers only", family));
}

Result<LayerList> layers_from_json(const json& row, Precision precision) {
  const json& cfg = row.at("cfg");
  if (!row.contains("layers") || !row.contains("static")) {
    return fail(ErrorCode::Unsupported, "the row has no layers");
  }
  const json& totals = row.at("static");
  const std::int64_t side = whole(cfg, "res", 1);
  LayerList list{.batch = integer_from<std::int64_t>(cfg.at("batch")),
                 .parameters = integer_from<std::int64_t>(totals.at("params")),
                 .buffers = integer_from<std::int64_t>(totals.at("buffers")),
                 .input_elements = cfg.contains("inp")
                                       ? integer_from<std::int64_t>(cfg.at("inp"))
                                       : times(whole(cfg, "ch", 3), times(side, side)),
                 .precision = precision,
                 .hidden_norms = flag(cfg, "hidden_norms") || cfg.at("fam") == "timm"};
  list.hidden_norms = list.hidden_norms && list.buffers > 0;
  for (const json& line : row.at("layers")) {
    list.layers.push_back({.type = line.at(0).get<std::string>(),
                           .shape = whole_list(line.at(1)),
                           .element_bytes = bytes_of_type(line.at(2).get<std::string>()),
                           .parameters = integer_from<std::int64_t>(line.at(3))});
  }
  if (list.layers.empty()) {
    return fail(ErrorCode::Unsupported, "the row has no layers");
  }
  return list;
}

LayerList at_resolution(const LayerList& list, double ratio) {
  LayerList scaled = list;
  const double area = ratio * ratio;
  const auto grow = [](std::int64_t& extent, double factor) {
    if (extent > 1) {
      extent = std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * factor));
    }
  };
  scaled.input_elements = std::llround(static_cast<double>(list.input_elements) * area);
  for (LayerLine& line : scaled.layers) {
    if (line.shape.size() == 3) {
      grow(line.shape[1], area);  // tokens
    } else if (line.shape.size() == 4) {
      // Pixels come last or, for layers that work on the last dimension, before the channels.
      const bool channels_last = line.type == "Linear" || line.type == "LayerNorm";
      const std::size_t first = channels_last ? 1 : 2;
      grow(line.shape[first], ratio);
      grow(line.shape[first + 1], ratio);
    }
  }
  return scaled;
}

}  // namespace carpool::estimate
