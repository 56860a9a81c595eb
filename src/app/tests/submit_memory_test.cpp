#include "app/inputs/submit_memory.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "app/tests/fixtures.hpp"
#include "serve/units.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

class SubmitMemory : public testing::Test {
 protected:
  // No server listens there: the estimate comes from the description of the model.
  [[nodiscard]] Result<std::string> estimate(json& job) const {
    return put_estimated_memory(job, {.socket = (folder_.path() / "no-server.sock").string()});
  }

  TemporaryFolder folder_;
};

TEST_F(SubmitMemory, AJobThatNamesItsMemoryIsLeftAsItIs) {
  json job = {{"argv", {"python", "train.py"}}, {"mem", "12G"}};
  const json before = job;
  EXPECT_EQ(estimate(job), "");
  EXPECT_EQ(job, before);
}

TEST_F(SubmitMemory, AModelFileNeedsMemoryAuto) {
  json job = {{"argv", {"python", "train.py"}}, {"mem", "12G"}, {kModelKey, "config.json"}};
  EXPECT_EQ(estimate(job).error().message, "--model requires --mem auto");
  job.erase("mem");
  EXPECT_NE(estimate(job).error().message.find("config.json"), std::string::npos)
      << "it asks for an estimate";
}

TEST_F(SubmitMemory, ACommandThatNamesAKnownModelAndItsBatchIsEstimatedUnasked) {
  for (const json& argv :
       {json{
            "python", "t.py", "--model_name_or_path", "gpt2", "--per_device_train_batch_size", "4"},
        json{"python", "main.py", "-a", "resnet18", "-b", "32"}}) {
    json job = {{"argv", argv}};
    const auto told = estimate(job);
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_TRUE(told->starts_with("Estimated ")) << *told;
    EXPECT_TRUE(job.at("mem").is_number_integer()) << job;
    EXPECT_EQ(job.at("mem_auto"), true);
    json asked = {{"argv", argv}, {"mem", "auto"}};
    ASSERT_TRUE(estimate(asked));
    EXPECT_EQ(asked, job) << "the same as with --mem auto";
    json none = {{"argv", argv}, {"mem", "none"}};
    EXPECT_EQ(estimate(none), "");
    EXPECT_FALSE(none.contains("mem"));
  }
}

TEST_F(SubmitMemory, NothingIsEstimatedUnaskedWhereTheCommandSaysTooLittle) {
  const auto file = folder_.write("gpt2.json", R"({"model_type": "gpt2"})");
  for (const json& argv :
       {json{"python", "train.py"},
        json{"python", "train.py", "--model", "resnet18"},
        json{"python", "train.py", "--batch-size", "8"},
        json{"python", "train.py", "--model", "mynet", "--batch-size", "8"},
        json{"python", "train.py", "--model", file.string(), "--batch-size", "8"},
        json::array()}) {
    json job = {{"argv", argv}};
    const json before = job;
    EXPECT_EQ(estimate(job), "") << argv;
    EXPECT_EQ(job, before);
  }
}

TEST_F(SubmitMemory, AutoBecomesTheUpperBoundOfTheEstimate) {
  const auto config = folder_.write("config.json",
                                    R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12,
                                        "n_head": 12, "vocab_size": 50257, "n_positions": 1024})");
  json job = {{"argv", {"python", "train.py", "--batch-size", "2"}},
              {"mem", "auto"},
              {kModelKey, config.string()}};
  const auto told = estimate(job);
  ASSERT_TRUE(told) << told.error().message;
  ASSERT_TRUE(job.at("mem").is_number_integer()) << job;
  const auto bound = job.at("mem").get<std::uint64_t>();
  // GPT-2 has 124 million parameters: weights, gradients and two states of AdamW are 1.85 GiB.
  EXPECT_GT(bound, std::uint64_t{1'990'000'000});
  EXPECT_TRUE(told->starts_with("Estimated ")) << *told;
  EXPECT_NE(told->find(" of GPU memory, at most " + serve::show_bytes(bound) + " (from config)"),
            std::string::npos)
      << *told;
  EXPECT_FALSE(job.contains(kModelKey));
  EXPECT_FALSE(job.contains("exclusive"));
}

TEST_F(SubmitMemory, WithoutADescriptionOfTheModelItSaysWhatToDo) {
  json job = {{"argv", {"python", "train.py"}}, {"mem", "auto"}};
  const auto told = estimate(job);
  ASSERT_FALSE(told);
  EXPECT_TRUE(told.error().message.starts_with("--mem auto: ")) << told.error().message;
  EXPECT_TRUE(
      told.error().message.ends_with(". Use --mem SIZE, or --model FILE with a file that describes "
                                     "the model (see `carpool estimate --help`)"))
      << told.error().message;
}

TEST_F(SubmitMemory, AModelFileThatIsMissingIsNamed) {
  json job = {{"argv", {"true"}}, {"mem", "auto"}, {kModelKey, "/no/such/config.json"}};
  const auto told = estimate(job);
  ASSERT_FALSE(told);
  EXPECT_NE(told.error().message.find("/no/such/config.json"), std::string::npos)
      << told.error().message;
}

}  // namespace
}  // namespace carpool::app
