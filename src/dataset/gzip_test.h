// Makes gzip for tests. Test-only.
#pragma once

#include <zlib.h>

#include <string>
#include <string_view>

namespace capstan {

// One member of a gzip file.
inline std::string Gzipped(std::string_view plain) {
  constexpr int kGzip = 16;
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip + MAX_WBITS, 9,
               Z_DEFAULT_STRATEGY);
  std::string text(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  deflate(&stream, Z_FINISH);
  text.resize(stream.total_out);
  deflateEnd(&stream);
  return text;
}

}  // namespace capstan
