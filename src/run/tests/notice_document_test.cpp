#include "run/supervisor/notice_document.hpp"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace carpool::run {
namespace {

JobRecord failed_job() {
  JobRecord job;
  job.id = 17;
  job.spec.name = "train.py";
  job.owner.user = "ann";
  job.state = JobState::Failed;
  job.reason = "exit code 3";
  job.submitted_s = 100.0;
  job.ended_s = 160.0;
  JobAttempt attempt;
  attempt.start.gpus = {1};
  attempt.started_s = 120.0;
  attempt.exit.code = 3;
  job.attempts = {JobAttempt{}, attempt};
  return job;
}

TEST(NoticeDocument, SaysWhichJobEndedHowAndWhen) {
  const auto document = nlohmann::json::parse(
      notice_document(failed_job(), "gpu1", {.from_s = 150.0, .shift_s = 1000.0}));
  EXPECT_EQ(document,
            nlohmann::json::parse(
                R"({"id": 17, "name": "train.py", "user": "ann", "host": "gpu1", "state": "failed",
                    "reason": "exit code 3", "attempts": 2, "array_job": null, "array_index": null,
                    "submitted_s": 100.0, "started_s": 120.0, "ended_s": 1160.0, "gpus": [1],
                    "exit_code": 3, "signal": null,
                    "text": "Job 17 (train.py) failed on gpu1: exit code 3"})"));
}

TEST(NoticeDocument, OfAJobThatNeverRanHasNoStart) {
  JobRecord job = failed_job();
  job.state = JobState::Cancelled;
  job.attempts.clear();
  job.spec.name.clear();
  job.spec.argv = {"true"};
  job.spec.array_index = 4;
  job.reason = "by ann\xff";
  const auto document = nlohmann::json::parse(notice_document(job, "gpu1", {}));
  EXPECT_TRUE(document["started_s"].is_null());
  EXPECT_TRUE(document["exit_code"].is_null());
  EXPECT_EQ(document["array_index"], 4);
  EXPECT_EQ(document["array_job"], 17);
  EXPECT_EQ(document["text"], "Job 17 (true) was cancelled on gpu1: by ann\xef\xbf\xbd");
}

}  // namespace
}  // namespace carpool::run
