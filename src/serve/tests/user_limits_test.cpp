#include "serve/user_limits.hpp"

#include <array>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

std::string refused(const UserLimits& limits, const Caller& caller, const JobSpec& spec) {
  const auto checked = check_user_limits(limits, caller, std::array{JobSpec{}, spec});
  EXPECT_TRUE(checked || checked.error().code == ErrorCode::Forbidden);
  return checked ? std::string() : checked.error().message;
}

TEST(UserLimits, UsersMayLowerThePriorityOfTheirJobsAndOperatorsRaiseIt) {
  for (const int priority : {-1000, -1, 0}) {
    EXPECT_EQ(refused({}, caller_ann, {.priority = priority}), "") << priority;
  }
  const std::string why = refused({}, caller_ann, {.priority = 10});
  EXPECT_EQ(why,
            "priority: 10 is more than 0, the most that users may choose; operators may choose up "
            "to 1000");
  EXPECT_EQ(refused({}, caller_operator, {.priority = 1000}), "");
  EXPECT_EQ(refused({.priority = 10}, caller_ann, {.priority = 10}), "");
  EXPECT_NE(refused({.priority = 10}, caller_ann, {.priority = 11}), "");
}

TEST(UserLimits, ClassSloIsForOperatorsAndAGroupThatTheyName) {
  const JobSpec slo{.job_class = JobClass::Slo};
  EXPECT_EQ(refused({}, caller_ann, slo), "class: only operators may submit jobs of class slo");
  EXPECT_EQ(refused({}, caller_operator, slo), "");
  EXPECT_EQ(refused({}, caller_ann, {.job_class = JobClass::BestEffort}), "");
  EXPECT_NE(refused({.slo_group = "no-such-group"}, caller_ann, slo).find("no-such-group"),
            std::string::npos);
  const Caller root{.uid = 0, .user = "root"};  // as an ordinary caller
  EXPECT_EQ(refused({.slo_group = "root"}, root, slo), "");
}

TEST(UserLimits, HoldForEveryJobOfARequestToTheApi) {
  TestApi test;
  const char* eager = R"({"argv": ["train"], "mem": "1G", "priority": 10})";
  EXPECT_EQ(test->submit(caller_ann, eager).status, 403);
  EXPECT_EQ(test->submit(caller_operator, eager).status, 200);
  EXPECT_EQ(test->submit(caller_ann, R"({"argv": ["a"], "class": "slo"})").status, 403);
  EXPECT_EQ(test->submit(caller_ann, R"({"argv": ["a"], "priority": -5})").status, 200);
}

TEST(UserLimits, PrioritiesOutsideTheRangeAreRefusedForEverybody) {
  TestApi test;
  for (const int priority :
       {std::numeric_limits<int>::min(), -1001, 1001, std::numeric_limits<int>::max()}) {
    const json job = {{"argv", {"train"}}, {"priority", priority}};
    const ApiAnswer answer = test->submit(caller_operator, job.dump());
    EXPECT_EQ(answer.status, 400) << priority;
    EXPECT_NE(answer.body.find("between -1000 and 1000"), std::string::npos) << answer.body;
  }
}

}  // namespace
}  // namespace carpool::serve
