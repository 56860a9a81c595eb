#include "core/identity/program_words.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "core/identity/shell_line.hpp"
#include "core/identity/steady_arguments.hpp"
#include "core/identity/varying_text.hpp"

namespace carpool::identity {
namespace {

using Words = std::span<const std::string>;

constexpr std::size_t kDigits = 8;  // of the digest of a text that is run
constexpr unsigned kDeepest = 16;   // launchers within launchers

// A program that starts the one named behind its options.
struct Launcher {
  std::string_view name;
  std::string_view subcommand = "";  // "run" in "conda run"; empty: none
  std::string_view valued = "";      // options with a value in the next word, between spaces
  std::size_t operands = 0;          // words before the command: "3h" in "timeout 3h"
};

constexpr std::array kLaunchers = std::to_array<Launcher>({
    {.name = "env", .valued = " -u --unset -C --chdir -S "},
    {.name = "nice", .valued = " -n --adjustment "},
    {.name = "ionice", .valued = " -c -n -p "},
    {.name = "nohup"},
    {.name = "setsid"},
    {.name = "exec"},
    {.name = "time", .valued = " -f -o "},
    {.name = "timeout", .valued = " -k -s --signal --kill-after ", .operands = 1},
    {.name = "stdbuf", .valued = " -i -o -e "},
    {.name = "taskset", .operands = 1},
    {.name = "numactl", .valued = " -N -m -C -i "},
    {.name = "chrt", .operands = 1},
    {.name = "sudo", .valued = " -u -g "},
    {.name = "xvfb-run", .valued = " -s -n -e -f -p "},
    {.name = "script", .valued = " -c "},
    {.name = "conda", .subcommand = "run", .valued = " -n -p --name --prefix --cwd "},
    {.name = "mamba", .subcommand = "run", .valued = " -n -p --name --prefix --cwd "},
    {.name = "micromamba", .subcommand = "run", .valued = " -n -p --name --prefix --cwd "},
    {.name = "poetry", .subcommand = "run"},
    {.name = "pipenv", .subcommand = "run"},
    {.name = "pdm", .subcommand = "run"},
    {.name = "uv", .subcommand = "run", .valued = " --python -p --with --extra --group --project "},
    {.name = "srun", .valued = " -n -N -c -p -w -J -t --gres "},
    {.name = "mpirun", .valued = " -n -np -H -x -hostfile --hostfile --map-by --bind-to "},
    {.name = "mpiexec", .valued = " -n -np -H -x -hostfile --hostfile --map-by --bind-to "},
    {.name = "horovodrun", .valued = " -n -np -H --num-proc --hosts "},
    {.name = "torchrun"},
    {.name = "torch.distributed.run"},
    {.name = "torch.distributed.launch"},
    {.name = "accelerate", .subcommand = "launch"},
    {.name = "accelerate.commands.launch"},
    {.name = "deepspeed"},
    {.name = "nsys", .subcommand = "profile", .valued = " -o -t --output --trace "},
    {.name = "Rscript"},
    {.name = "julia"},
    {.name = "node"},
    {.name = "perl"},
});

constexpr std::array<std::string_view, 5> kShells = {"bash", "sh", "zsh", "dash", "ksh"};
constexpr std::string_view kPythonValued = " -W -X --check-hash-based-pycs ";

bool is_among(std::string_view word, std::string_view between_spaces) {
  return between_spaces.find(" " + std::string(word) + " ") != std::string_view::npos;
}

bool is_python(std::string_view name) {
  for (const std::string_view known : {"python", "pypy", "ipython"}) {
    if (name.starts_with(known) &&
        name.find_first_not_of("0123456789.", known.size()) == std::string_view::npos) {
      return true;
    }
  }
  return false;
}

// The place of the script among words of a launcher whose options are many: the first word that
// is surely one.
std::optional<std::size_t> find_script(Words words) {
  const auto found = std::ranges::find_if(words, [](std::string_view word) {
    return word == "-m" || word == "--module" || (word.ends_with(".py") && !word.starts_with('-'));
  });
  return found == words.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - words.begin()));
}

class Search {
 public:
  ProgramWords run(Words argv) {
    Words rest = argv;
    for (unsigned depth = 0; depth < kDeepest && !rest.empty() && !done_; ++depth) {
      rest = step(rest);
    }
    if (!done_) {
      take(rest);
    }
    return std::move(found_);
  }

 private:
  // One word that starts others is removed, with its options.
  Words step(Words words) {
    const std::string_view name = file_name(words.front());
    if (is_python(name)) {
      return after_python(words.subspan(1));
    }
    if (std::ranges::find(kShells, name) != kShells.end()) {
      return after_shell(words.subspan(1));
    }
    const auto launcher = std::ranges::find_if(kLaunchers, [&](const Launcher& known) {
      return known.name == name &&
             (known.subcommand.empty() || (words.size() > 1 && words[1] == known.subcommand));
    });
    if (launcher != kLaunchers.end() && words.size() > 1) {
      return after_launcher(*launcher, words.subspan(launcher->subcommand.empty() ? 1 : 2));
    }
    take(words);
    return {};
  }

