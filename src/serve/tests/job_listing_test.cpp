#include "serve/job_listing.hpp"

#include <array>
#include <vector>

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

using nlohmann::json;

TEST(ListQuery, IsAboutTheCallersOwnJobsByDefault) {
  const auto query = read_list_query({});
  ASSERT_TRUE(query);
  EXPECT_TRUE(query->states.empty());
  EXPECT_FALSE(query->all_users);
  EXPECT_EQ(query->user, std::nullopt);
  EXPECT_EQ(query->after, 0);
  EXPECT_EQ(query->most, 1000U);
}

TEST(ListQuery, TakesStatesOneByOneAndInGroups) {
  EXPECT_EQ(read_list_query({{"state", "queued,failed"}})->states,
            (std::set<std::string>{"queued", "failed"}));
  EXPECT_EQ(read_list_query({{"state", "active"}})->states,
            (std::set<std::string>{"queued", "held", "running", "stopping"}));
  EXPECT_EQ(read_list_query({{"state", "ended,held"}})->states,
            (std::set<std::string>{"succeeded", "failed", "cancelled", "held"}));
}

TEST(ListQuery, AUserMeansThatOthersAreListed) {
  const auto query = read_list_query({{"user", "bob"}});
  ASSERT_TRUE(query);
  EXPECT_EQ(query->user, "bob");
  EXPECT_TRUE(query->all_users);
  EXPECT_FALSE(read_list_query({{"all", "false"}})->all_users);
}

TEST(ListQuery, LimitsTheNumberOfJobsAndRejectsWhatIsNotANumber) {
  EXPECT_EQ(read_list_query({{"limit", "0"}})->most, 1U);
  EXPECT_EQ(read_list_query({{"limit", "999999"}})->most, kMostListed);
  for (const char* key : {"after", "limit", "last", "array"}) {
    for (const char* value : {"", "x", "-1", "1 "}) {
      const auto query = read_list_query({{key, value}});
      ASSERT_FALSE(query) << key << "=" << value;
      EXPECT_EQ(query.error().code, ErrorCode::InvalidInput);
      EXPECT_TRUE(query.error().message.starts_with(key)) << query.error().message;
    }
  }
}

// Ann's jobs 1 (running), 2 (waits), 3 (succeeded); Bob's job 4 (held).
class JobListing : public testing::Test {
 protected:
  JobListing() {
    JobSpec secret = schedule::stub_job(1);
    secret.name = "secret";
    secret.env = {{"KEY", "hunter2"}};
    server_.submit(secret, 0.0, caller_ann.uid);
    server_.step(0.0);
    server_.submit(schedule::stub_job(40), 1.0, caller_ann.uid);
    server_.submit(schedule::stub_job(1), 2.0, caller_ann.uid);
    server_.step(2.0);
    server_.end(3, {.end = RunEnd::Succeeded, .code = 0, .at_s = 3.0}, 3.0);
    server_.submit(schedule::stub_job(1), 4.0, caller_bob.uid);
    EXPECT_TRUE(server_.scheduler->hold(4, 4.0));
    server_.step(4.0);
  }
  [[nodiscard]] json list(const ApiQuery& query, const Caller& caller) const {
    const ListQuery wanted = *read_list_query(query);
    return json::parse(wanted.array
                           ? *list_array(*server_.scheduler, *journal_, wanted, caller, 10.0)
                           : list_jobs(*server_.scheduler, wanted, caller, 10.0));
  }
  [[nodiscard]] std::vector<JobId> ids(const ApiQuery& query, const Caller& caller) const {
    std::vector<JobId> found;
    const json answer = list(query, caller);
    for (const json& job : answer.at("jobs")) {
      found.push_back(job.at("id"));
    }
    return found;
  }
  schedule::StubServer server_{1};
  TemporaryFolder folder_;
  std::unique_ptr<store::SqliteJournal> journal_ = *store::SqliteJournal::open(folder_.path(), {});
};

TEST_F(JobListing, FiltersByUserAndState) {
  EXPECT_EQ(ids({}, caller_ann), (std::vector<JobId>{1, 2, 3}));
  EXPECT_EQ(ids({}, caller_bob), (std::vector<JobId>{4}));
  EXPECT_EQ(ids({{"all", "1"}}, caller_bob), (std::vector<JobId>{1, 2, 3, 4}));
  EXPECT_EQ(ids({{"user", "u1000"}, {"state", "active"}}, caller_bob), (std::vector<JobId>{1, 2}));
  EXPECT_EQ(ids({{"state", "running"}}, caller_ann), (std::vector<JobId>{1}));
  EXPECT_EQ(ids({{"state", "queued"}}, caller_ann), (std::vector<JobId>{2}));
  EXPECT_EQ(ids({{"state", "ended"}}, caller_ann), (std::vector<JobId>{3}));
  EXPECT_EQ(ids({{"state", "held"}, {"all", "1"}}, caller_ann), (std::vector<JobId>{4}));
  EXPECT_FALSE(read_list_query({{"state", "nonsense"}}));
}

