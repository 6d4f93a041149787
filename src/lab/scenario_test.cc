// SPDX-License-Identifier: Apache-2.0
// Every script in tests/scenarios, one test a file: what it prints is the .out beside it, and
// nothing in it fails. Every page in docs/ with ```console blocks too: their "> " lines are one
// script, and the blocks show what it prints. SKY_UPDATE=1 in the environment writes both anew.
#include "lab/scenario.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace sky::lab {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool Updating() {
  const char* update = std::getenv("SKY_UPDATE");
  return update != nullptr && *update == '1';
}

void WriteAll(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// What a statement printed, with its body, which a script's output leaves out and a page shows.
std::string WithBody(const std::string& output, const Statement& statement) {
  const size_t mark = statement.text.find("<<"), first = output.find('\n');
  if (statement.body.empty() || mark == std::string::npos) return output;
  std::string body, line;
  std::istringstream lines(statement.body);
  while (std::getline(lines, line)) body += "> " + line + "\n";
  return output.substr(0, first + 1) + body + "> " + statement.text.substr(mark + 2) + "\n" +
         output.substr(first + 1);
}

// A page as it would read if its blocks showed what their statements print now.
Result<std::string> RunPage(const std::string& page, const std::string& origin, int* failures) {
  std::string script, line;
  std::istringstream lines(page);
  std::vector<size_t> lines_in;  // of script, a block
  bool inside = false;
  while (std::getline(lines, line)) {
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
      if (inside) lines_in.push_back(0);
    } else if (inside && line.starts_with("> ")) {
      script += line.substr(2) + "\n";
      ++lines_in.back();
    }
  }
  std::string output;
  Scenario scenario([&](std::string_view piece) { output += piece; });
  std::vector<std::string> blocks(lines_in.size());
  size_t block = 0, done = 0;
  for (const Statement& statement : TRY(ReadScript(script, origin))) {
    while (done == lines_in[block]) ++block, done = 0;
    if (!scenario.Run(statement)) ++*failures;
    blocks[block] += WithBody(std::exchange(output, {}), statement);
    ++done;
    if (!statement.body.empty())
      done += static_cast<size_t>(std::ranges::count(statement.body, '\n')) + 1;
  }
  std::string rewritten;
  std::istringstream again(page);
  for (block = 0, inside = false; std::getline(again, line);) {
    const bool fence = line.starts_with("```");
    if (!inside || fence) rewritten += line + "\n";
    if (!fence) continue;
    inside = !inside && line == "```console";
    if (inside) rewritten += blocks[block++];
  }
  return rewritten;
}

class ScenarioPage : public ::testing::Test {
 public:
  explicit ScenarioPage(fs::path page) : page_(std::move(page)) {}
  void TestBody() override {
    const std::string page = ReadAll(page_);
    int failures = 0;
    const auto rewritten = RunPage(page, page_.filename().string(), &failures);
    ASSERT_TRUE(rewritten.has_value()) << rewritten.error().message();
    if (Updating()) WriteAll(page_, *rewritten);
    EXPECT_EQ(*rewritten, ReadAll(page_));
    EXPECT_EQ(failures, 0);
  }

 private:
  const fs::path page_;
};

// Where everything is when a script has ended, however it got there.
std::string EndOf(Scenario& scenario, std::string& output) {
  const auto look = ReadScript(
      "tick 45s\nshow pods\nshow quotas\nshow groups\nshow placements\nshow ledgers all\naudit\n"
      "calm 3\n",
      "the end");
  output.clear();
  for (const Statement& statement : *look) scenario.Run(statement);
  return output;
}

bool IsFieldCase(const fs::path& script) {
  const std::string name = script.stem().string();
  return name.size() > 3 && name[0] == 'b' && std::isdigit(static_cast<unsigned char>(name[1]));
}

// Those that say why a job waits make many small clusters, and aren't about commits either.
bool IsAboutReasons(const fs::path& script) {
  return script.stem().string().starts_with("reasons-");
}

// What a script prints, what failed, and with `ends` where everything is at the end of each cluster
// that it makes.
struct Played {
  std::string output;
  std::vector<std::string> ends;
  int failures = 0;
};
Played RunAll(const std::vector<Statement>& script, bool ends,
              std::optional<framework::CommitOrder> order = {}) {
  Played run;
  std::string piece;
  Scenario scenario([&](std::string_view text) { piece += text; }, order);
  const auto end = [&] {
    if (ends) run.ends.push_back(EndOf(scenario, piece));
    piece.clear();
  };
  for (const Statement& statement : script) {
    if (statement.verb == "fresh") end();
    if (!scenario.Run(statement)) ++run.failures;
    run.output += std::exchange(piece, {});
  }
  end();
  return run;
}

class ScenarioScript : public ::testing::Test {
 public:
  explicit ScenarioScript(fs::path script) : script_(std::move(script)) {}
  void TestBody() override {
    const auto script = ReadScript(ReadAll(script_), script_.filename().string());
    ASSERT_TRUE(script.has_value()) << script.error().message();
    // The order of a commit says what people see first, never where anything ends. Field cases
    // ("b07-groups") are many and slow, and most aren't about commits.
    const Played run = RunAll(*script, !IsFieldCase(script_));
    EXPECT_EQ(run.failures, 0) << run.output;
    const fs::path golden = fs::path(script_).replace_extension(".out");
    if (Updating()) WriteAll(golden, run.output);
    EXPECT_EQ(run.output, ReadAll(golden))
        << "when the new output is right: SKY_UPDATE=1 lab_test --gtest_filter='Scenarios.*'";
    for (const std::string& end : run.ends)
      EXPECT_NE(end.find("> calm 3\ncalm\n"), std::string::npos) << end;
    if (!run.ends.empty() && !IsAboutReasons(script_)) {
      EXPECT_EQ(RunAll(*script, true, framework::CommitOrder::kQuotaFirst).ends, run.ends)
          << "in quotaFirst";
    }
  }

 private:
  const fs::path script_;
};

std::vector<fs::path> FilesIn(const char* folder, const char* extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(SKY_SOURCE_DIR) / folder))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

template <class Test>
void Register(const char* suite, const fs::path& path) {
  std::string name = path.stem().string();
  std::ranges::replace(name, '-', '_');
  ::testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [path]() -> ::testing::Test* { return new Test(path); });
}

// Registered before main: a script is a test as soon as its file is there.
[[maybe_unused]] const bool kRegistered = [] {
  for (const fs::path& script : FilesIn("tests/scenarios", ".scn")) {
    Register<ScenarioScript>("Scenarios", script);
  }
  for (const fs::path& page : FilesIn("docs", ".md"))
    if (ReadAll(page).find("\n```console\n> ") != std::string::npos)
      Register<ScenarioPage>("Docs", page);
  return true;
}();

}  // namespace
}  // namespace sky::lab
