#include "app/server/job_output.hpp"

#include <fmt/format.h>

namespace carpool::app {

JobOutput::JobOutput(std::int64_t job,
                     unsigned attempt,
                     OutputTarget out,
                     OutputTarget err,
                     std::optional<std::uint64_t> tail)
    : job_(job),
      attempt_(attempt),
      tail_(tail),
      out_{.stream = "stdout", .target = out},
      err_{.stream = "stderr", .target = err} {}

Result<bool> JobOutput::read(ServerClient& server, double wait_s) {
  const Result<bool> first = read_on(server, out_, wait_s);
  const Result<bool> second = first ? read_on(server, err_, 0.0) : first;
  return second.map([&](bool came) { return came || *first; });
}

void JobOutput::finish() {
  write(out_, out_.filter.finish());
  write(err_, err_.filter.finish());
}

Result<bool> JobOutput::read_on(ServerClient& server, Reading& reading, double wait_s) const {
  const bool tail = tail_ && !reading.offset;
  const Result<LogPart> part =
      server.get_log(fmt::format("/v1/jobs/{}/logs?stream={}&{}={}&attempt={}&wait_s={:.2f}",
                                 job_,
                                 reading.stream,
                                 tail ? "tail" : "offset",
                                 tail ? *tail_ : reading.offset.value_or(0),
                                 attempt_,
                                 wait_s));
  if (!part) {
    return tl::unexpected(part.error());
  }
  write(reading, reading.target.filtered ? reading.filter.pass(part->bytes) : part->bytes);
  reading.offset = part->next;
  reading.over = part->over;
  return !part->bytes.empty();
}

void JobOutput::write(const Reading& reading, const std::string& text) {
  if (reading.target.into != nullptr) {
    *reading.target.into += text;
    return;
  }
  std::fwrite(text.data(), 1, text.size(), reading.target.to);
  std::fflush(reading.target.to);
}

}  // namespace carpool::app
