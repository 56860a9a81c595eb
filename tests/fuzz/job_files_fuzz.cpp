// Any bytes as a file that `carpool submit` reads: a job, or an error that names the file. The
// first byte selects: t job.toml, r task.rad, s a script with #CARPOOL lines, w a line of words.
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "app/inputs/job_file.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

void feed_object(const Result<nlohmann::json>& job, std::string_view file) {
  if (!job) {
    require(job.error().message.find(file) != std::string::npos);
    return;
  }
  require(job->is_object());
}

void feed_script(std::string_view text) {
  const auto script = app::read_script(scratch_file("job.sh", text));
  if (!script) {
    require(script.error().message.find("job.sh") != std::string::npos);
    return;
  }
  require(script->options.empty() == script->argv.empty());
}

}  // namespace

void feed_job_files(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  const std::string_view text = bytes.substr(1);
  switch (bytes.front()) {
    case 't':
      feed_object(app::read_job_toml(scratch_file("job.toml", text)), "job.toml");
      break;
    case 'r':
      feed_object(app::read_rad(scratch_file("task.rad", text)), "task.rad");
      break;
    case 's':
      feed_script(text);
      break;
    case 'w':
      require(app::split_words(text).has_value() || text.find_first_of("'\"") != text.npos);
      break;
    default:
      break;
  }
}

}  // namespace carpool::fuzz
