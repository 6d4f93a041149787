// SPDX-License-Identifier: Apache-2.0
#include "lab/script.h"

#include <algorithm>

#include "base/nearest.h"
#include "testing/words.h"

namespace sky::lab {
namespace {

using Body = ScriptVerb::Body;

const std::vector<std::string_view> kNodeKeys = {"spec", "label", "taint", "index"};
const std::vector<std::string_view> kGroupKeys = {"min",   "queue",   "priority",
                                                  "zones", "attract", "ns"};
const std::vector<std::string_view> kGroupFlags = {"strict", "off", "pack"};
const std::vector<std::string_view> kPodKeys = {"role",  "required",  "select",  "hostport",
                                                "run",   "scheduler", "attract", "ns",
                                                "label", "owner"};

std::vector<std::string_view> Join(std::vector<std::string_view> a,
                                   const std::vector<std::string_view>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr const char* kShown =
    "quotas|reserved|pods|nodes|volumes|ledgers [all]|placements|groups|queues|events";

constexpr const char* kPod =
    "NAME AMOUNTS [group=] [node=] [quota=] [role=] [required=] [select=k:v] [label=k:v] "
    "[owner=SET] [hostport=] [scheduler=] [attract=KEY] [run=DURATION] [ns=] [gated]";
constexpr const char* kExpected =
    "POD on NODES | POD waits [REASON] | JOB placed N | JOB waits [REASON] | "
    "JOB reasons MAIN[, REASON] | quota NAME on NODES | quota NAME free";

std::vector<ScriptVerb> MakeVerbs() {
  return {
      {"leaf",
       "SWITCH[,SWITCH] NODES AMOUNTS [net=ib] [spec=] [label=k:v] [taint=k] [index=]",
       2,
       2,
       Join({"net"}, kNodeKeys),
       {},
       true},
      {"nodes", "NODES AMOUNTS [spec=] [label=k:v] [taint=k] [index=]", 1, 1, kNodeKeys, {}, true},
      {"queue",
       "NAME [weight=] [priority=] [parent=] [CAPABILITY]",
       1,
       1,
       {"weight", "priority", "parent"},
       {},
       true},
      {"quotas",
       "NAMES AMOUNTS [queue=] [spec=] [static=NODE] [shared=QUEUES] [node=]",
       1,
       1,
       {"queue", "spec", "static", "shared", "node"},
       {},
       true},
      {"group",
       "NAME min=N [queue=] [priority=CLASS] [zones=] [attract=KEY] [ns=] [strict|off] [pack]", 1,
       1, kGroupKeys, kGroupFlags},
      {"job", "NAME N AMOUNTS [a group's words] [a pod's words] [nogroup]", 2, 2,
       Join(kGroupKeys, kPodKeys), Join({"nogroup", "gated"}, kGroupFlags), true},
      {"pod", kPod, 1, 1, Join({"group", "node", "quota"}, kPodKeys), {"gated"}, true},
      {"apply", "[refused] <<END … END", 0, 1, {}, {}, false, Body::kRequired},
      {"delete", "KIND NAMES [ns=] [now]", 2, 2, {"ns"}, {"now"}},
      {"patch", "KIND NAME [status] {JSON}", 0, 0, {}, {}, false, Body::kNone, true},
      {"cordon", "NODES", 1, 1, {}, {}},
      {"uncordon", "NODES", 1, 1, {}, {}},
      {"fail", "NODES", 1, 1, {}, {}},
      {"return", "NODES", 1, 1, {}, {}},
      {"finish", "PODS [ns=]", 1, 1, {"ns"}, {}},
      {"fail-pod", "PODS [ns=] [reason=]", 1, 1, {"ns", "reason"}, {}},
      {"cycle", "[N]", 0, 1, {}, {}},
      {"tick", "DURATION", 1, 1, {}, {}},
      {"step", "[N]", 0, 1, {}, {}},
      {"calm", "[N]", 0, 1, {}, {}},
      {"kill", "", 0, 0, {}, {}},
      {"start", "", 0, 0, {}, {}},
      {"config", "<<END … END", 0, 0, {}, {}, false, Body::kRequired},
      {"cut", "", 0, 0, {}, {}},
      {"compact", "", 0, 0, {}, {}},
      {"fault", "<<END … END", 0, 0, {}, {}, false, Body::kRequired},
      {"mend", "", 0, 0, {}, {}},
      {"fresh", "", 0, 0, {}, {}},
      {"show", kShown, 1, 2, {}, {}},
      {"why", "JOB|POD [ns=]", 1, 1, {"ns"}, {}},
      {"diagnose", "JOB|POD [ns=]", 1, 1, {"ns"}, {}},
      {"audit", "", 0, 0, {}, {}},
      {"expect", kExpected, 2, 8, {"ns"}, {}},
  };
}

const ScriptVerb* FindVerb(std::string_view name) {
  for (const ScriptVerb& verb : ScenarioVerbs())
    if (verb.name == name) return &verb;
  return nullptr;
}

std::vector<std::string_view> SplitWords(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string_view::npos ? std::string_view()
                                         : text.substr(first, last - first + 1);
}

// A "#" that begins a word begins a comment, but not inside a patch's JSON.
std::string_view WithoutComment(std::string_view line) {
  if (line.starts_with("patch ")) return line;
  for (size_t at = 0; at < line.size(); ++at)
    if (line[at] == '#' && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '\t'))
      return line.substr(0, at);
  return line;
}

Status CheckPair(const ScriptVerb& verb, std::string_view word, size_t equals) {
  const std::string_view key = word.substr(0, equals);
  if (std::ranges::find(verb.keys, key) != verb.keys.end()) return {};
  const auto words = testing::ReadWords(word);
  if (!words) return Fail(Code::kInvalid, "{}", words.error().message());
  if (verb.amounts && !words->amounts.empty()) return {};
  return Fail(Code::kInvalid, "{} doesn't know the word \"{}\"{}; it takes: {}", verb.name, key,
              DidYouMean(key, verb.keys), verb.usage);
}

Status Sort(const ScriptVerb& verb, const std::vector<std::string_view>& words,
            Statement& statement) {
  for (size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const size_t equals = word.find('=');
    const bool flag = std::ranges::find(verb.flags, word) != verb.flags.end();
    if (equals != std::string_view::npos) {
      TRY(CheckPair(verb, word, equals));
    } else if (!flag) {
      if (statement.names.size() == verb.most)
        return Fail(Code::kInvalid, "{} doesn't know what \"{}\" means here{}; it takes: {}",
                    verb.name, word, DidYouMean(word, verb.flags), verb.usage);
      statement.names.emplace_back(word);
      continue;
    }
    statement.words += fmt::format("{}{}", statement.words.empty() ? "" : " ", word);
  }
  if (statement.names.size() < verb.least)
    return Fail(Code::kInvalid, "{} needs more words: {} {}", verb.name, verb.name, verb.usage);
  return {};
}

// The line's statement, and the word that ends its body ("" without one).
Result<std::string> ReadLine(std::string_view line, Statement& statement) {
  std::string end;
  if (const size_t mark = line.find("<<"); mark != std::string_view::npos) {
    end = Trim(line.substr(mark + 2));
    line = Trim(line.substr(0, mark));
    if (end.empty()) return Fail(Code::kInvalid, "a body is written <<END, its lines, END");
  }
  const std::vector<std::string_view> words = SplitWords(line);
  const ScriptVerb* verb = words.empty() ? nullptr : FindVerb(words[0]);
  if (verb == nullptr) {
    std::vector<std::string_view> names;
    for (const ScriptVerb& known : ScenarioVerbs()) names.push_back(known.name);
    return Fail(Code::kInvalid, "unknown statement \"{}\"{}; there are: {}",
                words.empty() ? "" : words[0], DidYouMean(words.empty() ? "" : words[0], names),
                fmt::join(names, ", "));
  }
  statement.verb = verb->name;
  statement.rest = Trim(line.substr(words[0].size()));
  if (verb->body == Body::kRequired && end.empty())
    return Fail(Code::kInvalid, "{} needs a body: {} {}", verb->name, verb->name, verb->usage);
  if (verb->body == Body::kNone && !end.empty())
    return Fail(Code::kInvalid, "{} takes no body: {} {}", verb->name, verb->name, verb->usage);
  if (!verb->free_text) TRY(Sort(*verb, words, statement));
  return end;
}

}  // namespace

std::span<const ScriptVerb> ScenarioVerbs() {
  static const std::vector<ScriptVerb> kVerbs = MakeVerbs();
  return kVerbs;
}

Result<std::vector<Statement>> ReadScript(std::string_view text, std::string_view origin) {
  std::vector<Statement> statements;
  std::string end;  // of the body that is being read
  int line_number = 0;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, newline);
    text.remove_prefix(std::min(newline + 1, text.size()));
    ++line_number;
    if (!end.empty()) {
      if (Trim(raw) == end)
        end.clear();
      else
        statements.back().body += std::string(raw) + "\n";
      continue;
    }
    const std::string_view line = Trim(WithoutComment(Trim(raw)));
    if (line.empty()) continue;
    Statement statement;
    statement.line = line_number;
    statement.text = line;
    end = TRY(ReadLine(line, statement), "{}:{}", origin, line_number);
    statements.push_back(std::move(statement));
  }
  if (!end.empty())
    return Fail(Code::kInvalid, "{}:{}: the body has no end: write {} on a line of its own", origin,
                statements.back().line, end);
  return statements;
}

}  // namespace sky::lab
