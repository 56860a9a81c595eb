#include "run/supervisor/supervisor_order.hpp"

#include <array>
#include <cerrno>
#include <grp.h>
#include <pwd.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text/json_integer.hpp"
#include "core/submission/own_output.hpp"
#include "core/submission/param_sweep.hpp"
#include "core/submission/resource_limits.hpp"
#include "gpu/mps/mps_environment.hpp"
#include "gpu/mps/mps_folder.hpp"

namespace carpool::run {
namespace {

using nlohmann::json;

// Of a login. That of the server is raised for the server.
constexpr ResourceLimit kUsualOpenFiles{.soft = 1024, .hard = 524288};

struct Account {
  std::string name;
  std::string home;
  std::string shell;
  gid_t gid = 0;
};

Result<Account> account_of(uid_t uid) {
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int problem = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) {
    return fail(ErrorCode::NotFound,
                fmt::format("look up user {}: {}",
                            uid,
                            problem == 0 ? std::string("no such user")
                                         : std::generic_category().message(problem)));
  }
  return Account{entry.pw_name, entry.pw_dir, entry.pw_shell, entry.pw_gid};
}

// The variables of a login, overridden by those of the job, overridden by those of Carpool.
std::map<std::string, std::string> environment_of(const LaunchSpec& spec,
                                                  const std::filesystem::path& folder,
                                                  const std::optional<Account>& account) {
  std::map<std::string, std::string> env = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}};
  if (account) {
    env["HOME"] = account->home;
    env["USER"] = account->name;
    env["LOGNAME"] = account->name;
    env["SHELL"] = account->shell;
  }
  for (const auto& [name, value] : spec.job.env) {
    env[name] = value;
  }
  env["CUDA_VISIBLE_DEVICES"] = fmt::format("{}", fmt::join(spec.gpu_uuids, ","));
  env["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  env["CARPOOL_JOB_ID"] = fmt::format("{}", spec.run.job);
  env["CARPOOL_ATTEMPT"] = fmt::format("{}", spec.run.attempt);
  env["CARPOOL_RUN_ID"] = fmt::format("{}.{}", spec.run.job, spec.run.attempt);
  env[std::string(kRunVariable)] = folder.string();
  env["CARPOOL_GPUS"] = fmt::format("{}", fmt::join(spec.gpu_indices, ","));
  if (!spec.job.name.empty()) {
    env["CARPOOL_JOB_NAME"] = spec.job.name;
  }
  if (spec.job.array_index) {
    env["CARPOOL_ARRAY_INDEX"] = fmt::format("{}", *spec.job.array_index);
  }
  for (const auto& [name, value] : spec.job.params) {
    env[param_variable(name)] = value;
  }
  return env;
}

// An empty value removes the variable, so that limits set in the user's shell have no effect.
void change(std::map<std::string, std::string>& env,
            const std::map<std::string, std::string>& changes) {
  for (const auto& [name, value] : changes) {
    if (value.empty()) {
      env.erase(name);
    } else {
      env[name] = value;
    }
  }
}

}  // namespace

