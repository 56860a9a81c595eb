#include <filesystem>
#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "base/files/file.hpp"
#include "base/tests/temporary_folder.hpp"
#include "knowledge/beliefs.hpp"
#include "knowledge/tests/served_requests.hpp"
#include "knowledge/tests/synthetic_truth.hpp"

namespace carpool::knowledge {
namespace {

using fake::mine;
using fake::SyntheticTruth;

class BeliefsFile : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return folder_ / "beliefs.json"; }

  static void teach(Beliefs& beliefs) {
    SyntheticTruth truth(7, 4);
    double now_s = 1000.0;
    for (std::size_t i = 0; i < 4; ++i) {
      now_s = truth.run(beliefs, {i}, now_s, 20.0);
    }
    for (int change = 0; change < 6; ++change) {
      now_s = truth.run(beliefs, truth.any_group(2, 3), now_s, 20.0);
    }
    beliefs.ended(
        {.at_s = now_s, .workload = mine("w1"), .ran_s = 33.3, .peak_bytes = 5, .processes = 3});
  }
  static std::vector<ProgressForecast> pair(const Beliefs& beliefs, const std::string& second) {
    const std::vector<InterferenceMember> group = {{.workload = mine("w0")},
                                                   {.workload = mine(second)}};
    return beliefs.forecast(group);
  }
  // The message of opening a file with this content.
  [[nodiscard]] std::string message_of(const std::string& content) const {
    EXPECT_TRUE(write_file(file(), content));
    const auto opened = Beliefs::open(file(), {});
    EXPECT_FALSE(opened) << content;
    if (opened) {
      return "";
    }
    EXPECT_EQ(opened.error().code, ErrorCode::Corrupt);
    return opened.error().message;
  }

 private:
  TemporaryFolder temporary_;
  std::filesystem::path folder_ = temporary_.path();
};

TEST_F(BeliefsFile, MissingFileGivesEmptyBeliefs) {
  const auto opened = Beliefs::open(file(), {});
  ASSERT_TRUE(opened);
  EXPECT_TRUE((*opened)->rows().empty());
}

TEST_F(BeliefsFile, KeepsEverythingToTheLastBit) {
  Beliefs beliefs({.driver = "H200 580"});
  teach(beliefs);
  ASSERT_TRUE(beliefs.save(file()));
  const std::string first = *read_file(file());
  const auto opened = Beliefs::open(file(), {.driver = "H200 580"});
  ASSERT_TRUE(opened) << opened.error().message;
  ASSERT_TRUE((*opened)->save(file()));
  EXPECT_EQ(*read_file(file()), first);
  for (const char* second : {"w1", "w2", "never seen"}) {
    const auto before = pair(beliefs, second);
    const auto after = pair(**opened, second);
    EXPECT_EQ(after.at(0).progress, before.at(0).progress);
    EXPECT_EQ(after.at(1).interval90.low, before.at(1).interval90.low);
    EXPECT_EQ(after.at(0).basis, before.at(0).basis);
  }
  EXPECT_EQ((*opened)->belief(mine("w1"))->processes, 3U);
  EXPECT_EQ((*opened)->coverage(), beliefs.coverage());
  EXPECT_GT(beliefs.coverage().all, 0U);
}

TEST_F(BeliefsFile, AnotherDriverWidensTheIntervals) {
  Beliefs beliefs({.driver = "H200 580"});
  teach(beliefs);
  ASSERT_TRUE(beliefs.save(file()));
  const auto opened = Beliefs::open(file(), {.driver = "H200 595"});
  ASSERT_TRUE(opened);
  const auto before = *beliefs.belief(mine("w0"));
  const auto after = *(*opened)->belief(mine("w0"));
  EXPECT_EQ(after.sm_active, before.sm_active);
  EXPECT_LT(after.sm_active90.low, before.sm_active90.low);
  const auto width = [](const ProgressForecast& one) {
    return one.interval90.high - one.interval90.low;
  };
  EXPECT_GT(width(pair(**opened, "w1").at(0)), 1.05 * width(pair(beliefs, "w1").at(0)));
}

TEST_F(BeliefsFile, OldEvidenceCountsLess) {
  Beliefs beliefs;
  teach(beliefs);
  const auto before = *beliefs.belief(mine("w0"));
  constexpr double kNinetyDays = 90.0 * 24 * 3600;
  fake::watch(beliefs, {.workloads = {mine("another")}, .from_s = kNinetyDays});
  const auto after = *beliefs.belief(mine("w0"));
  const double wide = before.sm_active90.high - before.sm_active90.low;
  EXPECT_GT(after.sm_active90.high - after.sm_active90.low, 1.5 * wide);
  EXPECT_EQ(after.sm_active, before.sm_active);
}

