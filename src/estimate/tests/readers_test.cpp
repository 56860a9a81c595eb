#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text/memory_size.hpp"
#include "estimate/bound/job_facts.hpp"
#include "estimate/readers/command_flags.hpp"
#include "estimate/readers/config_json.hpp"
#include "estimate/readers/described.hpp"
#include "estimate/readers/known_models.hpp"
#include "estimate/readers/row_file.hpp"
#include "estimate/replay/replay.hpp"

namespace carpool::estimate {
namespace {

CommandFacts facts_of(const std::vector<std::string>& words) {
  return read_command(words);
}

TEST(CommandFlags, ReadsTheSpellingsOfTheTrainer) {
  const auto facts = facts_of({"torchrun",
                               "--nproc_per_node=4",
                               "run_clm.py",
                               "--model_name_or_path",
                               "gpt2",
                               "--per_device_train_batch_size",
                               "16",
                               "--block_size=512",
                               "--bf16",
                               "True",
                               "--gradient_checkpointing",
                               "--optim",
                               "adamw_torch_fused",
                               "--gradient_accumulation_steps",
                               "2"});
  EXPECT_EQ(facts.settings.gpus, 4);
  EXPECT_EQ(facts.model, "gpt2");
  EXPECT_EQ(facts.settings.batch, 16);
  EXPECT_EQ(facts.settings.sequence, 512);
  EXPECT_EQ(facts.settings.precision, Precision::AmpBf16);
  EXPECT_EQ(facts.settings.checkpointing, true);
  EXPECT_EQ(facts.settings.optimizer, Optimizer::AdamFused);
  EXPECT_EQ(facts.settings.accumulation, 2);
  EXPECT_EQ(facts.settings.task, TransformerTask::CausalLm);
  EXPECT_TRUE(facts.hugging_face_trainer);
  EXPECT_TRUE(facts.notes.empty());
}

TEST(CommandFlags, ReadsTimmAndLightning) {
  const auto timm = facts_of({"train.py",
                              "data",
                              "--model",
                              "resnet50",
                              "-b",
                              "64",
                              "--amp",
                              "--opt",
                              "sgd",
                              "--img-size",
                              "288",
                              "--channels-last"});
  EXPECT_EQ(timm.settings.batch, 64);
  EXPECT_EQ(timm.settings.precision, Precision::AmpFp16);
  EXPECT_EQ(timm.settings.optimizer, Optimizer::Momentum);
  EXPECT_EQ(timm.settings.resolution, 288);
  EXPECT_EQ(timm.settings.channels_last, true);
  EXPECT_FALSE(timm.hugging_face_trainer);
  const auto lightning =
      facts_of({"main.py", "fit", "--trainer.precision=bf16-mixed", "data.batch_size=8"});
  EXPECT_EQ(lightning.settings.precision, Precision::AmpBf16);
  EXPECT_EQ(lightning.settings.batch, 8);
}

TEST(CommandFlags, TheTypeOfTheWeightsOverridesAutocast) {
  EXPECT_EQ(facts_of({"--bf16", "--torch_dtype", "bfloat16"}).settings.precision, Precision::Bf16);
  EXPECT_EQ(facts_of({"--fp16", "False"}).settings.precision, std::nullopt);
}

TEST(CommandFlags, EvaluationHasItsOwnBatch) {
  const auto facts = facts_of(
      {"--do_eval", "--per_device_eval_batch_size", "4", "--per_device_train_batch_size", "16"});
  EXPECT_EQ(facts.settings.mode, RunMode::Infer);
  EXPECT_EQ(facts.settings.batch, 4);
  EXPECT_EQ(facts_of({"--do_train", "--do_eval"}).settings.mode, RunMode::Train);
}

TEST(CommandFlags, UnreadableValuesAreNoted) {
  const auto facts =
      facts_of({"--batch-size", "$BS", "--optim", "magic", "--load_in_4bit", "--seq-len"});
  EXPECT_EQ(facts.settings.batch, std::nullopt);
  EXPECT_EQ(facts.notes.size(), 4U);
  EXPECT_TRUE(facts_of({}).read.empty());
}

constexpr std::string_view kLlama =
    R"({"model_type":"llama","architectures":["LlamaForCausalLM"],"hidden_size":64,
        "num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,
        "intermediate_size":128,"vocab_size":1000,"max_position_embeddings":256,
        "tie_word_embeddings":true})";

