# SPDX-License-Identifier: Apache-2.0
# cmake -P: writes a C++ source that holds text files, so that a program needs no files beside it.
#   OUTPUT    the source to write
#   FILES     the files, separated by "|"
#   FUNCTION  the qualified function that returns them, declared in HEADER as
#             std::span<const std::string_view> Function();
string(REPLACE "|" ";" files "${FILES}")
set(texts "")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(APPEND texts "      R\"sky_text(${text})sky_text\",\n")
endforeach()
list(LENGTH files count)
file(WRITE "${OUTPUT}" "// Made by cmake/EmbedTexts.cmake: don't edit.
#include \"${HEADER}\"

#include <array>

std::span<const std::string_view> ${FUNCTION}() {
  static const std::array<std::string_view, ${count}> kTexts = {
${texts}  };
  return kTexts;
}
")
