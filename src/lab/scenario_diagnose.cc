// SPDX-License-Identifier: Apache-2.0
// "diagnose JOB" and "expect JOB reasons A, B": what GET /diagnose/job/NAMESPACE/NAME answers.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/nearest.h"
#include "lab/scenario.h"
#include "model/verdict.h"

namespace sky::lab {
namespace {

Result<Json> AskFor(Simulation& simulation, const std::string& ns, const std::string& name) {
  if (simulation.scheduler() == nullptr)
    return Fail(Code::kInvalid, "the scheduler doesn't run: it answers /diagnose");
  return ParseJson(TRY(simulation.scheduler()->diagnoses().Answer(ns, name)));
}

// "4", "8 gpu": a number stands alone, or as text beside its resource.
std::string Amount(const Json& amount) {
  return amount.is_string() ? amount.get<std::string>() : amount.dump();
}

// "InsufficientIdle 3 (8 of nvidia.com/gpu wanted, 4 there, never)"
std::string ReasonText(const Json& reason) {
  std::string text = TextAt(reason, {"reason"});
  if (const auto count = IntAt(reason, {"count"})) text += fmt::format(" {}", *count);
  std::vector<std::string> more;
  if (const Json* wanted = Find(reason, {"wanted"})) {
    const std::string resource = TextAt(reason, {"resource"});
    more.push_back(
        fmt::format("{}{} wanted", Amount(*wanted), resource.empty() ? "" : " " + resource));
    if (const Json* have = Find(reason, {"have"})) more.push_back(Amount(*have) + " there");
  }
  if (BoolAt(reason, {"never"})) more.emplace_back("never");
  return more.empty() ? text : fmt::format("{} ({})", text, fmt::join(more, ", "));
}

// "w-0, w-1 and 14 more"
std::string TasksText(const Json& tasks) {
  constexpr size_t kShown = 2;
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(tasks.size(), kShown); ++i) names.push_back(tasks[i]);
  const size_t more = tasks.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string LadderText(const Json& ladder) {
  std::vector<std::string> rungs;
  for (const Json& rung : ladder)
    if (const std::string state = TextAt(rung, {"state"}); state != "notReached")
      rungs.push_back(fmt::format("{} {}", TextAt(rung, {"step"}), state));
  return fmt::format("{}", fmt::join(rungs, ", "));
}

// The deciding one first, then all others that stand beside it, for whichever task, by name.
std::vector<std::string> ReasonsOf(const Json& answer) {
  std::vector<std::string> reasons;
  const std::string main = TextAt(answer, {"reason"});
  for (const Json& tasks : answer.at("waits"))
    for (const Json& reason : tasks.at("reasons")) reasons.push_back(TextAt(reason, {"reason"}));
  std::erase(reasons, main);
  std::ranges::sort(reasons);
  reasons.erase(std::ranges::unique(reasons).begin(), reasons.end());
  if (!main.empty()) reasons.insert(reasons.begin(), main);
  return reasons;
}

// "A, B" as it stands in the script: of the vocabulary, each once.
Result<std::vector<std::string>> ReadReasons(std::span<const std::string> words) {
  std::vector<std::string> known;
  for (size_t i = 1; i < static_cast<size_t>(model::Reason::kCount); ++i)
    known.emplace_back(model::ReasonName(static_cast<model::Reason>(i)));
  std::vector<std::string> reasons;
  for (const std::string& word : words)
    for (std::string_view left = word; !left.empty();) {
      const size_t comma = std::min(left.find(','), left.size());
      if (comma > 0) reasons.emplace_back(left.substr(0, comma));
      left.remove_prefix(std::min(comma + 1, left.size()));
    }
  for (const std::string& reason : reasons) {
    if (std::ranges::find(known, reason) == known.end())
      return Fail(Code::kInvalid, "no reason is called \"{}\"{}", reason,
                  DidYouMean(reason, known));
    if (std::ranges::count(reasons, reason) > 1)
      return Fail(Code::kInvalid, "{} stands there twice", reason);
  }
  if (reasons.empty()) return Fail(Code::kInvalid, "expect JOB reasons A, B: the main one first");
  return reasons;
}

}  // namespace

Scenario::Answer Scenario::Diagnose(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  const std::string& name = statement.names[0];
  const Json answer = TRY(AskFor(*simulation_, words.Or("ns", "default"), name));
  const std::string reason = TextAt(answer, {"reason"}), message = TextAt(answer, {"message"});
  std::string text = fmt::format("{} {}", name, TextAt(answer, {"state"}));
  if (!reason.empty()) text += fmt::format(": {}{}", reason, message.empty() ? "" : ": " + message);
  text += fmt::format("\n  {}\n", LadderText(answer.at("ladder")));
  for (const Json& tasks : answer.at("waits")) {
    std::vector<std::string> reasons;
    for (const Json& one : tasks.at("reasons")) reasons.push_back(ReasonText(one));
    if (const std::string other = TextAt(tasks, {"waitsFor"}); !other.empty())
      reasons.push_back("waits for " + other);
    text += fmt::format("  {}: {}\n", TasksText(tasks.at("tasks")), fmt::join(reasons, ", "));
  }
  return text;
}

// Exactly these, the main one first; the order of the others says nothing.
Status Scenario::ExpectReasons(const std::string& ns, const std::string& name,
                               std::span<const std::string> wanted) {
  std::vector<std::string> reasons = TRY(ReadReasons(wanted));
  std::sort(reasons.begin() + 1, reasons.end());
  const std::vector<std::string> has = ReasonsOf(TRY(AskFor(*simulation_, ns, name)));
  if (has == reasons) return {};
  return Fail(
      Code::kConflict, "{} has {}", name,
      has.empty() ? "no reason to wait" : fmt::format("the reasons {}", fmt::join(has, ", ")));
}

}  // namespace sky::lab
