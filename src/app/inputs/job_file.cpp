#include "app/inputs/job_file.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "app/cli/foreign_words.hpp"
#include "base/files/file.hpp"
#include "base/text/memory_size.hpp"
#include "serve/units.hpp"

namespace carpool::app {

using nlohmann::json;

namespace {

constexpr std::string_view kDirective = "#CARPOOL";
constexpr std::size_t kLongestScript = 100'000;  // the text is passed as one argument

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line)) {
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(line);
  }
  return lines;
}

Result<json> from_toml(const toml::node& node);

Result<json> from_table(const toml::table& table) {
  json object = json::object();
  for (const auto& [key, value] : table) {
    Result<json> inner = from_toml(value);
    if (!inner) {
      return inner;
    }
    object[std::string(key.str())] = std::move(*inner);
  }
  return object;
}

Result<json> from_toml(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    return from_table(*table);
  }
  if (const toml::array* array = node.as_array()) {
    json list = json::array();
    for (const toml::node& element : *array) {
      Result<json> inner = from_toml(element);
      if (!inner) {
        return inner;
      }
      list.push_back(std::move(*inner));
    }
    return list;
  }
  if (const auto text = node.value_exact<std::string>()) {
    return json(*text);
  }
  if (const auto flag = node.value_exact<bool>()) {
    return json(*flag);
  }
  if (const auto whole = node.value_exact<std::int64_t>()) {
    return *whole < 0 ? json(*whole) : json(static_cast<std::uint64_t>(*whole));
  }
  if (const auto real = node.value_exact<double>()) {
    return json(*real);
  }
  return invalid_input(fmt::format("line {}: a job file cannot hold dates or times of day",
                                   node.source().begin.line));
}

constexpr const char* kQuotes = ", in quotes";  // TOML has no other text

// Bytes are for JSON: in a file that a person writes, mem = 12 is a mistake.
Result<void> require_units(const json& job) {
  for (const char* key : {"mem", "mem_limit"}) {
    const auto found = job.find(key);
    if (found == job.end()) {
      continue;
    }
    const bool text = found->is_string();
    if (text && (*found == "auto" || *found == "none")) {
      continue;
    }
    if (const auto size = parse_memory_size(text ? found->get<std::string>() : found->dump());
        !size) {
      return invalid_input(fmt::format("{}: {}{}", key, size.error().message, text ? "" : kQuotes));
    }
  }
  return {};
}

// Replaces "time": "2h" by "time_s": 7200.
Result<void> seconds_from_text(json& job, const char* written, const char* key) {
  const auto found = job.find(written);
  if (found == job.end()) {
    return {};
  }
  const Result<double> seconds =
      serve::parse_seconds(found->is_string() ? found->get<std::string>() : found->dump());
  if (!seconds) {
    return invalid_input(fmt::format(
        "{}: {}{}", written, seconds.error().message, found->is_string() ? "" : kQuotes));
  }
  job.erase(found);
  job[key] = *seconds;
  return {};
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool all = problem == std::errc{} && end == text.data() + text.size();
  return all ? std::optional(value) : std::nullopt;
}

// The command that passes the script as text; empty if the interpreter does not support it.
std::vector<std::string> run_text(const std::vector<std::string>& interpreter,
                                  const std::string& text,
                                  const std::string& name) {
  const auto is = [&](std::string_view word) {
    return std::ranges::any_of(interpreter, [&](const std::string& part) {
      return std::filesystem::path(part).filename().string().starts_with(word);
    });
  };
  std::vector<std::string> argv = interpreter;
  if (is("bash") || is("sh") || is("dash") || is("zsh") || is("ksh")) {
    argv.insert(argv.end(), {"-c", text, name});
    return argv;
  }
  if (is("python")) {
    argv.insert(argv.end(), {"-c", text});
    return argv;
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> split_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      inside = true;
    } else if (quote != '\0' ? c == quote : c == '\'' || c == '"') {
      quote = quote == '\0' ? c : '\0';
      inside = true;
    } else if (quote == '\0' && std::isspace(static_cast<unsigned char>(c)) != 0) {
      if (inside) {
        words.push_back(std::exchange(word, {}));
      }
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quote != '\0') {
    return invalid_input(fmt::format("missing closing {} in: {}", quote, line));
  }
  if (inside) {
    words.push_back(word);
  }
  return words;
}

