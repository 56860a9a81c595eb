#include "base/files/packed_file.hpp"

#include <array>
#include <string_view>
#include <zlib.h>

#include <fmt/format.h>

#include "base/files/file.hpp"

namespace carpool {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;
constexpr int kMemoryLevel = 8;

// zlib only reads from it, but its interface takes a pointer to non-const.
Bytef* bytes_of(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

// Unpacks one gzip member after another; true when all of them were complete.
bool inflate_all(z_stream& stream, std::string& content) {
  std::array<char, std::size_t{1} << 16U> chunk{};
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int status = inflate(&stream, Z_NO_FLUSH);
    content.append(chunk.data(), chunk.size() - stream.avail_out);
    if (content.size() > kMaxFileBytes) {
      return false;
    }
    if (status == Z_STREAM_END) {
      if (stream.avail_in == 0) {
        return true;
      }
      if (inflateReset(&stream) != Z_OK) {
        return false;
      }
    } else if (status != Z_OK) {
      return false;
    }
  }
}

Result<std::string> unpack(std::string_view bytes, std::string_view name) {
  if (bytes.size() > kMaxFileBytes) {
    return invalid_input(fmt::format("{} is too large", name));
  }
  z_stream stream{};
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) {
    return fail(ErrorCode::Internal, fmt::format("cannot unpack {}: zlib refused", name));
  }
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string content;
  const bool whole = inflate_all(stream, content);
  inflateEnd(&stream);
  if (!whole) {
    return invalid_input(
        fmt::format("{} is not a complete gzip file, or unpacks to more than {} MiB",
                    name,
                    kMaxFileBytes >> 20U));
  }
  return content;
}

}  // namespace

Result<std::string> gzip(std::string_view text) {
  z_stream stream{};
  if (text.size() > kMaxFileBytes ||
      deflateInit2(
          &stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipOnly, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
          Z_OK) {
    return fail(ErrorCode::Internal, fmt::format("{} bytes cannot be compressed", text.size()));
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
  stream.next_in = bytes_of(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) {
    return fail(ErrorCode::Internal, fmt::format("compression ended with code {}", code));
  }
  return out;
}

Result<std::string> read_packed_file(const std::filesystem::path& path) {
  auto content = read_file(path);
  if (!content || !content->starts_with("\x1f\x8b")) {
    return content;
  }
  return unpack(*content, path.string());
}

}  // namespace carpool
