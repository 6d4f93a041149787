// SPDX-License-Identifier: Apache-2.0
#include "lab/soak.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "lab/scenario.h"
#include "lab/soak_script.h"

namespace sky::lab {
namespace {

// A negative amount in the column IDLE, what pods leave; QUOTAIDLE may be one where a user bound
// quotas by hand.
bool Oversold(std::string_view ledgers) {
  const size_t from = ledgers.find(" IDLE"), to = ledgers.find(" QUOTAIDLE");
  const size_t start = ledgers.rfind('\n', from) + 1;
  for (size_t line = start; line < ledgers.size(); line = ledgers.find('\n', line) + 1) {
    const std::string_view row = ledgers.substr(line, ledgers.find('\n', line) - line);
    if (row.substr(std::min(from - start, row.size()), to - from).contains("=-")) return true;
  }
  return false;
}

std::vector<Statement> Read(const std::string& text) {
  auto script = ReadScript(text, "soak");
  SKY_CHECK(script.has_value(), "{}", script.error().message());
  return std::move(*script);
}

class Life {
 public:
  explicit Life(uint64_t seed)
      : script_(seed), scenario_([this](std::string_view text) { said_ += text; }) {}

  // What went wrong first; "" when nothing did.
  std::string Wrong(int steps) {
    std::string wrong = Play(script_.Events(steps));
    if (wrong.empty()) wrong = Play(script_.Mend());
    if (wrong.empty()) wrong = MustPass("calm 5\naudit\n");
    if (!wrong.empty()) return wrong;
    const std::string before = Shown("show pods\n");
    if (wrong = MustPass("kill\nstart\ntick 3m\naudit\n"); !wrong.empty()) return wrong;
    if (Shown("show pods\n") != before) return "a scheduler that starts anew goes on placing pods";
    if (wrong = Play(script_.Empty()); !wrong.empty()) return wrong;
    return MustPass(
        "leaf S3 m[0-1] gpu=8 hca=8\nquotas last-[0-1] gpu=8 hca=8 queue=a\n"
        "job last 2 gpu=8 hca=8 queue=a\ntick 2m\nexpect last placed 2\ncalm 5\naudit\n");
  }
  const std::string& played() const { return played_; }

 private:
  // Users err, so a statement may fail; nothing else may.
  std::string Play(const std::string& text) {
    for (const Statement& statement : Read(text)) {
      const std::string said = Say(statement);
      if (said.contains("ledgers differ")) return said;
      if (statement.verb != "tick") continue;
      if (const std::string ledgers = Shown("show ledgers\n"); Oversold(ledgers)) return ledgers;
    }
    return "";
  }
  std::string MustPass(const std::string& text) {
    for (const Statement& statement : Read(text))
      if (const std::string said = Say(statement); said.contains("FAILED")) return said;
    return "";
  }
  std::string Shown(const std::string& text) {
    std::string said;
    for (const Statement& statement : Read(text)) said += Say(statement);
    return said;
  }
  std::string Say(const Statement& statement) {
    said_.clear();
    scenario_.Run(statement);
    if (statement.verb != "show") {
      played_ += statement.text + "\n";
      if (!statement.body.empty()) played_ += statement.body + "END\n";
    }
    return said_;
  }

  SoakScript script_;
  std::string said_, played_;
  Scenario scenario_;
};

}  // namespace

std::optional<Broken> Soak(uint64_t seed, int steps) {
  Life life(seed);
  std::string wrong = life.Wrong(steps);
  if (wrong.empty()) return std::nullopt;
  return Broken{std::move(wrong), life.played()};
}

}  // namespace sky::lab
