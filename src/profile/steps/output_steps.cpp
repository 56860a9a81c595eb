#include "profile/steps/output_steps.hpp"

#include <algorithm>
#include <fstream>
#include <regex>
#include <utility>

#include <fmt/format.h>

#include "dataset/csv.hpp"

namespace carpool::profile {
namespace {

// std::regex needs stack for each character.
constexpr std::size_t kLongestLine = 2048;
constexpr std::uintmax_t kMostAtOnce = 1U << 20U;

}  // namespace

struct OutputSteps::Expression {
  std::regex regex;
};

OutputSteps::OutputSteps(std::unique_ptr<Expression> expression)
    : expression_(std::move(expression)) {}
OutputSteps::OutputSteps(OutputSteps&&) noexcept = default;
OutputSteps& OutputSteps::operator=(OutputSteps&&) noexcept = default;
OutputSteps::~OutputSteps() = default;

Result<OutputSteps> OutputSteps::make(const std::string& expression) {
  try {
    return OutputSteps(std::make_unique<Expression>(Expression{std::regex(expression)}));
  } catch (const std::regex_error& problem) {
    return invalid_input(
        fmt::format("--step-regex \"{}\" is not a regular expression (ECMAScript): {}",
                    expression,
                    problem.what()));
  }
}

void OutputSteps::add(Stream stream, std::string_view text, std::int64_t at_ns) {
  std::string& unfinished = unfinished_[static_cast<std::size_t>(stream)];
  // Progress bars end their lines with a carriage return.
  for (std::size_t end = text.find_first_of("\r\n"); end != std::string_view::npos;
       end = text.find_first_of("\r\n")) {
    unfinished += text.substr(0, end);
    add_line(unfinished, at_ns);
    unfinished.clear();
    text.remove_prefix(end + 1);
  }
  unfinished += text.substr(0, kLongestLine - std::min(kLongestLine, unfinished.size()));
}

void OutputSteps::add_line(std::string_view line, std::int64_t at_ns) {
  line = line.substr(0, kLongestLine);
  std::cmatch match;
  try {
    if (!std::regex_search(line.data(), line.data() + line.size(), match, expression_->regex)) {
      return;
    }
  } catch (const std::regex_error&) {
    return;  // the line is too complex for std::regex
  }
  const double last = marks_.empty() ? 0.0 : marks_.back().steps;
  if (match.size() < 2) {
    add_mark({.at_ns = at_ns, .steps = last + 1.0});
    return;
  }
  const auto number = dataset::parse_number(match[1].str());
  if (number && (marks_.empty() || *number > last)) {
    add_mark({.at_ns = at_ns, .steps = *number});
  } else if (number && *number < last) {
    marks_ = {{.at_ns = at_ns, .steps = *number}};  // a new epoch restarts the count
  }
}

// Of lines read together only the last one counts.
void OutputSteps::add_mark(StepMark mark) {
  if (!marks_.empty() && marks_.back().at_ns == mark.at_ns) {
    marks_.pop_back();
  }
  marks_.push_back(mark);
}

std::optional<StepEstimate> OutputSteps::within(const TimeWindow& window) const {
  std::vector<StepMark> inside;
  std::copy_if(marks_.begin(), marks_.end(), std::back_inserter(inside), [&](const StepMark& mark) {
    return window.holds(mark.at_ns);
  });
  return estimate_steps(kFromOutput, inside);
}

std::string FileTail::more() {
  std::ifstream file(path_, std::ios::binary);
  std::error_code problem;
  const std::uintmax_t size = std::filesystem::file_size(path_, problem);
  if (problem || !file || size <= read_) {
    return {};
  }
  std::string text(std::min(size - read_, kMostAtOnce), '\0');
  file.seekg(static_cast<std::streamoff>(read_));
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  read_ += text.size();
  return text;
}

}  // namespace carpool::profile