TEST(ConfigJson, ReadsAKnownArchitecture) {
  const auto read = parse_config_json(kLlama, "config.json");
  ASSERT_TRUE(read) << read.error().message;
  const auto& shape = std::get<TransformerShape>(read->model.shape);
  EXPECT_EQ(shape.type, "llama");
  EXPECT_EQ(shape.key_value_heads, 2);
  EXPECT_EQ(shape.tied_embeddings, true);
  EXPECT_EQ(shape.task, TransformerTask::CausalLm);
  EXPECT_EQ(read->widening, 1.0);
  EXPECT_TRUE(read->notes.empty());
}

TEST(ConfigJson, RelatedAndUnknownArchitecturesHaveAWiderBound) {
  const auto albert = parse_config_json(
      R"({"model_type":"albert","hidden_size":64,"embedding_size":16,"num_hidden_layers":4,
          "num_attention_heads":4,"vocab_size":100})",
      "c");
  ASSERT_TRUE(albert);
  EXPECT_GT(albert->widening, 1.0);
  EXPECT_EQ(std::get<TransformerShape>(albert->model.shape).embedding, 16);
  const auto strange = parse_config_json(
      R"({"model_type":"strange","d_model":64,"n_layers":4,"n_heads":4,"vocab_size":100})", "c");
  ASSERT_TRUE(strange);
  EXPECT_GT(strange->widening, albert->widening);
  ASSERT_FALSE(strange->notes.empty());
  EXPECT_NE(strange->notes.front().find("\"strange\" is not known"), std::string::npos);
}

TEST(ConfigJson, ImagePatchesAreTokens) {
  const auto vit = parse_config_json(
      R"({"model_type":"vit","architectures":["ViTForImageClassification"],"hidden_size":768,
          "num_hidden_layers":12,"num_attention_heads":12,"image_size":224,"patch_size":16,
          "num_channels":3})",
      "c");
  ASSERT_TRUE(vit);
  EXPECT_EQ(vit->settings.sequence, 197);
  EXPECT_EQ(std::get<TransformerShape>(vit->model.shape).task, TransformerTask::Classification);
}

TEST(ConfigJson, ErrorsNameTheKey) {
  const auto message = [](std::string_view text) {
    const auto read = parse_config_json(text, "config.json");
    return read ? std::string("accepted") : read.error().message;
  };
  EXPECT_NE(message("{").find("config.json is not JSON"), std::string::npos);
  EXPECT_NE(message("[1]").find("an object"), std::string::npos);
  EXPECT_NE(message(R"({"model_type":"resnet"})").find("\"resnet\" is not known"),
            std::string::npos);
  for (const char* value : {"\"768\"", "-3", "1.5", "99999999999999999999", "[1]", "1e13"}) {
    const std::string text = std::string(R"({"model_type":"bert","hidden_size":)") + value + "}";
    EXPECT_TRUE(message(text).starts_with("config.json: \"hidden_size\" is ")) << message(text);
  }
  for (const std::string& text :
       {std::string(R"({"model_type":"bert","hidden_size":1e400})"), std::string(100000, '[')}) {
    EXPECT_EQ(message(text), "config.json is not JSON");
  }
}

TEST(Transformers, SharedBlocksAreCountedOnce) {
  const auto weights = [](const char* type) {
    DescribedJob job{.model = {.shape = TransformerShape{.type = type,
                                                         .task = TransformerTask::MaskedLm,
                                                         .hidden = 768,
                                                         .layers = 12,
                                                         .heads = 12,
                                                         .vocabulary = 30000,
                                                         .positions = 512}},
                     .setup = {.sequence = 128, .built_on_gpu = false}};
    const auto replay = replay_job(job, {});
    EXPECT_TRUE(replay);
    return replay->result.parameters;
  };
  // 11.7 M, as albert-base-v2 is published with.
  EXPECT_NEAR(static_cast<double>(weights("albert")), 11.7e6, 0.8e6);
  EXPECT_GT(weights("bert"), 100'000'000);
}

