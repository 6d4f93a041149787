// SPDX-License-Identifier: Apache-2.0
// Behind Decode: a type is read by walking the JSON object's members once and asking Fields() who
// owns each. Only json_*.cc include this. Leaves are plain functions in json.cc, so that the
// templates stay thin. No type contains itself, so recursion is as deep as the types are; simdjson
// bounds the document.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/fields.h"
#include "api/json.h"
#include "api/kinds.h"

namespace sky::api::json_internal {

using Element = simdjson::dom::element;

// Where a value stands in its document: a chain on the stack, spelled out only when something is
// wrong.
struct Where {
  const Where* parent = nullptr;
  std::string_view name = {};
  size_t index = 0;
  bool is_index = false;
  std::string ToString() const;  // "spec.containers[0].resources.requests[nvidia.com/gpu]"
};

// Each Read is false after the first trouble, which TakeError() then tells.
class Reader {
 public:
  bool Read(Element in, const Where& at, std::string& out);
  bool Read(Element in, const Where& at, bool& out);
  bool Read(Element in, const Where& at, int32_t& out);
  bool Read(Element in, const Where& at, int64_t& out);
  bool Read(Element in, const Where& at, Quantity& out);
  bool Read(Element in, const Where& at, Time& out);
  bool Read(Element in, const Where& at, MicroTime& out);
  bool Read(Element in, const Where& at, IntOrString& out);

  template <class T>
  bool Read(Element in, const Where& at, std::optional<T>& out) {
    return Read(in, at, out.emplace());
  }
  template <class T>
  bool Read(Element in, const Where& at, std::vector<T>& out);
  template <class T>
  bool Read(Element in, const Where& at, FlatMap<T>& out);
  template <HasFields T>
  bool Read(Element in, const Where& at, T& out);

  bool Fail(const Where& at, std::string_view what);
  bool FailType(const Where& at, std::string_view wanted, Element got);
  // Refuses a document that says it is of another kind.
  bool CheckKind(Element root, const Kind& kind);
  std::string TakeError() { return std::move(error_); }

 private:
  bool ReadTime(Element in, const Where& at, std::optional<WallTime>& out);
  static std::string Raw(Element in);
  std::string error_;
};

// Gives one JSON member to the field of its name.
struct MemberReader {
  Reader& reader;
  const Where& at;
  Element in;
  uint64_t& seen;  // one bit a field; no type has more than 64
  int index = 0;
  bool found = false, ok = true;

  template <class M>
  void operator()(std::string_view name, M& member) {
    const uint64_t bit = uint64_t{1} << index++;
    if (found || name != at.name) return;
    found = true;
    if (seen & bit) {
      ok = reader.Fail(at, "is given twice");
      return;
    }
    seen |= bit;
    if (!in.is_null()) ok = reader.Read(in, at, member);
  }
  template <class M>
  void Always(std::string_view name, M& member) {
    (*this)(name, member);
  }
};

template <HasFields T>
bool Reader::Read(Element in, const Where& at, T& out) {
  simdjson::dom::object object;
  if (in.get(object)) return FailType(at, "an object", in);
  uint64_t seen = 0;
  for (const auto field : object) {
    const Where here{.parent = &at, .name = field.key};
    MemberReader member{.reader = *this, .at = here, .in = field.value, .seen = seen};
    T::Fields(out, member);
    if (!member.ok) return false;
    if constexpr (requires { out.extra; }) {
      if (!member.found) out.extra.members.emplace_back(std::string(field.key), Raw(field.value));
    }
  }
  return true;
}

template <class T>
bool Reader::Read(Element in, const Where& at, std::vector<T>& out) {
  simdjson::dom::array array;
  if (in.get(array)) return FailType(at, "a list", in);
  out.reserve(array.size());
  size_t index = 0;
  for (const Element element : array) {
    const Where here{.parent = &at, .index = index++, .is_index = true};
    if (!Read(element, here, out.emplace_back())) return false;
  }
  return true;
}

template <class T>
bool Reader::Read(Element in, const Where& at, FlatMap<T>& out) {
  simdjson::dom::object object;
  if (in.get(object)) return FailType(at, "a map", in);
  out.reserve(object.size());
  for (const auto field : object) {
    const Where here{.parent = &at, .name = field.key};
    // Servers send keys in order, so the end is nearly always the right place.
    const size_t before = out.size();
    const auto place = out.emplace_hint(out.end(), std::string(field.key), T{});
    if (out.size() == before) return Fail(here, "is given twice");
    if (!field.value.is_null() && !Read(field.value, here, place->second)) return false;
  }
  return true;
}

}  // namespace sky::api::json_internal
