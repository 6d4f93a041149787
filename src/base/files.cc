// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace sky {

Result<std::string> ReadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Fail(Code::kInvalid, "{}: it is a folder, not a file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Fail(errno == ENOENT ? Code::kNotFound : Code::kInvalid, "{}: {}", path,
                std::strerror(errno));
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return Fail(Code::kInvalid, "{}: it can't be read", path);
  return text;
}

}  // namespace sky