TEST(KnownModels, AreFoundByTheLastPartOfTheirName) {
  const auto known = known_transformer("meta-llama/Llama-3.1-8B-Instruct");
  ASSERT_TRUE(known);
  EXPECT_EQ(std::get<TransformerShape>(known->model.shape).feed_forward, 14336);
  EXPECT_FALSE(known_transformer("nobody/knows-me"));
  EXPECT_FALSE(known_network({}, "resnet18"));
}

TEST(Described, MissingSettingsAreAssumedAndNoted) {
  auto read = *parse_config_json(kLlama, "c");
  const auto refusal = [&read](const JobSettings& settings) {
    const auto refused = describe_job(read, settings, std::nullopt);
    return refused ? std::string("accepted") : refused.error().message;
  };
  EXPECT_NE(refusal({}).find("--batch N"), std::string::npos);
  const auto requested = describe_job(read, {}, 8);
  ASSERT_TRUE(requested);
  EXPECT_EQ(requested->job.setup.batch, 8);
  EXPECT_EQ(requested->job.setup.sequence, 256);  // all positions of the model
  EXPECT_FALSE(requested->job.setup.built_on_gpu);
  EXPECT_GE(requested->notes.size(), 4U);
  const auto settings = describe_job(read,
                                     {.mode = RunMode::Infer,
                                      .precision = Precision::Bf16,
                                      .task = TransformerTask::CausalLm,
                                      .batch = 2,
                                      .sequence = 100},
                                     8);
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->job.setup.batch, 2);
  EXPECT_EQ(settings->notes.size(), 1U);  // on the weights
  EXPECT_TRUE(refusal({.batch = 1, .gpus = 0}).starts_with("0 GPUs"));
  EXPECT_TRUE(refusal({.batch = 1, .zero_stage = 4}).starts_with("ZeRO stage 4"));
  EXPECT_TRUE(refusal({.batch = 1, .resolution = 1'000'000'000}).starts_with("1000000000 pixels"));
}

constexpr std::string_view kRow =
    R"({"cfg":{"fam":"tv","name":"net","res":8,"batch":4,"mode":"train","prec":"fp32","opt":"sgd"},
        "static":{"params":100,"buffers":0},"saved_mib":2,
        "layers":[["Conv2d",[4,8,8,8],"float32",100]]})";

TEST(RowFile, NeedsNoMeasurements) {
  const auto read = parse_row_file(kRow, "trace.json");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(read->setup);
  EXPECT_EQ(read->setup->batch, 4);
  // Bytes counted by a trace are proportional to the batch.
  const auto requested = describe_job(*read, {.batch = 8}, {});
  ASSERT_TRUE(requested);
  EXPECT_EQ(requested->job.model.traced_saved_bytes, 2 * kMiB);
  EXPECT_EQ(requested->job.model.traced_batch, 4);
  const auto at_four = facts_of_job(describe_job(*read, {}, {})->job, nullptr, kAllFactors);
  const auto at_eight = facts_of_job(requested->job, nullptr, kAllFactors);
  ASSERT_TRUE(at_four && at_eight);
  EXPECT_NEAR(static_cast<double>(at_four->replay.result.saved), 2 * kMiB, 4096.0);
  EXPECT_NEAR(static_cast<double>(at_eight->replay.result.saved), 4 * kMiB, 4096.0);
}

TEST(RowFile, RefusesSeveralJobsAndNone) {
  const std::string line = R"({"cfg":{}})";
  EXPECT_NE(parse_row_file(line + "\n" + line, "f").error().message.find("more than one job"),
            std::string::npos);
  EXPECT_EQ(parse_row_file("", "f").error().message, "f is not a JSON object");
  EXPECT_TRUE(parse_row_file(line, "f").error().message.starts_with("f: not a row of a job"));
}

}  // namespace
}  // namespace carpool::estimate
