#include "serve/log_reader.hpp"

#include <fstream>
#include <string>
#include <sys/stat.h>

#include <gtest/gtest.h>

#include "serve/tests/test_api.hpp"

namespace carpool::serve {
namespace {

class LogReader : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file(RunId run, LogStream stream) const {
    return folder_.path() /
           fmt::format("{}.{}.{}", run.job, run.attempt, stream == LogStream::Out ? "out" : "err");
  }
  void write(const char* name, std::string_view text) const {
    std::ofstream(folder_.path() / name, std::ios::app) << text;
  }
  // The output of job 7.
  ApiAnswer read(const LogRequest& wanted) {
    return read_log(7,
                    wanted,
                    {.log_file = [this](RunId run, LogStream stream) { return file(run, stream); },
                     .state = [this]() -> Result<LogState> {
                       ++looks_;
                       if (looks_ > 1 && then_) {
                         std::exchange(then_, nullptr)();
                       }
                       return state_;
                     },
                     .hold = [this](std::size_t bytes) { return memory_.hold(1, bytes); },
                     .pause = [this](std::chrono::milliseconds) { return !stopping_; }});
  }

  TemporaryFolder folder_;
  LogState state_{.attempts = 1, .over = false};
  int looks_ = 0;
  std::function<void()> then_;  // happens while the reader waits
  FairShare memory_{4 * kUsualLogBytes, 2 * kUsualLogBytes};
  bool stopping_ = false;
};

TEST_F(LogReader, GivesTheStreamThatWasAskedForAndTheNextOffset) {
  write("7.1.out", "hello\n");
  write("7.1.err", "trouble\n");
  const ApiAnswer out = read({});
  EXPECT_EQ(out.status, 200);
  EXPECT_EQ(out.body, "hello\n");
  EXPECT_EQ(out.type, "application/octet-stream");
  EXPECT_EQ(out.headers.at("X-Carpool-Offset"), "6");
  EXPECT_EQ(out.headers.at("X-Carpool-Attempt"), "1");
  EXPECT_EQ(out.headers.at("X-Carpool-Over"), "0");
  EXPECT_EQ(read({.stream = LogStream::Err}).body, "trouble\n");
}

TEST_F(LogReader, ReadsAPartFromAnOffset) {
  write("7.1.out", "0123456789");
  const ApiAnswer part = read({.offset = 3, .most = 4});
  EXPECT_EQ(part.body, "3456");
  EXPECT_EQ(part.headers.at("X-Carpool-Offset"), "7");
  EXPECT_EQ(read({.offset = 9, .most = 100}).body, "9");
  const ApiAnswer behind = read({.offset = 11});
  EXPECT_EQ(behind.body, "");
  EXPECT_EQ(behind.headers.at("X-Carpool-Offset"), "11");
}

TEST_F(LogReader, GivesTheLastLines) {
  write("7.1.out", "one\ntwo\nthree\n");
  const ApiAnswer two = read({.tail = 2});
  EXPECT_EQ(two.body, "two\nthree\n");
  EXPECT_EQ(two.headers.at("X-Carpool-Offset"), "14");
  EXPECT_EQ(read({.tail = 3}).body, "one\ntwo\nthree\n");
  EXPECT_EQ(read({.tail = 100}).body, "one\ntwo\nthree\n");
  const ApiAnswer none = read({.tail = 0});
  EXPECT_EQ(none.body, "");
  EXPECT_EQ(none.headers.at("X-Carpool-Offset"), "14");
  write("7.1.out", "unfinished");
  EXPECT_EQ(read({.tail = 1}).body, "unfinished");
  EXPECT_EQ(read({.tail = 2}).body, "three\nunfinished");
}

TEST_F(LogReader, FindsTheLastLinesAcrossBlocksWithoutReadingAll) {
  write("7.1.out", std::string(3 << 20U, 'x') + "\n" + std::string(200'000, 'y') + "\nend\n");
  EXPECT_EQ(read({.tail = 2}).body, std::string(200'000, 'y') + "\nend\n");
  const std::filesystem::path sparse = folder_.path() / "7.1.err";
  std::ofstream(sparse) << "";
  std::filesystem::resize_file(sparse, std::uintmax_t{1} << 40U);
  std::ofstream(sparse, std::ios::app) << "\nlast\n";
  EXPECT_EQ(read({.stream = LogStream::Err, .tail = 1}).body, "last\n");
}

TEST_F(LogReader, APartHasAtMostTheUsualSize) {
  write("7.1.out", std::string(kUsualLogBytes + 10, 'x'));
  EXPECT_EQ(read({.most = 100 * kUsualLogBytes}).body.size(), kUsualLogBytes);
  EXPECT_EQ(read({.offset = kUsualLogBytes}).body.size(), 10U);
}

TEST_F(LogReader, TheOutputIsCompleteWhenTheJobHasEndedAndAllIsRead) {
  write("7.1.out", "done\n");
  state_.over = true;
  EXPECT_EQ(read({}).headers.at("X-Carpool-Over"), "0");
  const ApiAnswer rest = read({.offset = 5});
  EXPECT_EQ(rest.body, "");
  EXPECT_EQ(rest.headers.at("X-Carpool-Over"), "1");
}

TEST_F(LogReader, AnEarlierAttemptIsCompleteAlthoughTheJobRuns) {
  write("7.1.out", "first");
  write("7.2.out", "second");
  state_.attempts = 2;
  EXPECT_EQ(read({}).body, "second");
  EXPECT_EQ(read({.attempt = 1}).body, "first");
  EXPECT_EQ(read({.attempt = 1, .offset = 5}).headers.at("X-Carpool-Over"), "1");
  EXPECT_EQ(read({.attempt = 2, .offset = 6}).headers.at("X-Carpool-Over"), "0");
}

TEST_F(LogReader, FollowingWaitsUntilSomethingIsWritten) {
  then_ = [this] { write("7.1.out", "late"); };
  const ApiAnswer answer = read({.wait_s = 600.0});
  EXPECT_EQ(answer.body, "late");
  EXPECT_EQ(looks_, 2);
}

TEST_F(LogReader, FollowingEndsWithTheJob) {
  then_ = [this] { state_.over = true; };
  const ApiAnswer answer = read({.wait_s = 600.0});
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.at("X-Carpool-Over"), "1");
}

TEST_F(LogReader, AFileThatIsMissingOrNotAPlainFileIsEmpty) {
  EXPECT_EQ(read({}).body, "");
  write("secret", "secret");
  std::filesystem::create_symlink(folder_.path() / "secret", folder_.path() / "7.1.out");
  EXPECT_EQ(read({}).body, "");
  std::filesystem::create_directory(folder_.path() / "7.1.err");
  EXPECT_EQ(read({.stream = LogStream::Err}).body, "");
}

TEST_F(LogReader, APipeIsNotWaitedFor) {
  ASSERT_EQ(::mkfifo((folder_.path() / "7.1.err").c_str(), 0600), 0);
  EXPECT_EQ(read({.stream = LogStream::Err}).body, "");
}

TEST_F(LogReader, FollowingEndsWhenTheServerStops) {
  stopping_ = true;
  const ApiAnswer answer = read({.wait_s = 600.0});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("X-Carpool-Over"), "0");
}

TEST_F(LogReader, AnAnswerThatIsNotSentYetHoldsMemory) {
  write("7.1.out", std::string(kUsualLogBytes, 'x'));
  const ApiAnswer first = read({});
  const ApiAnswer second = read({});
  EXPECT_EQ(second.body.size(), kUsualLogBytes);
  const ApiAnswer third = read({});
  EXPECT_EQ(third.status, 503);
  EXPECT_EQ(third.headers.at("Retry-After"), "1");
}

TEST_F(LogReader, AJobThatNeverStartedHasNoOutput) {
  state_ = {.attempts = 0, .over = true};
  const ApiAnswer answer = read({});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "");
  EXPECT_EQ(answer.headers.at("X-Carpool-Over"), "1");
}

TEST_F(LogReader, AnAttemptThatTheJobDoesNotHaveIsNotFound) {
  const ApiAnswer answer = read({.attempt = 2});
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("job 7 has no attempt 2"), std::string::npos);
}

TEST_F(LogReader, ErrorsOfTheJobAndOfSimulatedGpusArePassedOn) {
  const ApiAnswer missing =
      read_log(7,
               {},
               {.log_file = [](RunId, LogStream) { return std::filesystem::path(); },
                .state = []() -> Result<LogState> { return not_found("there is no job 7"); }});
  EXPECT_EQ(missing.status, 404);
  const ApiAnswer simulated = read_log(7, {}, {});
  EXPECT_EQ(simulated.status, 404);
  EXPECT_NE(simulated.body.find("simulated"), std::string::npos);
}

}  // namespace
}  // namespace carpool::serve
