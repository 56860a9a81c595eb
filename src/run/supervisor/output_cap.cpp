#include "run/supervisor/output_cap.hpp"

#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/process/descriptor.hpp"

namespace carpool::run {
namespace {

constexpr std::uint64_t kBlock = 4096;             // no hole is smaller
constexpr std::uint64_t kBytesPerStatBlock = 512;  // of st_blocks

}  // namespace

void OutputCap::look() {
  if (most_bytes_ > 0) {
    for (Output& output : outputs_) {
      look_at(output);
    }
  }
}

void OutputCap::look_at(Output& output) const {
  const Descriptor opened(::open(
      output.file.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (opened.valid() && ::fstat(opened.get(), &status) == 0 && S_ISREG(status.st_mode) &&
      static_cast<std::uint64_t>(status.st_blocks) * kBytesPerStatBlock > most_bytes_) {
    cut(output, opened.get(), static_cast<std::uint64_t>(status.st_size));
  }
}

void OutputCap::cut(Output& output, int descriptor, std::uint64_t size) const {
  const std::uint64_t keep = most_bytes_ / 2;  // cutting at every look would cost more
  const std::uint64_t end = size > keep ? (size - keep) / kBlock * kBlock : 0;
  if (end == 0) {
    return;
  }
  const bool punched =
      ::fallocate(
          descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(end)) == 0;
  // Some network file systems have no holes: the output begins anew.
  if (!punched && ::ftruncate(descriptor, 0) != 0) {
    return;
  }
  // Once in what is kept: a long output passes its limit again and again.
  if (!output.told_at || *output.told_at < end || !punched) {
    const std::string line = fmt::format(
        "\ncarpool: this output passed its limit of {} MiB; from here on the server keeps "
        "only its latest part (carpool serve --output-limit)\n",
        most_bytes_ >> 20U);
    if (::write(descriptor, line.data(), line.size()) > 0) {
      output.told_at = punched ? size : 0;
    }
  }
}

}  // namespace carpool::run