  void take(Words words) {
    done_ = true;
    if (words.empty()) {
      return;
    }
    const std::string& first = words.front();
    // What lies in a folder "bin" is installed: the same program wherever that is.
    const std::size_t slash = first.rfind('/');
    const bool installed = slash != std::string::npos &&
                           first.find('.', slash) == std::string::npos &&
                           (first.substr(0, slash).ends_with("/bin"));
    found_.kind = slash == std::string::npos || installed ? ProgramWords::Kind::Command
                                                          : ProgramWords::Kind::Script;
    set(first, words.subspan(1));
  }

  void set(std::string program, Words arguments) {
    done_ = true;
    found_.program = std::move(program);
    found_.arguments.assign(arguments.begin(), arguments.end());
  }

  void set_script(Words words) {
    found_.kind = ProgramWords::Kind::Script;
    set(words.front(), words.subspan(1));
  }

  void set_code(std::string_view name, std::string_view code, Words arguments) {
    found_.kind = ProgramWords::Kind::Code;
    set(std::string(name) + " code:" + short_digest(code, kDigits), arguments);
  }

  Words after_python(Words words) {
    std::size_t at = 0;
    for (; at < words.size() && words[at].starts_with('-'); ++at) {
      const std::string_view word = words[at];
      if (word.starts_with("-m") || word.ends_with("m")) {
        return after_module(word, words.subspan(at + 1));
      }
      if (word.ends_with("c") && at + 1 < words.size()) {
        set_code("python", words[at + 1], words.subspan(at + 2));
        return {};
      }
      at += is_among(word, kPythonValued) ? 1 : 0;
    }
    if (at < words.size()) {
      set_script(words.subspan(at));
    } else {
      set("python", {});
    }
    return {};
  }

  // "-m", "-um" and "-mNAME".
  Words after_module(std::string_view flag, Words words) {
    std::vector<std::string> module(words.begin(), words.end());
    if (!flag.ends_with("m") || (flag.starts_with("-m") && flag.size() > 2)) {
      module.insert(module.begin(), std::string(flag.substr(2)));
    }
    if (module.empty()) {
      set("python", {});
      return {};
    }
    const auto launcher = std::ranges::find(kLaunchers, module.front(), &Launcher::name);
    if (launcher != kLaunchers.end()) {
      kept_.push_back(std::move(module));
      return after_launcher(*launcher, Words(kept_.back()).subspan(1));
    }
    found_.kind = ProgramWords::Kind::Module;
    set(module.front(), Words(module).subspan(1));
    return {};
  }

  // bash -c TEXT [NAME ARGUMENT...]
  Words after_shell(Words words) {
    std::size_t at = 0;
    for (; at < words.size() && words[at].size() > 1 &&
           (words[at].starts_with('-') || words[at].starts_with('+'));
         ++at) {
      const bool text = words[at].starts_with('-') && !words[at].starts_with("--");
      if (text && words[at].ends_with('c') && at + 1 < words.size()) {
        return after_text(words[at + 1], words.subspan(at + 2));
      }
      at += text && words[at].ends_with('o') ? 1 : 0;
    }
    if (at < words.size()) {
      set_script(words.subspan(at));
    } else {
      set("sh", {});
    }
    return {};
  }

  // One command is looked into. Of a script that was copied, the text is the program.
  Words after_text(const std::string& text, Words words) {
    if (auto line = one_command(text)) {
      if (!line->folder.empty()) {
        found_.folder = line->folder;
      }
      take_variables(line->variables);
      kept_.push_back(std::move(line->words));
      return kept_.back();
    }
    const std::string_view name = words.empty() ? std::string_view("sh") : file_name(words[0]);
    set_code(name, steady_script(text), words.subspan(words.empty() ? 0 : 1));
    return {};
  }

  Words after_launcher(const Launcher& launcher, Words words) {
    std::size_t at = 0;
    const bool many_options = launcher.valued.empty();
    for (; at < words.size() &&
           (words[at].starts_with('-') || (launcher.name == "env" && is_assignment(words[at])));
         ++at) {
      if (many_options) {
        if (const auto script = find_script(words.subspan(at))) {
          at += *script;
          break;
        }
      }
      if (is_assignment(words[at]) && !words[at].starts_with('-')) {
        take_variables(words.subspan(at, 1));
      }
      at += is_among(words[at], launcher.valued) ? 1 : 0;
    }
    at = std::min(at + launcher.operands, words.size());
    if (at >= words.size()) {
      set(std::string(launcher.name), {});
      return {};
    }
    if (words[at] == "-m" || words[at] == "--module") {
      return after_module("-m", words.subspan(at + 1));
    }
    if (words[at].ends_with(".py") || words[at].ends_with(".R") || words[at].ends_with(".jl")) {
      set_script(words.subspan(at));
      return {};
    }
    return words.subspan(at);
  }

  void take_variables(Words words) {
    for (const std::string& word : words) {
      if (!is_left_out_variable(std::string_view(word).substr(0, word.find('=')))) {
        found_.variables.push_back(word);
      }
    }
  }

  ProgramWords found_;
  bool done_ = false;
  std::vector<std::vector<std::string>> kept_;  // words that are not of the command itself
};

}  // namespace

ProgramWords find_program(std::span<const std::string> argv) {
  return Search().run(argv);
}

}  // namespace carpool::identity
