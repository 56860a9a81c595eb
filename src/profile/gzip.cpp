#include "profile/gzip.hpp"

#include <array>
#include <zlib.h>

#include <fmt/format.h>

#include "base/file.hpp"

namespace carpool {
namespace {

constexpr int kGzipFormat = 16 + MAX_WBITS;
constexpr int kMemoryLevel = 8;

Bytef* bytes_of(std::string_view text) {
  // The library reads through pointers that it does not write through.
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

Result<std::string> gzip(std::string_view text) {
  z_stream stream{};
  if (text.size() > kMaxFileBytes ||
      deflateInit2(
          &stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzipFormat, kMemoryLevel, Z_DEFAULT_STRATEGY) !=
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

Result<std::string> gunzip(std::string_view bytes, std::string_view file) {
  z_stream stream{};
  if (inflateInit2(&stream, kGzipFormat) != Z_OK) {
    return fail(ErrorCode::Internal, "zlib cannot be used");
  }
  stream.next_in = bytes_of(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  std::array<char, 65'536> part{};
  int code = Z_OK;
  while (code == Z_OK && out.size() <= kMaxFileBytes) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || out.size() > kMaxFileBytes) {
    return fail(ErrorCode::Corrupt,
                fmt::format("{} is no whole gzip file of at most {} bytes", file, kMaxFileBytes));
  }
  return out;
}

}  // namespace carpool
