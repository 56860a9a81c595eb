#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/command_table.hpp"
#include "base/files/file.hpp"
#include "base/log.hpp"
#include "base/process/descriptor.hpp"
#include "serve/access/tokens.hpp"
#include "serve/caller.hpp"

namespace carpool::app {
namespace {

using nlohmann::json;

struct TokenOptions {
  std::string action;
  std::optional<std::string> name;
  bool metrics = false;
  std::string file = "/etc/carpool/tokens";
};

void add_token_options(OptionSet& options, TokenOptions& token) {
  options.positional("action",
                     &token.action,
                     "ACTION",
                     "create: make a token of USER and print it once; list: users and ids of the "
                     "tokens; revoke: remove the token ID, or all tokens of USER",
                     {.choices = {"create", "list", "revoke"}, .required = true});
  options.positional("name", &token.name, "USER", "User of this machine; with revoke also an ID");
  options.flag("--metrics",
               token.metrics,
               "With create, instead of USER: a token that may read /metrics and nothing else");
  options.option("--tokens",
                 &token.file,
                 "FILE",
                 "File of the tokens, as for carpool serve (default: /etc/carpool/tokens)");
}

Result<serve::TokenTable> read_tokens(const std::filesystem::path& file, bool may_be_absent) {
  auto tokens = serve::read_token_file(file);
  if (!tokens && tokens.error().code == ErrorCode::NotFound && may_be_absent) {
    return serve::TokenTable();
  }
  return tokens;
}

// Held while the file is changed: two changes at a time would lose one, perhaps a revocation.
Result<Descriptor> lock_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened.valid() || ::flock(opened.get(), LOCK_EX) != 0) {
    return fail(ErrorCode::NotFound,
                fmt::format("the folder of {} cannot be opened: {}; create it, or name another "
                            "file with --tokens",
                            file.string(),
                            last_error()));
  }
  return opened;
}

Result<void> write_tokens(const std::filesystem::path& file, const serve::TokenTable& tokens) {
  ::umask(077);
  return write_file(file, serve::token_file_text(tokens));
}

Result<std::string> user_of_new_token(const TokenOptions& options) {
  if (options.metrics == options.name.has_value()) {
    return invalid_input("create needs either a USER or --metrics");
  }
  if (options.metrics) {
    return std::string(serve::kScrapeUser);
  }
  return serve::user_id(*options.name).map([&](std::uint32_t uid) {
    if (uid == 0) {
      log_warning(
          "this token is one of root: with it, programs run as root on this machine from others");
    }
    return *options.name;
  });
}

Result<void> create_action(const TokenOptions& options, const CommandContext& context) {
  const Result<std::string> user = user_of_new_token(options);
  const Result<Descriptor> lock = user ? lock_folder(options.file) : Descriptor();
  const Result<std::string> token = serve::make_token();
  if (!user || !lock || !token) {
    return tl::unexpected(!user ? user.error() : !lock ? lock.error() : token.error());
  }
  auto tokens = read_tokens(options.file, /*may_be_absent=*/true);
  if (!tokens) {
    return tl::unexpected(tokens.error());
  }
  tokens->push_back(serve::entry_of(*token, *user));
  if (const Result<void> written = write_tokens(options.file, *tokens); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json({{"id", tokens->back().id()}, {"user", *user}, {"token", *token}});
  } else {
    context.output.print(*token + "\n");
  }
  return {};
}

Result<void> list_action(const TokenOptions& options, const CommandContext& context) {
  const auto tokens = read_tokens(options.file, /*may_be_absent=*/false);
  if (!tokens) {
    return tl::unexpected(tokens.error());
  }
  json list = json::array();
  std::string text;
  for (const serve::TokenEntry& entry : *tokens) {
    list.push_back({{"id", entry.id()}, {"user", entry.user}});
    text += fmt::format("{}  {}\n", entry.id(), entry.user);
  }
  if (context.output.json()) {
    context.output.print_json({{"tokens", std::move(list)}});
  } else {
    context.output.print(text.empty() ? "No tokens.\n" : text);
  }
  return {};
}

Result<void> revoke_action(const TokenOptions& options, const CommandContext& context) {
  if (!options.name) {
    return invalid_input("revoke needs the ID of a token, or a USER; see `carpool token list`");
  }
  const Result<Descriptor> lock = lock_folder(options.file);
  if (!lock) {
    return tl::unexpected(lock.error());
  }
  auto tokens = read_tokens(options.file, /*may_be_absent=*/false);
  if (!tokens) {
    return tl::unexpected(tokens.error());
  }
  const std::size_t removed = std::erase_if(*tokens, [&](const serve::TokenEntry& entry) {
    return entry.user == *options.name || entry.id() == *options.name;
  });
  if (removed == 0) {
    return not_found(fmt::format(
        "{} holds no token \"{}\"; see `carpool token list`", options.file, *options.name));
  }
  if (const Result<void> written = write_tokens(options.file, *tokens); !written) {
    return written;
  }
  if (context.output.json()) {
    context.output.print_json({{"revoked", removed}});
  } else {
    context.output.remark(fmt::format("Revoked {} token{}.", removed, removed == 1 ? "" : "s"));
  }
  return {};
}

Result<void> run_token(const TokenOptions& options, const CommandContext& context) {
  if (options.metrics && options.action != "create") {
    return invalid_input("--metrics belongs to create");
  }
  if (options.action == "create") {
    return create_action(options, context);
  }
  if (options.action == "revoke") {
    return revoke_action(options, context);
  }
  return options.name ? invalid_input("list takes no name") : list_action(options, context);
}

}  // namespace

CommandSpec token_command() {
  return make_command(
      add_token_options,
      run_token,
      {"carpool token create ann", "carpool token list", "carpool token revoke ann"},
      "The file holds digests, from which no token can be found. The server reads it anew when it "
      "changes: a revoked token is refused from the next request on.");
}

}  // namespace carpool::app