TEST_F(BeliefsFile, DamagedFileIsAnErrorThatSaysWhatToDo) {
  EXPECT_NE(message_of("{").find("not JSON"), std::string::npos);
  EXPECT_NE(message_of("{").find("Move the file away"), std::string::npos);
  EXPECT_NE(message_of(R"({"format":"other","version":1,"users":[]})").find("format"),
            std::string::npos);
  EXPECT_NE(message_of(R"({"format":"carpool-beliefs","version":9,"users":[]})").find("version 9"),
            std::string::npos);
  (void)message_of(R"({"format":"carpool-beliefs","version":1,"users":[],"more":1})");
  (void)message_of(R"({"format":"carpool-beliefs","version":1,"users":[{"scope":"uid:1/"}]})");
  (void)message_of("[]");
}

TEST_F(BeliefsFile, EveryNumberIsChecked) {
  Beliefs beliefs;
  teach(beliefs);
  ASSERT_TRUE(beliefs.save(file()));
  const std::string good = *read_file(file());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  (void)message_of(with("\"activity\":[", "\"activity\":[7,"));
  (void)message_of(with("\"activity\":[", "\"activity\":[-0.5,0.1,1.0],\"was\":["));
  (void)message_of(with("\"tilt\":[", "\"tilt\":[1.0,-1.0,1.0],\"was\":["));
  (void)message_of(with("\"members\":[0", "\"members\":[99"));
  (void)message_of(with("\"pairs\":[[0", "\"pairs\":[[99"));
  (void)message_of(with("\"name\":\"uid:1000/w", "\"name\":\"uid:2000/w"));
  (void)message_of(with("\"inside\":", "\"inside\":99999"));
  (void)message_of(good.substr(0, good.size() / 2));
}

TEST_F(BeliefsFile, EveryLatencyIsChecked) {
  Beliefs beliefs({.gate = true});
  fake::Service told{.workload = mine("serve")};
  told.from_s = fake::serve(beliefs, told);
  told.beside = {mine("train")};
  told.before = 3000;
  told.tail_ms = 12.0;
  fake::serve(beliefs, told);
  ASSERT_TRUE(beliefs.save(file()));
  const std::string good = *read_file(file());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = good;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  (void)message_of(with("\"latencies\":[", "\"latencies\":7,\"was\":["));
  (void)message_of(with("\"latencies\":[", "\"latencies\":[7,"));
  (void)message_of(with("\"beside\":[[1,true]]", "\"beside\":[[9,true]]"));
  (void)message_of(with("\"beside\":[[1,true]]", "\"beside\":[[1,1]]"));
  (void)message_of(with("\"beside\":[[1,true]]", "\"beside\":[[1,true],[0,true]]"));
  (void)message_of(with("\"beside\":[[1,true]]", "\"beside\":[]"));
  (void)message_of(with("\"quantile\":0.99", "\"quantile\":1.99"));
  (void)message_of(with("\"tail\":[", "\"tail\":[-9.0,0.1,1.0],\"was\":["));
  (void)message_of(with("\"tail\":[", "\"tail\":[-9.0,0.1,1.0,0.5,"));
  (void)message_of(with("\"service\":[", "\"service\":[0.1,0.1,1.0,0.5,"));
  (void)message_of(with("\"service_square\":[", "\"service_squared\":["));
  (void)message_of(with("\"requests\":", "\"requests\":\"many\",\"was\":"));
  (void)message_of(with("\"latency_inside\":", "\"latency_inside\":9"));
  (void)message_of(with("\"latency_width\":", "\"latency_width\":99"));
  // A latency of before groups with different SLOs were told apart is learned anew.
  const std::string older = std::regex_replace(good, std::regex(R"("slo_ms":[0-9.]+,)"), "");
  ASSERT_LT(older.size(), good.size());
  ASSERT_TRUE(write_file(file(), older));
  const auto opened = Beliefs::open(file(), {.gate = true});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE(beliefs.latency({.workload = mine("serve"), .goal = {.slo_ms = 20.0}}));
  EXPECT_FALSE((*opened)->latency({.workload = mine("serve"), .goal = {.slo_ms = 20.0}}));
  // A file of before latencies were learned.
  EXPECT_TRUE(write_file(file(), R"({"format":"carpool-beliefs","version":1,"users":[]})"));
  EXPECT_TRUE(Beliefs::open(file(), {}));
}

}  // namespace
}  // namespace carpool::knowledge