std::string write_order(const SupervisorOrder& order) {
  json object = {{"folder", order.folder.string()},
                 {"run", order.run},
                 {"journal", order.journal},
                 {"argv", order.argv},
                 {"cwd", order.cwd},
                 {"env", order.env},
                 {"gid", order.gid},
                 {"user", order.user},
                 {"home", order.home}};
  if (order.become_uid) {
    object["become_uid"] = *order.become_uid;
  }
  if (order.mps) {
    object["mps"] = {{"gpu_uuid", order.mps->gpu_uuid},
                     {"folder", order.mps->folder.string()},
                     {"users", order.mps->users.string()}};
  }
  if (!order.cgroup.empty()) {
    object["cgroup"] = order.cgroup.string();
  }
  object["output"] = order.output;
  object["error"] = order.error;
  object["umask"] = order.umask;
  object["output_limit_bytes"] = order.output_limit_bytes;
  object["limits"] = limit_texts(order.limits);
  // JSON holds text only; arguments and variables that are not UTF-8 are refused at submission.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<SupervisorOrder> read_order(std::string_view text) {
  try {
    const json object = json::parse(text);
    SupervisorOrder order{.folder = object.at("folder").get<std::string>(),
                          .run = object.at("run").get<std::string>(),
                          .journal = object.at("journal").get<std::string>(),
                          .argv = object.at("argv").get<std::vector<std::string>>(),
                          .cwd = object.at("cwd").get<std::string>(),
                          .env = object.at("env").get<std::map<std::string, std::string>>(),
                          .gid = integer_from<std::uint32_t>(object.at("gid")),
                          .user = object.at("user").get<std::string>(),
                          .home = object.at("home").get<std::string>()};
    if (object.contains("become_uid")) {
      order.become_uid = integer_from<std::uint32_t>(object.at("become_uid"));
    }
    if (object.contains("mps")) {
      const json& mps = object.at("mps");
      order.mps = MpsPlace{.gpu_uuid = mps.at("gpu_uuid").get<std::string>(),
                           .folder = mps.at("folder").get<std::string>(),
                           .users = mps.at("users").get<std::string>()};
    }
    order.cgroup = object.value("cgroup", "");
    order.output = object.value("output", "");
    order.error = object.value("error", "");
    if (object.contains("umask")) {
      order.umask = integer_from<decltype(order.umask)>(object.at("umask"));
    }
    if (object.contains("output_limit_bytes")) {
      order.output_limit_bytes = integer_from<std::uint64_t>(object.at("output_limit_bytes"));
    }
    const auto limits = parse_limits(object.value("limits", std::map<std::string, std::string>{}));
    if (!limits) {
      return tl::unexpected(limits.error());
    }
    order.limits = *limits;
    if (order.argv.empty()) {
      return invalid_input("the order of a supervisor needs a command");
    }
    return order;
  } catch (const json::exception& problem) {
    return invalid_input(
        fmt::format("the order of a supervisor on standard input: {}", problem.what()));
  }
}

Started<SupervisorOrder> make_order(const LaunchSpec& spec,
                                    const std::filesystem::path& folder,
                                    const std::optional<MpsPlace>& mps) {
  const bool root = ::geteuid() == 0;
  const uid_t runs_as = root ? spec.owner.uid : ::geteuid();
  const Result<Account> account = account_of(runs_as);
  if (!account && root) {
    // The groups are unknown. A directory service that does not answer says "no such user", too.
    return machine_trouble(TroubleScope::User, account.error().message);
  }
  SupervisorOrder order{.folder = folder,
                        .run = fmt::format("{}.{}", spec.run.job, spec.run.attempt),
                        .argv = spec.job.argv,
                        .cwd = spec.job.cwd,
                        .mps = mps,
                        .limits = spec.job.limits};
  order.umask = spec.job.umask.value_or(order.umask);
  order.output = own_output(spec.job, spec.run.job);
  order.error = own_error(spec.job, spec.run.job);
  if (order.error == order.output) {
    order.error.clear();
  }
  order.limits.try_emplace("nofile", kUsualOpenFiles);
  order.env = environment_of(
      spec, folder, account ? std::optional<Account>(*account) : std::optional<Account>());
  if (account) {
    order.user = account->name;
    order.home = account->home;
  }
  if (root && runs_as != 0) {
    order.become_uid = runs_as;
    order.gid = account->gid;
  }
  change(order.env, gpu::mps_environment({}, {}));
  if (mps) {
    const Result<gpu::MpsFolder> place = gpu::MpsFolder::at(mps->folder);
    if (!place) {
      return machine_trouble(TroubleScope::Gpus, place.error().message);
    }
    const gpu::MpsClientLimits limits{
        .thread_percentage = spec.thread_limit < kAllThreads
                                 ? std::optional<double>(spec.thread_limit)
                                 : std::nullopt,
        .low_priority = spec.low_priority,
        .pinned_memory_bytes = spec.memory_limit_bytes};
    change(order.env,
           gpu::mps_client_environment(place->pipe(), place->log(), mps->gpu_uuid, limits));
  } else if (spec.job.job_class == JobClass::Slo) {
    // A daemon of the machine would be found by its usual place.
    change(order.env,
           gpu::environment_without_mps(order.env.at("CUDA_VISIBLE_DEVICES"), folder / "no-mps"));
  }
  return order;
}

Result<void> become_job_user(const SupervisorOrder& order) {
  if (!order.become_uid) {
    return {};
  }
  const uid_t uid = *order.become_uid;
  const gid_t gid = order.gid;
  const bool changed = ::initgroups(order.user.c_str(), gid) == 0 &&
                       ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0;
  if (!changed || (uid != 0 && ::setuid(0) == 0)) {
    return fail(ErrorCode::Internal,
                fmt::format("become user {} ({}): {}", order.user, uid, last_error()));
  }
  return {};
}

}  // namespace carpool::run
