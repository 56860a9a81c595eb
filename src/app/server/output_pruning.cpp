#include "app/server/output_pruning.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

#include "run/run_folder.hpp"

namespace carpool::app {
namespace {

constexpr std::uint64_t kStatBlockBytes = 512;

struct KeptOutput {
  RunId run{};
  std::filesystem::path folder{};
  std::uint64_t bytes = 0;
  double ended_s = 0.0;
  std::uint32_t uid = 0;  // of the job
};

// "17.1"
std::optional<RunId> run_named(const std::string& name) {
  RunId run;
  const char* const end = name.data() + name.size();
  const auto job = std::from_chars(name.data(), end, run.job);
  if (job.ec != std::errc() || job.ptr == end || *job.ptr != '.') {
    return std::nullopt;
  }
  const auto attempt = std::from_chars(job.ptr + 1, end, run.attempt);
  return attempt.ec == std::errc() && attempt.ptr == end ? std::optional(run) : std::nullopt;
}

std::optional<struct stat> status_of(const std::filesystem::path& file) {
  struct stat status{};
  return ::lstat(file.c_str(), &status) == 0 ? std::optional(status) : std::nullopt;
}

// Empty: nothing that may be removed.
std::optional<KeptOutput> kept_in(const std::filesystem::path& path,
                                  const std::string& journal,
                                  const serve::PruneRequest& wanted) {
  const auto run = run_named(path.filename().string());
  if (!run || run->job > wanted.last_job || wanted.not_ended.contains(run->job)) {
    return std::nullopt;
  }
  const run::RunFolder folder(path);
  const auto out = status_of(folder.stdout_file());
  const auto err = status_of(folder.stderr_file());
  const auto end = status_of(path / "exit");
  if (!out || !folder.belongs_to(journal)) {
    return std::nullopt;
  }
  const auto blocks = out->st_blocks + (err ? err->st_blocks : 0);
  return KeptOutput{.run = *run,
                    .folder = path,
                    .bytes = static_cast<std::uint64_t>(blocks) * kStatBlockBytes,
                    .ended_s = static_cast<double>((end ? *end : *out).st_mtim.tv_sec),
                    .uid = out->st_uid};
}

}  // namespace

serve::PruneReport prune_outputs(const std::filesystem::path& runs,
                                 const std::string& journal,
                                 const serve::PruneRequest& wanted,
                                 double now_s) {
  std::vector<KeptOutput> outputs;
  std::uint64_t held = 0;
  std::error_code problem;
  for (std::filesystem::directory_iterator entry(runs, problem), end; !problem && entry != end;
       entry.increment(problem)) {
    auto output = kept_in(entry->path(), journal, wanted);
    if (output && (!wanted.uid || *wanted.uid == output->uid)) {
      held += output->bytes;
      outputs.push_back(std::move(*output));
    }
  }
  std::ranges::sort(outputs, {}, &KeptOutput::ended_s);
  serve::PruneReport report;
  for (const KeptOutput& output : outputs) {
    const bool old = wanted.older_than_s && now_s - output.ended_s > *wanted.older_than_s;
    const bool too_much = wanted.keep_bytes && held > *wanted.keep_bytes;
    if (!old && !too_much) {
      continue;
    }
    if (!wanted.dry_run) {
      std::filesystem::remove_all(output.folder, problem);
      if (problem) {
        continue;
      }
    }
    held -= output.bytes;
    report.bytes += output.bytes;
    report.removed.push_back(output.run);
  }
  report.kept_bytes = held;
  return report;
}

}  // namespace carpool::app
