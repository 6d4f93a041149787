// SPDX-License-Identifier: Apache-2.0
// Every reason of the vocabulary is planted by a script of tests/scenarios/reasons-*.scn, alone and
// with a second one, and "expect JOB reasons …" there says that /diagnose names exactly these. So
// whoever adds a reason adds its scenario.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "lab/script.h"
#include "model/verdict.h"

namespace sky::lab {
namespace {

namespace fs = std::filesystem;

struct Planted {
  std::set<std::string> alone, paired;
};

// "A," "B" as the statement's words.
std::set<std::string> NamesIn(const Statement& statement) {
  std::set<std::string> names;
  for (size_t i = 2; i < statement.names.size(); ++i) {
    std::istringstream words(statement.names[i]);
    for (std::string name; std::getline(words, name, ',');)
      if (!name.empty()) names.insert(name);
  }
  return names;
}

void Collect(const fs::path& file, Planted& planted) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  const auto script = ReadScript(text.str(), file.filename().string());
  ASSERT_TRUE(script.has_value()) << script.error().message();
  for (const Statement& statement : *script) {
    if (statement.verb != "expect" || statement.names[1] != "reasons") continue;
    const std::set<std::string> names = NamesIn(statement);
    (names.size() == 1 ? planted.alone : planted.paired).insert(names.begin(), names.end());
  }
}

enum class Lacks : uint8_t { kAlone, kBoth };
struct Exception {
  model::Reason reason;
  Lacks lacks;
  std::string_view cause;
};
constexpr Exception kExceptions[] = {
    {model::Reason::kJobBlockedByJobQueue, Lacks::kAlone, "its tasks say BlockedByJobQueue"},
    {model::Reason::kBlockedByJobQueue, Lacks::kAlone, "their job says JobBlockedByJobQueue"},
    {model::Reason::kPlacementConflict, Lacks::kBoth,
     "in one thread nothing happens between a decision and its commit: Diagnoses.* has it"},
};

TEST(ReasonScripts, PlantEveryReasonAloneAndWithASecondOne) {
  Planted planted;
  int scripts = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SKY_SOURCE_DIR) / "tests" / "scenarios")) {
    const fs::path& file = entry.path();
    if (!file.filename().string().starts_with("reasons-") || file.extension() != ".scn") continue;
    ++scripts;
    Collect(file, planted);
  }
  EXPECT_GT(scripts, 0);
  for (size_t i = 1; i < static_cast<size_t>(model::Reason::kCount); ++i) {
    const auto reason = static_cast<model::Reason>(i);
    const std::string name(model::ReasonName(reason));
    bool alone = true, paired = true;
    std::string_view cause;
    for (const Exception& one : kExceptions) {
      if (one.reason != reason) continue;
      alone = false;
      paired = one.lacks == Lacks::kAlone;
      cause = one.cause;
    }
    const auto advice = [&](bool wanted) {
      return wanted ? "a script of tests/scenarios/reasons-*.scn has to plant it"
                    : "it needs no exception any more: " + std::string(cause);
    };
    EXPECT_EQ(planted.alone.contains(name), alone) << name << " alone: " << advice(alone);
    EXPECT_EQ(planted.paired.contains(name), paired)
        << name << " with a second one: " << advice(paired);
  }
}

}  // namespace
}  // namespace sky::lab
