// SPDX-License-Identifier: Apache-2.0
#include "framework/tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>
#include <unordered_set>

#include "framework/plain_scalar.h"

namespace sky::framework {
namespace {

Position At(const YAML::Mark& mark) {
  return {std::max(mark.line, 0) + 1, std::max(mark.column, 0) + 1};
}

Tree Leaf(Tree::Kind kind, std::string text, Position at) {
  Tree leaf;
  leaf.kind = kind;
  leaf.text = std::move(text);
  leaf.at = at;
  return leaf;
}

// Builds the tree from the parser's events. The first problem stays; what follows it is ignored.
class Builder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0)
      Refuse(At(mark), "a second document begins here; the configuration is one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (Plain(mark, anchor, "?")) Take(Leaf(Tree::Kind::kNull, {}, At(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(At(mark), "aliases are not supported here; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (!Plain(mark, anchor, tag)) return;
    Tree scalar = Leaf(Tree::Kind::kText, text, At(mark));
    const bool is_key =
        !open_.empty() && open_.back().tree.kind == Tree::Kind::kMap && !open_.back().key;
    if (tag == "?" && !is_key) {
      const PlainScalar plain = ReadPlainScalar(text);
      if (!plain.advice.empty()) return Refuse(scalar.at, plain.advice);
      scalar.kind = plain.kind;
    }
    Take(std::move(scalar));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (Plain(mark, anchor, tag)) Open(Tree::Kind::kList, At(mark));
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (Plain(mark, anchor, tag)) Open(Tree::Kind::kMap, At(mark));
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapEnd() override { Close(); }

  std::optional<Problem> problem;
  Tree root;

 private:
  struct Level {
    Tree tree;
    std::optional<TreeEntry> key;  // of a map: the key whose value comes next
    std::unordered_set<std::string> keys;
  };

  void Refuse(Position at, std::string message) {
    if (!problem) problem = Problem{at, std::move(message)};
  }

  bool Plain(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    if (anchor != YAML::NullAnchor) Refuse(At(mark), "anchors are not supported here");
    if (!tag.empty() && tag != "?" && tag != "!")
      Refuse(At(mark), "tags such as !!str are not supported here");
    return !problem;
  }

  void Open(Tree::Kind kind, Position at) {
    if (open_.size() >= kMaxTreeDepth)
      return Refuse(at, fmt::format("nested deeper than {} levels", kMaxTreeDepth));
    if (!open_.empty() && open_.back().tree.kind == Tree::Kind::kMap && !open_.back().key)
      return Refuse(at, "a key must be a word");
    Level level;
    level.tree.kind = kind;
    level.tree.at = at;
    open_.push_back(std::move(level));
  }

  void Close() {
    if (problem) return;
    Tree tree = std::move(open_.back().tree);
    open_.pop_back();
    Take(std::move(tree));
  }

  // A whole value, or a key.
  void Take(Tree tree) {
    if (problem) return;
    if (open_.empty()) {
      root = std::move(tree);
      return;
    }
    Level& level = open_.back();
    if (level.tree.kind == Tree::Kind::kList) {
      level.tree.list.push_back(std::move(tree));
    } else if (!level.key) {
      TakeKey(level, tree);
    } else {
      if (tree.kind == Tree::Kind::kNull) tree.at = level.key->at;
      level.key->value = std::move(tree);
      level.tree.map.push_back(std::move(*level.key));
      level.key.reset();
    }
  }

  void TakeKey(Level& level, const Tree& key) {
    if (key.kind != Tree::Kind::kText) return Refuse(key.at, "a key must be a word");
    if (!level.keys.insert(key.text).second) {
      const auto same = [&](const TreeEntry& entry) { return entry.key == key.text; };
      const auto first = std::find_if(level.tree.map.begin(), level.tree.map.end(), same);
      return Refuse(key.at, fmt::format("'{}' stands here a second time; the first is in line {}",
                                        key.text, first->at.line));
    }
    level.key = TreeEntry{key.text, key.at, {}};
  }

  int documents_ = 0;
  std::vector<Level> open_;
};

}  // namespace

Tree Tree::Text(std::string text) {
  Tree tree;
  tree.kind = Kind::kText;
  tree.text = std::move(text);
  return tree;
}

Tree Tree::Map(std::vector<TreeEntry> entries) {
  Tree tree;
  tree.kind = Kind::kMap;
  tree.map = std::move(entries);
  return tree;
}

const Tree* Tree::Find(std::string_view key) const {
  for (const TreeEntry& entry : map)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

bool Tree::operator==(const Tree& other) const {
  return kind == other.kind && text == other.text && list == other.list && map == other.map;
}

std::expected<Tree, Problem> ReadTree(std::string_view document) {
  if (document.size() > kMaxDocumentBytes)
    return std::unexpected(Problem{{},
                                   fmt::format("the document is {} bytes long; {} are allowed",
                                               document.size(), kMaxDocumentBytes)});
  Builder builder;
  try {
    std::istringstream stream{std::string(document)};
    YAML::Parser parser(stream);
    while (!builder.problem && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    if (!builder.problem)
      builder.problem = Problem{At(error.mark), fmt::format("this is no YAML: {}", error.msg)};
  } catch (const std::exception& error) {
    if (!builder.problem)
      builder.problem = Problem{{}, fmt::format("this is no YAML: {}", error.what())};
  }
  if (builder.problem) return std::unexpected(std::move(*builder.problem));
  return std::move(builder.root);
}

std::string Describe(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::kNull:
      return "nothing";
    case Tree::Kind::kBool:
      return tree.text;
    case Tree::Kind::kInt:
    case Tree::Kind::kDecimal:
      return "the number " + tree.text;
    case Tree::Kind::kText:
      return "'" + tree.text + "'";
    case Tree::Kind::kList:
      return "a list";
    case Tree::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

}  // namespace sky::framework
