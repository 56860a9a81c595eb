// Any bytes as what a workload reports of its steps: finite speeds, or none. The first byte
// selects: f the content of a step file, which the workload can write at will, o its output.
#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>

#include "profile/steps/output_steps.hpp"
#include "profile/steps/step_file.hpp"
#include "profile/steps/step_times.hpp"
#include "targets.hpp"

namespace carpool::fuzz {
namespace {

constexpr std::size_t kMostSteps = 1000;

// One file for all inputs: to create it takes longer than to read it.
class SharedStepFile {
 public:
  SharedStepFile()
      : file_(profile::StepFile::create(scratch_folder() / "steps")),
        descriptor_(::open((scratch_folder() / "steps").c_str(), O_RDWR | O_CLOEXEC)) {
    require(file_.has_value() && descriptor_ >= 0);
  }
  [[nodiscard]] const profile::StepFile& holding(std::string_view content) {
    content = content.substr(0, kMostBytes);
    std::string whole(std::max(last_, content.size()), '\0');
    std::ranges::copy(content, whole.begin());
    last_ = content.size();
    require(::pwrite(descriptor_, whole.data(), whole.size(), 0) ==
            static_cast<ssize_t>(whole.size()));
    return *file_;
  }

 private:
  static constexpr std::size_t kMostBytes = 8192;  // much less than the file has
  Result<profile::StepFile> file_;
  int descriptor_;
  std::size_t last_ = 0;
};

void feed_step_file(std::string_view content) {
  static SharedStepFile shared;
  const profile::StepFile& file = shared.holding(content);
  require(file.state() <= profile::StepState::Ended);
  require(std::isfinite(file.units_per_step()) && file.units_per_step() > 0.0);
  (void)file.pid();
  const std::uint64_t steps = file.steps();
  for (const std::uint64_t first :
       {std::uint64_t{0}, steps - std::min<std::uint64_t>(steps, kMostSteps)}) {
    const auto ends = file.ends(first, steps - 1);
    if (!ends || ends->size() < 2) {
      continue;
    }
    const auto times = profile::steps_within(*ends, ends->front(), ends->at(ends->size() - 2));
    require(!times || std::isfinite(times->steps_per_second));
    (void)profile::steps_within(*ends, 1'000'000'000, 2'000'000'000);
  }
}

void feed_output(std::string_view text) {
  auto steps = profile::OutputSteps::make(R"(step\s+(\d+))");
  require(steps.has_value());
  const std::size_t middle = text.size() / 2;
  steps->add(profile::OutputSteps::Stream::Output, text.substr(0, middle), 1'000'000'000);
  steps->add(profile::OutputSteps::Stream::Error, "step 1\nstep 7", 1'500'000'000);
  steps->add(profile::OutputSteps::Stream::Output, text.substr(middle), 2'000'000'000);
  (void)steps->within({0, 3'000'000'000});
}

}  // namespace

void feed_steps(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  if (bytes.front() == 'f') {
    feed_step_file(bytes.substr(1));
  } else if (bytes.front() == 'o') {
    feed_output(bytes.substr(1));
  }
}

}  // namespace carpool::fuzz
