#include "core/workload_identity.hpp"

#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text/printable.hpp"
#include "core/identity/program_words.hpp"
#include "core/identity/steady_arguments.hpp"
#include "core/identity/varying_text.hpp"

namespace carpool {
namespace {

using identity::ProgramWords;

constexpr std::string_view kScope = "uid:";
constexpr std::size_t kLongest = 120;
constexpr std::size_t kDigits = 6;
constexpr std::size_t kCutDigits = 8;

std::string joined_path(const std::string& folder, const std::string& path) {
  return path.starts_with('/') || folder.empty() ? path : folder + "/" + path;
}

bool names_relative_files(const ProgramWords& words) {
  for (const std::string& word : words.arguments) {
    const std::string_view value = std::string_view(word).substr(word.find('=') + 1);
    if (!value.starts_with('/') && value.find('/') != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// The folder that decides what the words mean; empty: none does.
std::string deciding_folder(const ProgramWords& words, const std::string& cwd) {
  std::string here = words.folder.empty() ? cwd : joined_path(cwd, words.folder);
  switch (words.kind) {
    case ProgramWords::Kind::Script: {
      const std::string path = joined_path(here, words.program);
      return path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
    case ProgramWords::Kind::Module:
      return here;
    case ProgramWords::Kind::Command:
      return names_relative_files(words) ? here : std::string();
    case ProgramWords::Kind::Code:
      break;
  }
  return {};
}

// "@p.3fa2c1": the name of the folder and a digest of its whole path.
std::string folder_mark(const std::string& folder) {
  const auto parts = identity::steady_folder(folder);
  if (parts.empty()) {
    return {};
  }
  const std::string digest =
      identity::short_digest(fmt::format("{}", fmt::join(parts, "/")), kDigits);
  return parts.back() == identity::kVaries ? fmt::format("@{}", digest)
                                           : fmt::format("@{}.{}", parts.back(), digest);
}

// At most `most` bytes of the text, not within a character.
std::string cut(const std::string& text, std::size_t most) {
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t bytes = first_character(std::string_view(text).substr(end)).bytes;
    if (end + bytes > most) {
      break;
    }
    end += bytes;
  }
  return text.substr(0, end);
}

std::string command_text(const JobSpec& spec) {
  const ProgramWords words = identity::find_program(spec.argv);
  std::vector<std::string> shown = identity::steady_arguments(words.variables);
  shown.push_back(words.kind == ProgramWords::Kind::Script
                      ? identity::steady_value(identity::file_name(words.program))
                      : std::string(identity::file_name(words.program)));
  for (std::string& word : identity::steady_arguments(words.arguments)) {
    // Words with blanks are quoted, so that different commands give different texts.
    const bool blank = word.empty() || word.find_first_of(" '\n\t") != std::string::npos;
    shown.push_back(blank ? fmt::format("'{}'", word) : std::move(word));
  }
  if (spec.gpus > 1) {
    shown.push_back(fmt::format("({} GPUs)", spec.gpus));
  }
  if (std::string mark = folder_mark(deciding_folder(words, spec.cwd)); !mark.empty()) {
    shown.push_back(std::move(mark));
  }
  return printable(fmt::format("{}", fmt::join(shown, " ")));
}

}  // namespace

std::string workload_key(const JobSpec& spec) {
  if (!spec.workload.empty()) {
    return spec.workload;
  }
  std::string text = command_text(spec);
  if (text.size() <= kLongest) {
    return text;
  }
  const std::string digest = identity::short_digest(text, kCutDigits);
  return fmt::format("{}… {}", cut(text, kLongest - kCutDigits - 4), digest);
}

std::string scoped_workload(std::uint32_t uid, std::string_view workload) {
  return fmt::format("{}{}/{}", kScope, uid, workload);
}

std::optional<std::uint32_t> workload_uid(std::string_view scoped) {
  std::uint32_t uid = 0;
  const std::string_view rest = scoped.starts_with(kScope) ? scoped.substr(kScope.size()) : "";
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), uid);
  return problem == std::errc{} && end != rest.data() + rest.size() && *end == '/'
             ? std::optional(uid)
             : std::nullopt;
}

std::string_view workload_name(std::string_view scoped) {
  const std::size_t slash = scoped.starts_with(kScope) ? scoped.find('/') : std::string_view::npos;
  return slash == std::string_view::npos ? scoped : scoped.substr(slash + 1);
}

}  // namespace carpool
