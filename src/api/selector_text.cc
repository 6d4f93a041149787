// SPDX-License-Identifier: Apache-2.0
// The texts that queries carry: label and field selectors.
#include <algorithm>
#include <optional>

#include "api/selectors.h"

namespace sky::api {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kSymbols = "=!(),<>";

// Cuts a label selector into words and symbols.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) { Next(); }

  std::string_view now() const { return now_; }
  bool AtEnd() const { return now_.empty(); }
  bool AtWord() const { return !AtEnd() && kSymbols.find(now_.front()) == std::string_view::npos; }
  bool Take(std::string_view token) {
    if (now_ != token) return false;
    Next();
    return true;
  }
  std::optional<std::string> TakeWord() {
    if (!AtWord()) return std::nullopt;
    std::string word(now_);
    Next();
    return word;
  }

 private:
  void Next() {
    text_.remove_prefix(std::min(text_.find_first_not_of(kBlanks), text_.size()));
    size_t length = 0;
    if (text_.starts_with("!=") || text_.starts_with("==")) {
      length = 2;
    } else if (!text_.empty() && kSymbols.find(text_.front()) != std::string_view::npos) {
      length = 1;
    } else {
      while (length < text_.size() && kBlanks.find(text_[length]) == std::string_view::npos &&
             kSymbols.find(text_[length]) == std::string_view::npos)
        ++length;
    }
    now_ = text_.substr(0, length);
    text_.remove_prefix(length);
  }

  std::string_view text_, now_;
};

std::unexpected<Error> Unexpected(const Tokens& tokens, std::string_view wanted) {
  return Fail(Code::kInvalid, "{} is wanted, got {}", wanted,
              tokens.AtEnd() ? "the end" : fmt::format("\"{}\"", tokens.now()));
}

// "(a,,b)": values may be empty.
Result<std::vector<std::string>> ParseValues(Tokens& tokens) {
  std::vector<std::string> values;
  if (!tokens.Take("(")) return Unexpected(tokens, "\"(\"");
  do {
    std::string value = tokens.TakeWord().value_or("");
    if (std::ranges::find(values, value) == values.end()) values.push_back(std::move(value));
  } while (tokens.Take(","));
  if (!tokens.Take(")")) return Unexpected(tokens, "\",\" or \")\"");
  return values;
}

Result<SelectorRequirement> ParseRequirement(Tokens& tokens) {
  const bool absent = tokens.Take("!");
  std::optional<std::string> key = tokens.TakeWord();
  if (!key) return Unexpected(tokens, "a label's name");
  if (tokens.AtEnd() || tokens.now() == ",")
    return SelectorRequirement{*std::move(key), absent ? "DoesNotExist" : "Exists", {}};
  if (absent) return Unexpected(tokens, "\",\" or the end");
  if (tokens.Take("in"))
    return SelectorRequirement{*std::move(key), "In", TRY(ParseValues(tokens))};
  if (tokens.Take("notin"))
    return SelectorRequirement{*std::move(key), "NotIn", TRY(ParseValues(tokens))};
  const bool unequal = tokens.Take("!=");
  if (!unequal && !tokens.Take("==") && !tokens.Take("="))
    return Unexpected(tokens, "=, ==, !=, in or notin");
  return SelectorRequirement{
      *std::move(key), unequal ? "NotIn" : "In", {tokens.TakeWord().value_or("")}};
}

Result<LabelSelector> ParseRequirements(std::string_view text) {
  LabelSelector selector;
  Tokens tokens(text);
  if (tokens.AtEnd()) return selector;
  do {
    selector.match_expressions.push_back(TRY(ParseRequirement(tokens)));
  } while (tokens.Take(","));
  if (!tokens.AtEnd()) return Unexpected(tokens, "\",\" or the end");
  TRY(ValidateLabelSelector(selector));
  return selector;
}

// Where the first unescaped comma stands, else the end.
size_t TermLength(std::string_view text) {
  size_t i = 0;
  while (i < text.size() && text[i] != ',') i += text[i] == '\\' ? 2 : 1;
  return std::min(i, text.size());
}

Result<std::string> Unescape(std::string_view text) {
  std::string value;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '=') return Fail(Code::kInvalid, "\"=\" in a value is written \"\\=\"");
    if (text[i] == '\\') {
      ++i;
      if (i == text.size() || std::string_view("\\,=").find(text[i]) == std::string_view::npos)
        return Fail(Code::kInvalid, "only \\\\, \\, and \\= are escapes in a value");
    }
    value += text[i];
  }
  return value;
}

Result<FieldTerm> ParseFieldTerm(std::string_view term) {
  FieldTerm out;
  const size_t equal = term.find('=');
  if (equal == std::string_view::npos)
    return Fail(Code::kInvalid, "\"{}\" has no =, == or !=", term);
  const size_t start = equal > 0 && term[equal - 1] == '!' ? equal - 1 : equal;
  out.equal = start == equal;
  out.path = term.substr(0, start);
  if (out.path.empty()) return Fail(Code::kInvalid, "\"{}\" names no field", term);
  term.remove_prefix(equal + 1);
  if (out.equal && term.starts_with('=')) term.remove_prefix(1);
  out.value = TRY(Unescape(term), "{}", out.path);
  return out;
}

}  // namespace

Result<LabelSelector> ParseLabelSelector(std::string_view text) {
  return TRY(ParseRequirements(text), "label selector \"{}\"", text);
}

Result<std::vector<FieldTerm>> ParseFieldSelector(std::string_view text) {
  std::vector<FieldTerm> terms;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view term = rest.substr(0, TermLength(rest));
    rest.remove_prefix(std::min(term.size() + 1, rest.size()));
    if (!term.empty()) terms.push_back(TRY(ParseFieldTerm(term), "field selector \"{}\"", text));
  }
  return terms;
}

}  // namespace sky::api
