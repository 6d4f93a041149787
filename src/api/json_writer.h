// SPDX-License-Identifier: Apache-2.0
// Behind Encode: a type is written by walking its Fields() in order, zero values left out. Only
// json_*.cc include this; leaves are plain functions in json.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/json_reader.h"

namespace sky::api::json_internal {

inline bool IsZero(const std::string& value) { return value.empty(); }
inline bool IsZero(bool value) { return !value; }
inline bool IsZero(int64_t value) { return value == 0; }
inline bool IsZero(int32_t value) { return value == 0; }
inline bool IsZero(const Time& value) { return !value.at; }
inline bool IsZero(const MicroTime& value) { return !value.at; }
template <class T>
bool IsZero(const std::optional<T>& value) {
  return !value.has_value();
}
template <class T>
bool IsZero(const std::vector<T>& value) {
  return value.empty();
}
template <class T>
bool IsZero(const FlatMap<T>& value) {
  return value.empty();
}

class Writer {
 public:
  void Write(std::string_view text);
  void Write(const std::string& text) { Write(std::string_view(text)); }
  void Write(bool value) { out_ += value ? "true" : "false"; }
  void Write(int64_t value);
  void Write(int32_t value) { Write(int64_t{value}); }
  void Write(const Quantity& value) { Write(value.ToString()); }
  void Write(const Time& value);
  void Write(const MicroTime& value);
  void Write(const IntOrString& value);

  template <class T>
  void Write(const std::optional<T>& value) {
    Write(*value);
  }
  template <class T>
  void Write(const std::vector<T>& list) {
    out_ += '[';
    for (const T& element : list) {
      if (&element != list.data()) out_ += ',';
      Write(element);
    }
    out_ += ']';
  }
  template <class T>
  void Write(const FlatMap<T>& map) {
    out_ += '{';
    for (const auto& [key, value] : map) {
      if (out_.back() != '{') out_ += ',';
      WriteName(key);
      Write(value);
    }
    out_ += '}';
  }
  // With apiVersion and kind first, where a kind is given.
  template <HasFields T>
  void Write(const T& value, const Kind* kind = nullptr);

  void WriteName(std::string_view name);
  std::string& out() { return out_; }

 private:
  std::string out_;
};

struct MemberWriter {
  Writer& writer;
  bool first = true;

  void Begin(std::string_view name) {
    if (!first) writer.out() += ',';
    first = false;
    writer.WriteName(name);
  }
  template <class M>
  void Always(std::string_view name, const M& member) {
    Begin(name);
    writer.Write(member);
  }
  template <class M>
  void operator()(std::string_view name, const M& member) {
    if (!IsZero(member)) Always(name, member);
  }
  // A struct without content is left out: written and taken back, which is cheaper than looking
  // twice.
  template <HasFields M>
  void operator()(std::string_view name, const M& member) {
    std::string& out = writer.out();
    const size_t before = out.size();
    const bool was_first = first;
    Begin(name);
    const size_t start = out.size();
    writer.Write(member);
    if (out.size() > start + 2) return;
    out.resize(before);
    first = was_first;
  }
};

template <HasFields T>
void Writer::Write(const T& value, const Kind* kind) {
  out_ += '{';
  MemberWriter members{*this};
  if (kind) {
    members.Always("apiVersion", kind->ApiVersion());
    members.Always("kind", kind->kind);
  }
  T::Fields(value, members);
  if constexpr (requires { value.extra; }) {
    for (const auto& [name, json] : value.extra.members) {
      members.Begin(name);
      out_ += json;
    }
  }
  out_ += '}';
}

}  // namespace sky::api::json_internal
