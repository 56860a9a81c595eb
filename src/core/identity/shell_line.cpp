#include "core/identity/shell_line.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "core/identity/steady_arguments.hpp"

namespace carpool::identity {
namespace {

using Command = std::vector<std::string>;

// Commands that only prepare the one that counts.
constexpr std::array<std::string_view, 14> kPreparing = {"cd",
                                                         "source",
                                                         ".",
                                                         "export",
                                                         "set",
                                                         "ulimit",
                                                         "module",
                                                         "mkdir",
                                                         "echo",
                                                         "sleep",
                                                         "conda",
                                                         "date",
                                                         "umask",
                                                         "hostname"};
// Words of the shell's language, in which a line is more than a list of commands.
constexpr std::array<std::string_view, 9> kLanguage = {
    "for", "while", "until", "if", "case", "function", "{", "(", "!"};

// Splits at blanks outside of quotes; separators of commands end one.
class ShellReader {
 public:
  std::vector<Command> read(std::string_view text) {
    for (std::size_t at = 0; at < text.size(); ++at) {
      const char c = text[at];
      if (quote_ != '\0') {
        quoted(c);
      } else if (c == '\\' && at + 1 < text.size()) {
        add(text[++at]);
      } else if (c == '\'' || c == '"') {
        quote_ = c;
        inside_ = true;
      } else if (c == '#' && !inside_) {
        at = std::min(text.find('\n', at), text.size()) - 1;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        end_word();
      } else if (c == ';' || c == '\n' || c == '|' || (c == '&' && !redirects())) {
        end_command();
      } else {
        add(c);
      }
    }
    end_command();
    return std::move(commands_);
  }

 private:
  void add(char c) {
    word_ += c;
    inside_ = true;
  }
  void quoted(char c) {
    if (c == quote_) {
      quote_ = '\0';
    } else {
      add(c);
    }
  }
  [[nodiscard]] bool redirects() const { return word_.ends_with('>'); }
  void end_word() {
    if (inside_) {
      command_.push_back(std::exchange(word_, {}));
    }
    inside_ = false;
  }
  void end_command() {
    end_word();
    if (!command_.empty()) {
      commands_.push_back(std::exchange(command_, {}));
    }
  }

  std::vector<Command> commands_;
  Command command_;
  std::string word_;
  bool inside_ = false;
  char quote_ = '\0';
};

bool is_redirection(std::string_view word) {
  const std::size_t at = word.find_first_not_of("0123456789&");
  return at != std::string_view::npos && (word[at] == '>' || word[at] == '<');
}

void drop_redirections(Command& command) {
  Command kept;
  for (std::size_t at = 0; at < command.size(); ++at) {
    if (!is_redirection(command[at])) {
      kept.push_back(std::move(command[at]));
    } else if (command[at].ends_with('>') || command[at].ends_with('<')) {
      ++at;  // the file
    }
  }
  command = std::move(kept);
}

template <std::size_t N>
bool is_word_of(const std::string& word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, std::string_view(word)) != words.end();
}

bool prepares(const Command& command) {
  const bool runs = command.size() > 1 && command[0] == "conda" && command[1] == "run";
  return !runs && is_word_of(command.front(), kPreparing);
}

}  // namespace

std::optional<ShellCommand> one_command(std::string_view text) {
  ShellCommand found;
  for (Command& command : ShellReader().read(text)) {
    drop_redirections(command);
    const auto first = std::ranges::find_if_not(
        command, [](const std::string& word) { return is_assignment(word); });
    found.variables.insert(found.variables.end(), command.begin(), first);
    command.erase(command.begin(), first);
    if (command.empty()) {
      continue;
    }
    if (is_word_of(command.front(), kLanguage)) {
      return std::nullopt;
    }
    if (command.front() == "cd" && command.size() > 1) {
      found.folder = command[1];
    }
    if (prepares(command)) {
      continue;
    }
    if (!found.words.empty()) {
      return std::nullopt;
    }
    found.words = std::move(command);
  }
  return found.words.empty() ? std::nullopt : std::optional(std::move(found));
}

std::string steady_script(std::string_view text) {
  std::string steady;
  for (Command& command : ShellReader().read(text)) {
    drop_redirections(command);
    for (const std::string& word : steady_arguments(command)) {
      steady += word + '\0';
    }
    steady += '\n';
  }
  return steady;
}

}  // namespace carpool::identity
