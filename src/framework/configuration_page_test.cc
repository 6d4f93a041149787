// SPDX-License-Identifier: Apache-2.0
// docs/configuration.md says what the program does: each ```yaml block is loaded, and the ```text
// block behind it is what that says (none: not a word); its tables are the tables of the program.
// The page's scenario is run beside those of the other pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "actions/actions.h"
#include "framework/config_fields.h"
#include "framework/engine.h"
#include "plugins/all_plugins.h"

namespace sky::framework {
namespace {

using ::testing::ElementsAreArray;

const char* const kPage = SKY_SOURCE_DIR "/docs/configuration.md";

Registry Complete() {
  Registry registry;
  plugins::AddAllPlugins(registry);
  actions::AddAllActions(registry);
  return registry;
}

using Lines = std::vector<std::string>;

Lines ReadLines(const std::string& path) {
  Lines lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  EXPECT_FALSE(lines.empty()) << path;
  return lines;
}

// Errors, or else warnings, a line each; "" when it loads without a word.
std::string Says(const std::string& yaml) {
  const auto loaded = LoadConfig(yaml, "sched.yaml", Complete().Known());
  if (!loaded) return loaded.error().message() + "\n";
  std::string said;
  for (const std::string& warning : loaded->warnings) said += warning + "\n";
  if (const auto engine = Engine::Make(Complete(), loaded->config); !engine)
    said += engine.error().message() + "\n";
  return said;
}

// The page as it would read if each text block were what the YAML before it says.
std::string Rewritten(const Lines& lines, int* examples) {
  std::string page, yaml, text, *block = nullptr;
  bool told = true;  // what the last YAML said stands in the page, or it said nothing
  for (const std::string& line : lines) {
    const bool opens = block == nullptr && (line == "```yaml" || line == "```text");
    if (opens && line == "```yaml") {
      EXPECT_TRUE(told) << "says something that the page doesn't show:\n" << yaml;
      yaml.clear(), block = &yaml, ++*examples;
    } else if (opens) {
      text.clear(), block = &text;
    } else if (block != nullptr && line == "```") {
      if (block == &yaml) told = Says(yaml).empty();
      if (block == &text) page += Says(yaml), told = true;
      block = nullptr;
    } else if (block != nullptr) {
      *block += line + "\n";
      if (block == &text) continue;
    }
    page += line + "\n";
  }
  EXPECT_TRUE(told) << "says something that the page doesn't show:\n" << yaml;
  return page;
}

TEST(ConfigurationPage, EachExampleSaysWhatThePageShows) {
  int examples = 0;
  const std::string rewritten = Rewritten(ReadLines(kPage), &examples);
  EXPECT_GE(examples, 3);
  std::string page;
  for (const std::string& line : ReadLines(kPage)) page += line + "\n";
  EXPECT_EQ(rewritten, page);
}

using Row = std::vector<std::string>;

// The rows of all tables whose heading begins so, cells without blanks and backquotes.
std::vector<Row> Table(const std::string& heading) {
  std::vector<Row> rows;
  bool inside = false;
  for (const std::string& line : ReadLines(kPage)) {
    if (!line.starts_with("|")) inside = false;
    if (inside && !line.starts_with("|-")) {
      Row row;
      std::istringstream cells(line.substr(1));
      for (std::string cell; std::getline(cells, cell, '|');) {
        std::erase(cell, '`');
        const size_t first = cell.find_first_not_of(' ');
        row.push_back(first == std::string::npos
                          ? ""
                          : cell.substr(first, cell.find_last_not_of(' ') - first + 1));
      }
      rows.push_back(std::move(row));
    }
    inside = inside || line.starts_with(heading);
  }
  EXPECT_FALSE(rows.empty()) << heading;
  return rows;
}

TEST(ConfigurationPage, TheKeysAreAllThereIsWithTheirDefaults) {
  std::vector<std::string> keys, expected;
  std::string document;
  for (const Row& row : Table("| key | default |")) {
    keys.push_back(row[0]);
    // Two say "see below" and "all …"; the others are YAML.
    if (row[0] != "plugins" && row[0] != "expressions")
      document += fmt::format("{}: {}\n", row[0], row[1]);
  }
  for (const Field& field : ConfigFields()) expected.emplace_back(field.name);
  EXPECT_THAT(keys, ElementsAreArray(expected));
  const auto loaded = LoadConfig(document, "page", Complete().Known());
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message();
  EXPECT_EQ(PrintConfig(loaded->config), PrintConfig(DefaultConfig(Complete().Known())));
}

TEST(ConfigurationPage, ThePluginsAreAllThereAreWithTheirArguments) {
  const Registry registry = Complete();
  std::vector<std::string> rows, expected;
  for (const Row& row : Table("| plugin |"))
    rows.push_back(row[0] + "(" + row[1].substr(0, row[1].find(':')) + ")");
  for (const PluginConfig& plugin : DefaultConfig(registry.Known()).plugins) {
    std::string args;
    for (const ArgSpec& arg : registry.plugins.find(plugin.name)->second.args)
      args += (args.empty() ? "" : ", ") + arg.name;
    expected.push_back(plugin.name + "(" + args + ")");
  }
  EXPECT_THAT(rows, ElementsAreArray(expected));
}

TEST(ConfigurationPage, TheOperatorsFitWhatTheTableSays) {
  const std::vector<Row> rows = Table("| operator |");
  ASSERT_EQ(rows.size(), expr::kOpCount);
  for (size_t op = 0; op < rows.size(); ++op) {
    EXPECT_EQ(rows[op][0], expr::OpName(static_cast<expr::Op>(op)));
    ASSERT_EQ(rows[op].size(), expr::kTypeCount + 1);
    for (size_t type = 0; type < expr::kTypeCount; ++type)
      EXPECT_EQ(!rows[op][type + 1].empty(),
                expr::Fits(static_cast<expr::Op>(op), static_cast<expr::Type>(type)))
          << rows[op][0] << " " << expr::TypeName(static_cast<expr::Type>(type));
  }
}

TEST(ConfigurationPage, TheCallbacksAreAllThereAreWithTheirDefaultsAndWhoAnswers) {
  std::vector<std::string> rows, expected;
  for (const Row& row : Table("| callback |"))
    rows.push_back(fmt::format("{} {} {}: {}", row[0], row[1], row[2], row[3]));
  const Registry registry = Complete();
  for (const Callback& callback : AllCallbacks()) {
    std::vector<std::string> who;
    for (const PluginConfig& plugin : DefaultConfig(registry.Known()).plugins)
      if (const auto& all = registry.plugins.find(plugin.name)->second.callbacks;
          std::ranges::count(all, callback.name) > 0)
        who.push_back(plugin.name);
    expected.push_back(fmt::format("{} {} {}: {}", callback.name, expr::TypeName(callback.type),
                                   callback.expression, fmt::join(who, ", ")));
  }
  EXPECT_THAT(rows, ElementsAreArray(expected));
}

}  // namespace
}  // namespace sky::framework
