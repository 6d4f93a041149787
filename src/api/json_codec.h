// SPDX-License-Identifier: Apache-2.0
// Decode and Encode themselves, for the files that instantiate them (json_core.cc, json_crds.cc,
// json_pod.cc): one room's templates, compiled once. Everyone else includes api/json.h.
#pragma once

#include "api/json_reader.h"
#include "api/json_writer.h"

namespace sky::api {
namespace json_internal {

// The document's root, valid until this thread parses again.
Result<Element> Parse(std::string_view json);

}  // namespace json_internal

template <class T>
Result<T> Decode(std::string_view json) {
  const json_internal::Element root = TRY(json_internal::Parse(json));
  json_internal::Reader reader;
  T out;
  bool ok = true;
  if constexpr (IsKind<T>) ok = reader.CheckKind(root, KindOf<T>());
  if (ok && reader.Read(root, json_internal::Where{}, out)) return out;
  return std::unexpected(Error(Code::kInvalid, reader.TakeError()));
}

template <class T>
std::string Encode(const T& value) {
  json_internal::Writer writer;
  if constexpr (IsKind<T>) {
    writer.Write(value, &KindOf<T>());
  } else {
    writer.Write(value);
  }
  return std::move(writer.out());
}

}  // namespace sky::api

#define SKY_INSTANTIATE_JSON(T)                   \
  template Result<T> Decode<T>(std::string_view); \
  template std::string Encode<T>(const T&);
