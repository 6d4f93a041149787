// SPDX-License-Identifier: Apache-2.0
// What a client may send: Beast's parser with the server's limits, then our own reading of the
// target.
#include <boost/beast/http.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "server/target.h"

namespace http = boost::beast::http;

namespace {

void CheckTarget(std::string_view text) {
  const auto target = sky::server::ParseTarget(text);
  if (!target) return;
  // What was read can be written again and reads the same.
  std::string again;
  for (const std::string& segment : target->segments) {
    if (segment.empty()) std::abort();
    again += "/" + sky::server::Escape(segment);
  }
  if (again.empty()) again = "/";
  const auto reread = sky::server::ParseTarget(again);
  if (!reread || reread->segments != target->segments) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  CheckTarget(input);
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(1u << 20);
  parser.header_limit(8u << 10);
  boost::system::error_code error;
  size_t used = 0;
  while (!error && !parser.is_done() && used < size) {
    const size_t step = parser.put(boost::asio::buffer(data + used, size - used), error);
    if (step == 0) break;
    used += step;
  }
  if (!error && parser.is_header_done()) CheckTarget(std::string(parser.get().target()));
  return 0;
}
