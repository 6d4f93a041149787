// SPDX-License-Identifier: Apache-2.0
#include "api/json.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "api/json_codec.h"
#include "base/clock.h"

namespace sky::api {
namespace {

using simdjson::dom::element_type;

constexpr size_t kKeptBufferBytes = 4 << 20;

std::string_view TypeName(simdjson::dom::element element) {
  switch (element.type()) {
    case element_type::ARRAY:
      return "a list";
    case element_type::OBJECT:
      return "an object";
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
      return "a number";
    case element_type::STRING:
      return "a text";
    case element_type::BOOL:
      return "a boolean";
    case element_type::NULL_VALUE:
      return "null";
  }
  return "something else";
}

// How many bytes at the start of `text` make one UTF-8 character; 0 when they make none.
size_t CharacterLength(std::string_view text) {
  const size_t longest = std::min<size_t>(text.size(), 4);
  for (size_t length = 1; length <= longest; ++length) {
    if (simdjson::validate_utf8(text.data(), length)) return length;
  }
  return 0;
}

void AppendQuoted(std::string_view text, std::string& out) {
  const bool clean = simdjson::validate_utf8(text.data(), text.size());
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && static_cast<unsigned char>(text[plain]) >= 0x20 &&
           text[plain] != '"' && text[plain] != '\\' &&
           (clean || static_cast<unsigned char>(text[plain]) < 0x80)) {
      ++plain;
    }
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    size_t taken = 1;
    switch (const char c = text.front()) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
        } else if (const size_t length = CharacterLength(text)) {
          out += text.substr(0, length);
          taken = length;
        } else {
          out += "\xEF\xBF\xBD";
        }
    }
    text.remove_prefix(taken);
  }
  out += '"';
}

}  // namespace

std::string Quote(std::string_view text) {
  std::string out;
  out.reserve(text.size() + 2);
  AppendQuoted(text, out);
  return out;
}

namespace json_internal {

Result<Element> Parse(std::string_view json) {
  struct Scratch {
    simdjson::dom::parser parser;
    std::string padded;
  };
  static thread_local std::unique_ptr<Scratch> scratch;
  if (!scratch || scratch->padded.capacity() > kKeptBufferBytes)
    scratch = std::make_unique<Scratch>();
  std::string& padded = scratch->padded;
  padded.reserve(json.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(json);
  padded.append(simdjson::SIMDJSON_PADDING, '\0');
  Element root;
  const auto error = scratch->parser.parse(padded.data(), json.size(), false).get(root);
  if (error) return Fail(Code::kInvalid, "not a JSON document: {}", simdjson::error_message(error));
  return root;
}

std::string Where::ToString() const {
  if (!parent) return {};
  std::string path = parent->ToString();
  if (is_index) return fmt::format("{}[{}]", path, index);
  const bool plain = !name.empty() && name.find_first_of("./[]") == std::string_view::npos;
  if (!plain) return fmt::format("{}[{}]", path, name);
  return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

bool Reader::Fail(const Where& at, std::string_view what) {
  const std::string path = at.ToString();
  error_ = path.empty() ? std::string(what) : fmt::format("{}: {}", path, what);
  return false;
}

bool Reader::FailType(const Where& at, std::string_view wanted, Element got) {
  return Fail(at, fmt::format("{} is wanted, got {}", wanted, TypeName(got)));
}

bool Reader::CheckKind(Element root, const Kind& kind) {
  const auto check = [&](std::string_view name, std::string_view wanted) {
    Element member;
    if (root[name].get(member) || member.is_null()) return true;
    const Where here{};
    const Where at{.parent = &here, .name = name};
    std::string got;
    if (!Read(member, at, got)) return false;
    return got == wanted || Fail(at, fmt::format("\"{}\" is wanted, got \"{}\"", wanted, got));
  };
  return check("kind", kind.kind) && check("apiVersion", kind.ApiVersion());
}

std::string Reader::Raw(Element in) { return simdjson::minify(in); }

bool Reader::Read(Element in, const Where& at, std::string& out) {
  std::string_view text;
  if (in.get(text)) return FailType(at, "a text", in);
  out.assign(text);
  return true;
}

bool Reader::Read(Element in, const Where& at, bool& out) {
  return in.get(out) ? FailType(at, "a boolean", in) : true;
}

bool Reader::Read(Element in, const Where& at, int64_t& out) {
  if (!in.get(out)) return true;
  // A server may hand 3 out as 3.0; beyond 2^53 a double no longer says which integer was meant.
  constexpr double kExact = 9007199254740992.0;
  double number = 0;
  if (in.get(number)) return FailType(at, "an integer", in);
  if (std::trunc(number) != number)
    return Fail(at, fmt::format("an integer is wanted, got {}", number));
  if (std::abs(number) > kExact) return Fail(at, "the number is out of range");
  out = static_cast<int64_t>(number);
  return true;
}

bool Reader::Read(Element in, const Where& at, int32_t& out) {
  int64_t wide = 0;
  if (!Read(in, at, wide)) return false;
  if (wide < std::numeric_limits<int32_t>::min() || wide > std::numeric_limits<int32_t>::max())
    return Fail(at, fmt::format("{} is out of range", wide));
  out = static_cast<int32_t>(wide);
  return true;
}

bool Reader::Read(Element in, const Where& at, Quantity& out) {
  std::string_view text;
  std::string number;
  if (in.is_number()) {
    text = number = Raw(in);
  } else if (in.get(text)) {
    return FailType(at, "a quantity", in);
  }
  // Kubernetes trims blanks in JSON, and only there.
  constexpr std::string_view kBlanks = " \t\n\r\v\f";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  auto quantity = Quantity::Parse(text);
  if (!quantity) return Fail(at, quantity.error().message());
  out = *quantity;
  return true;
}

bool Reader::ReadTime(Element in, const Where& at, std::optional<WallTime>& out) {
  std::string_view text;
  if (in.get(text)) return FailType(at, "a time", in);
  auto time = ParseTime(text);
  if (!time) return Fail(at, time.error().message());
  out = *time;
  return true;
}

bool Reader::Read(Element in, const Where& at, Time& out) { return ReadTime(in, at, out.at); }
bool Reader::Read(Element in, const Where& at, MicroTime& out) { return ReadTime(in, at, out.at); }

bool Reader::Read(Element in, const Where& at, IntOrString& out) {
  int64_t number = 0;
  out.is_int = in.is_number();
  if (!out.is_int)
    return in.is_string() ? Read(in, at, out.text) : FailType(at, "an integer or a text", in);
  if (!Read(in, at, number)) return false;
  out.text = std::to_string(number);
  return true;
}

void Writer::Write(std::string_view text) { AppendQuoted(text, out_); }

void Writer::WriteName(std::string_view name) {
  AppendQuoted(name, out_);
  out_ += ':';
}

void Writer::Write(int64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }

void Writer::Write(const Time& value) {
  value.at ? Write(FormatTime(*value.at)) : void(out_ += "null");
}

void Writer::Write(const MicroTime& value) {
  value.at ? Write(FormatMicroTime(*value.at)) : void(out_ += "null");
}

void Writer::Write(const IntOrString& value) {
  value.is_int ? void(out_ += value.text) : Write(value.text);
}

}  // namespace json_internal
}  // namespace sky::api