Result<json> read_job_toml(const std::filesystem::path& file) {
  const Result<std::string> text = read_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  try {
    Result<json> job = from_table(toml::parse(*text, file.string()));
    if (job) {
      if (const Result<void> units = require_units(*job); !units) {
        job = tl::unexpected(units.error());
      }
    }
    for (const auto& [written, key] :
         {std::pair("time", "time_s"), std::pair("runtime", "runtime_s")}) {
      if (job) {
        if (const Result<void> read = seconds_from_text(*job, written, key); !read) {
          job = tl::unexpected(read.error());
        }
      }
    }
    return job.map_error([&](const Error& error) {
      return Error{error.code, fmt::format("{}: {}", file.string(), error.message)};
    });
  } catch (const toml::parse_error& problem) {
    return invalid_input(fmt::format("{}:{}: {}",
                                     file.string(),
                                     problem.source().begin.line,
                                     std::string(problem.description())));
  }
}

Result<json> read_rad(const std::filesystem::path& file) {
  const Result<std::string> text = read_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const std::vector<std::string> lines = lines_of(*text);
  // 0 comment, 1 environment, 2 command, …, 7 GPUs, 8 memory of the whole run in MiB
  constexpr std::size_t kEnvironment = 1;
  constexpr std::size_t kFirstCommand = 2;
  constexpr std::size_t kGpus = 7;
  constexpr std::size_t kMemory = 8;
  const auto command = std::ranges::find_if(
      lines, [](const std::string& line) { return line.find("python") != std::string::npos; });
  if (lines.size() <= kGpus || command == lines.end() ||
      command - lines.begin() < static_cast<std::ptrdiff_t>(kEnvironment)) {
    return invalid_input(fmt::format(
        "{}: not a CARMA task: it must have a python command (line {}) and the number of GPUs "
        "(line {})",
        file.string(),
        kFirstCommand + 1,
        kGpus + 1));
  }
  Result<std::vector<std::string>> argv = split_words(*command);
  const Result<std::vector<std::string>> activate = split_words(lines[kEnvironment]);
  const auto gpus = whole(lines[kGpus]);
  if (!argv || !activate) {
    return invalid_input(
        fmt::format("{}: {}", file.string(), (argv ? activate : argv).error().message));
  }
  if (!gpus) {
    return invalid_input(fmt::format(
        "{}:{}: \"{}\" is not a number of GPUs", file.string(), kGpus + 1, lines[kGpus]));
  }
  if (activate->size() == 3 && activate->at(0) == "conda" && activate->at(1) == "activate") {
    const std::string& name = activate->back();
    const std::vector<std::string> before = {"conda",
                                             "run",
                                             "--no-capture-output",
                                             name.find('/') == std::string::npos ? "-n" : "-p",
                                             name};
    argv->insert(argv->begin(), before.begin(), before.end());
  }
  json job = {{"argv", *argv},
              {"name", file.stem().string()},
              {"workload", file.stem().string()},
              {"gpus", *gpus}};
  if (const auto mebibytes = lines.size() > kMemory ? whole(lines[kMemory]) : std::nullopt;
      mebibytes && *mebibytes > 0) {
    job["mem"] = fmt::format("{}M", *mebibytes);
  }
  return job;
}

Result<JobScript> read_script(const std::filesystem::path& file) {
  const Result<std::string> text = read_file(file);
  if (!text) {
    return tl::unexpected(text.error());
  }
  JobScript script;
  const std::vector<std::string> lines = lines_of(*text);
  for (const std::string& line : lines) {
    if (!line.starts_with('#') && !line.empty()) {
      break;  // as in Slurm, options end at the first command
    }
    if (!line.starts_with(kDirective)) {
      continue;
    }
    const Result<std::vector<std::string>> words =
        split_words(std::string_view(line).substr(kDirective.size()));
    if (!words) {
      return invalid_input(fmt::format("{}: {}", file.string(), words.error().message));
    }
    script.options.insert(script.options.end(), words->begin(), words->end());
  }
  if (script.options.empty()) {
    return refuse_foreign_lines(file.string(), lines).map([&] { return script; });
  }
  std::vector<std::string> interpreter = {"/bin/sh"};
  if (lines.front().starts_with("#!")) {
    const auto words = split_words(std::string_view(lines.front()).substr(2));
    if (words && !words->empty()) {
      interpreter = *words;
    }
  }
  if (text->size() <= kLongestScript) {
    script.argv = run_text(interpreter, *text, file.string());
  }
  if (script.argv.empty()) {
    script.argv = interpreter;
    script.argv.push_back(std::filesystem::absolute(file).string());
  }
  return script;
}

}  // namespace carpool::app