TEST_F(JobListing, ComesInPages) {
  const json first = list({{"limit", "2"}}, caller_ann);
  EXPECT_EQ(first.at("version"), 1);
  EXPECT_EQ(first.at("jobs").size(), 2U);
  EXPECT_EQ(first.at("next_after"), 2);
  EXPECT_EQ(ids({{"limit", "2"}, {"after", "2"}}, caller_ann), (std::vector<JobId>{3}));
  EXPECT_FALSE(list({{"limit", "3"}}, caller_ann).contains("next_after"));
}

TEST_F(JobListing, HasTheLatestJobsOrOneArray) {
  EXPECT_EQ(ids({{"last", "1"}}, caller_ann), (std::vector<JobId>{3}));
  EXPECT_EQ(ids({{"last", "2"}, {"state", "active"}}, caller_ann), (std::vector<JobId>{1, 2}));
  JobSpec member = schedule::stub_job(1);
  for (const int index : {0, 1}) {
    member.array_index = index;
    member.array_job = index == 0 ? std::nullopt : std::optional<JobId>(5);
    server_.submit(member, 5.0, caller_ann.uid);
  }
  for (const char* any : {"5", "6"}) {
    EXPECT_EQ(ids({{"array", any}}, caller_ann), (std::vector<JobId>{5, 6}));
    EXPECT_EQ(ids({{"array", any}}, caller_operator), (std::vector<JobId>{5, 6}));
    EXPECT_TRUE(ids({{"array", any}}, caller_bob).empty());
  }
  EXPECT_TRUE(ids({{"array", "1"}}, caller_ann).empty());
  EXPECT_EQ(list({{"array", "6"}}, caller_ann).at("jobs").at(1).at("array_job"), 5);
}

// The scheduler has forgotten jobs 5 to 255: an array of 250 and another job. One is lost.
TEST_F(JobListing, AnArrayHasItsJobsThatEndedLongAgo) {
  for (JobId job = 5; job <= 255; ++job) {
    JobSpec spec = schedule::stub_job(1);
    if (job < 255) {
      spec.array_index = static_cast<int>(job) - 5;
      spec.array_job = job == 5 ? std::nullopt : std::optional<JobId>(5);
    }
    std::vector<JobEvent> events = {
        {.job = job,
         .at_s = 1.0,
         .what = JobSubmitted{.spec = spec, .owner = {.uid = caller_ann.uid, .user = "u1000"}}},
        {.job = job, .at_s = 2.0, .what = JobClosed{.end = RunEnd::Cancelled, .reason = "why"}}};
    if (job != 17) {
      ASSERT_TRUE(journal_->append(events));
    }
  }
  std::vector<JobId> found;
  std::string after = "0";
  while (!after.empty()) {
    const json page = list({{"array", "200"}, {"after", after}}, caller_ann);
    EXPECT_LE(page.at("jobs").size(), 100U) << "the server stands still while it reads";
    for (const json& job : page.at("jobs")) {
      EXPECT_EQ(job.at("state"), "cancelled");
      found.push_back(job.at("id"));
    }
    after = page.contains("next_after") ? page.at("next_after").dump() : "";
  }
  EXPECT_EQ(found.size(), 249U);
  EXPECT_EQ(found.front(), 5);
  EXPECT_EQ(found.back(), 254);
  EXPECT_TRUE(ids({{"array", "200"}}, caller_bob).empty());
  EXPECT_TRUE(ids({{"array", "255"}}, caller_ann).empty());
  EXPECT_TRUE(ids({{"array", "9999"}}, caller_ann).empty());
}

TEST_F(JobListing, OtherUsersSeeNeitherNameNorReasonNorCommand) {
  const json others = list({{"all", "1"}}, caller_bob).at("jobs").at(0);
  EXPECT_EQ(others.at("user"), "u1000");
  EXPECT_EQ(others.at("state"), "running");
  for (const char* hidden : {"name", "reason", "argv", "env", "cwd", "array_index", "array_job"}) {
    EXPECT_FALSE(others.contains(hidden)) << hidden;
  }
  EXPECT_EQ(others.dump().find("secret"), std::string::npos);
  for (const Caller& caller : {caller_ann, caller_operator}) {
    EXPECT_EQ(list({{"all", "1"}}, caller).at("jobs").at(0).at("name"), "secret");
  }
}

TEST_F(JobListing, CountsJobsThatHaveNotEnded) {
  const JobCounts counts = count_jobs(*server_.scheduler);
  EXPECT_EQ(counts.by_state,
            (std::map<std::string, std::size_t>{
                {"queued", 1}, {"held", 1}, {"running", 1}, {"stopping", 0}}));
  EXPECT_EQ(counts.on_gpus, 1U);
}

TEST(StateSet, AnUnknownStateIsAnErrorThatListsTheKnownOnes) {
  EXPECT_EQ(state_set("queued,active")->size(), 4U);
  EXPECT_EQ(state_set("ended")->size(), 3U);
  EXPECT_EQ(state_set("runing").error().message,
            "unknown state \"runing\"; did you mean \"running\"?; known: queued, held, running, "
            "stopping, succeeded, failed, cancelled, active, ended");
  EXPECT_EQ(state_set("runing").error().code, ErrorCode::InvalidInput);
  EXPECT_FALSE(state_set("queued,"));
  EXPECT_FALSE(read_list_query({{"state", "gone"}}));
}

}  // namespace
}  // namespace carpool::serve
