#include "app/server/gpu_lock.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "app/output/text_table.hpp"
#include "app/top/process_names.hpp"
#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/text/printable.hpp"
#include "serve/caller.hpp"

namespace carpool::app {
namespace {

struct AbstractName {
  sockaddr_un address{};
  socklen_t length = 0;
};

Result<AbstractName> name_of_gpu(const std::string& uuid) {
  const std::string text = fmt::format("carpool-gpu-{}", uuid);
  AbstractName name;
  name.address.sun_family = AF_UNIX;
  if (text.size() + 1 > sizeof name.address.sun_path) {
    return fail(ErrorCode::Internal, fmt::format("the name {} is too long", text));
  }
  // A name that begins with NUL is not a file.
  std::memcpy(&name.address.sun_path[1], text.data(), text.size());
  name.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

Descriptor new_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

const sockaddr* generic(const AbstractName& name) {
  return reinterpret_cast<const sockaddr*>(&name.address);  // as the system calls want it
}

constexpr int kMostCallers = 4096;  // that wait to be answered

// Each caller only wants to know who holds the name. Callers that come faster than they are
// answered do not keep the server here.
void answer_callers(const Descriptor& name) {
  bool more = name.valid();
  for (int answered = 0; more && answered < kMostCallers; ++answered) {
    more = Descriptor(::accept4(name.get(), nullptr, nullptr, SOCK_CLOEXEC)).valid();
  }
}

// A socket with the name of the GPU; not valid: another process has it.
Result<Descriptor> bind_name(const std::string& uuid) {
  const Result<AbstractName> name = name_of_gpu(uuid);
  if (!name) {
    return tl::unexpected(name.error());
  }
  Descriptor socket = new_socket();
  if (socket.valid() && ::bind(socket.get(), generic(*name), name->length) != 0 &&
      errno == EADDRINUSE) {
    return Descriptor();
  }
  if (!socket.valid() || ::listen(socket.get(), kMostCallers) != 0) {
    return fail(ErrorCode::Internal, fmt::format("lock GPU {}: {}", uuid, last_error()));
  }
  return socket;
}

// The kernel reports who called listen(): the holder cannot claim to be another user.
std::optional<GpuHolder> holder_of_name(const std::string& uuid) {
  const Result<AbstractName> name = name_of_gpu(uuid);
  const Descriptor socket = new_socket();
  if (!name || !socket.valid()) {
    return std::nullopt;
  }
  if (::connect(socket.get(), generic(*name), name->length) != 0) {
    return errno == ECONNREFUSED ? std::nullopt : std::optional(GpuHolder{});
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return GpuHolder{};
  }
  return GpuHolder{.uid = peer.uid, .pid = peer.pid > 0 ? std::optional(peer.pid) : std::nullopt};
}

GpuHolder holder_of_claim(const GpuClaim& claim) {
  return {.system = true, .uid = 0, .pid = claim.pid, .socket = claim.socket};
}

std::string advice(const GpuHolder& holder) {
  if (holder.system) {
    return fmt::format("Submit jobs there: carpool submit --socket {} -- COMMAND", holder.socket);
  }
  if (holder.pid && holder.uid && (*holder.uid == ::geteuid() || ::geteuid() == 0)) {
    return fmt::format("Submit jobs there, or stop it: kill {}", *holder.pid);
  }
  return "It serves no other user. Ask its owner to stop it, or an administrator to serve all "
         "users "
         "with `carpool serve --system`, which has priority.";
}

tl::unexpected<Error> taken(unsigned index, const std::string& uuid, const GpuHolder& holder) {
  return conflict(fmt::format(
      "GPU {} ({}) is managed by {}. {}", index, uuid, spoken_holder(holder), advice(holder)));
}

// A server that was killed a moment ago may still hold its locks.
constexpr double kDyingSeconds = 1.0;
constexpr std::chrono::milliseconds kTryAgain{50};

}  // namespace

std::optional<GpuHolder> gpu_holder(const std::string& uuid, const std::filesystem::path& claims) {
  if (const auto claim = read_claim(uuid, claims)) {
    return holder_of_claim(*claim);
  }
  return holder_of_name(uuid);
}

std::string spoken_holder(const GpuHolder& holder) {
  const std::string process = holder.pid ? fmt::format("process {}", *holder.pid) : "";
  if (holder.system) {
    return fmt::format("the server of this machine ({}, socket {})", process, holder.socket);
  }
  if (!holder.uid) {
    return "another process, which does not tell its owner now";
  }
  const std::string user = printable(serve::user_name(*holder.uid));
  if (!holder.pid) {
    return fmt::format("the server of user {} in another container", user);
  }
  const std::string command = name_process(*holder.pid).command;
  return fmt::format("the server of user {} ({}{}{})",
                     user,
                     process,
                     command.empty() ? "" : ": ",
                     first_columns(command, 100));
}

Result<GpuLocks> GpuLocks::take(const std::vector<GpuView>& gpus, GpuLockSettings settings) {
  GpuLocks locks;
  const Stopwatch watch;
  for (const GpuView& gpu : gpus) {
    locks.locks_.push_back({.index = gpu.index, .uuid = gpu.uuid});
  }
  locks.settings_ = std::move(settings);
  Result<void> done = locks.try_all();
  while (!done && done.error().code == ErrorCode::Conflict && watch.seconds() < kDyingSeconds) {
    pause_for(kTryAgain);
    done = locks.try_all();
  }
  return done.map([&] { return std::move(locks); });
}

Result<void> GpuLocks::try_all() {
  return settings_.system ? claim_all() : bind_all();
}

Result<void> GpuLocks::claim_all() {
  std::vector<std::string> uuids;
  std::ranges::transform(locks_, std::back_inserter(uuids), &Lock::uuid);
  const auto other = claims_.take(uuids, settings_.socket, settings_.claims);
  if (!other) {
    return tl::unexpected(other.error());
  }
  if (*other) {
    const auto lock = std::ranges::find(locks_, (*other)->uuid, &Lock::uuid);
    return taken(lock->index, lock->uuid, holder_of_claim((*other)->claim));
  }
  for (const Lock& lock : locks_) {
    if (const auto personal = holder_of_name(lock.uuid)) {
      log_warning(fmt::format(
          "GPU {} ({}) was managed by {}; a personal server stops when it sees this one",
          lock.index,
          lock.uuid,
          spoken_holder(*personal)));
    }
  }
  return {};
}

Result<void> GpuLocks::bind_all() {
  for (Lock& lock : locks_) {
    if (lock.name.valid()) {
      continue;
    }
    Result<Descriptor> name = bind_name(lock.uuid);
    if (!name) {
      return tl::unexpected(name.error());
    }
    if (!name->valid()) {
      return taken(lock.index, lock.uuid, holder_of_name(lock.uuid).value_or(GpuHolder{}));
    }
    lock.name = std::move(*name);
  }
  return keep();
}

Result<void> GpuLocks::keep() const {
  for (const Lock& lock : locks_) {
    answer_callers(lock.name);
    const auto claim = settings_.system ? std::nullopt : read_claim(lock.uuid, settings_.claims);
    if (claim) {
      return taken(lock.index, lock.uuid, holder_of_claim(*claim));
    }
  }
  return {};
}

}  // namespace carpool::app
