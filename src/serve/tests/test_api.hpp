// An API over a scheduler with stubs around it, and a folder for its journal and outputs.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "base/tests/temporary_folder.hpp"
#include "schedule/tests/stubs.hpp"
#include "serve/job_api.hpp"

namespace carpool::serve {

inline const Caller caller_ann{.uid = 1000, .user = "u1000"};
inline const Caller caller_bob{.uid = 1001, .user = "u1001"};
inline const Caller caller_operator{.uid = 7, .user = "root", .operates = true};

// Jobs start and end when the test says so; time stands still.
class TestApi {
 public:
  explicit TestApi(unsigned gpus = 2) : stub_(gpus) {
    auto journal = store::SqliteJournal::open(folder_.path(), {});
    EXPECT_TRUE(journal) << journal.error().message;
    journal_ = std::move(*journal);
    stub_.scheduler->on_event([this](const JobEvent& event) {
      const JobRecord* job = stub_.scheduler->find(event.job);
      metrics_.count(event, job->queued_s);
      events_.publish(event, job->owner);
    });
    auto loop = SchedulerLoop::start(*stub_.scheduler, {.clock = [] { return kNowSeconds; }});
    EXPECT_TRUE(loop);
    loop_ = std::move(*loop);
    api_ = std::make_unique<JobApi>(ApiParts{
        .loop = *loop_,
        .journal = *journal_,
        .events = events_,
        .metrics = metrics_,
        .log_file =
            [this](RunId run, LogStream stream) {
              return folder_.path() / fmt::format("{}.{}.{}",
                                                  run.job,
                                                  run.attempt,
                                                  stream == LogStream::Out ? "out" : "err");
            },
        .version = "1.2.3",
        .mode = "gpus"});
  }

  static constexpr double kNowSeconds = 5000.0;

  [[nodiscard]] JobApi& api() { return *api_; }
  [[nodiscard]] JobApi* operator->() { return api_.get(); }
  [[nodiscard]] SchedulerLoop& loop() { return *loop_; }
  [[nodiscard]] store::SqliteJournal& journal() { return *journal_; }
  [[nodiscard]] EventHub& events() { return events_; }
  [[nodiscard]] Metrics& metrics() { return metrics_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  // Returns when the turn before this call is complete: jobs that it placed have started.
  void settle() {
    EXPECT_TRUE(loop_->perform([](schedule::Scheduler&, double) {}));
    EXPECT_TRUE(loop_->perform([](schedule::Scheduler&, double) {}));
  }
  // Ends the running attempt of a job.
  void end(JobId job, const RunExit& exit) {
    EXPECT_TRUE(loop_->perform([&](schedule::Scheduler&, double) {
      stub_.executor.end({job, stub_.attempt(job)}, exit);
    }));
    settle();
  }

 private:
  TemporaryFolder folder_;
  schedule::StubServer stub_;
  std::unique_ptr<store::SqliteJournal> journal_;
  EventHub events_;
  Metrics metrics_;
  std::unique_ptr<JobApi> api_;
  std::unique_ptr<SchedulerLoop> loop_;  // ends first: its thread uses the others
};

}  // namespace carpool::serve
