// SPDX-License-Identifier: Apache-2.0
// The parts that hops and sessions are made of: callbacks of one kind with the expression that
// combines them, what a predicate says it reads, and the answers that are kept because of that.
// Used on the scheduling thread only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "expr/program.h"
#include "model/types.h"
#include "model/verdict.h"

namespace sky::framework {

// What a predicate's answer depends on (F50). The framework keeps an answer only as long as
// everything declared stays the same; a predicate that declares nothing is asked every time.
enum class Reads : uint8_t {
  kUndeclared,   // never cached
  kNodeStatic,   // the subject's class and the node's labels, taints, readiness, cordon: cached by
                 // both
  kNodeDynamic,  // live counters of the node or quota: asked every time, it is cheap
  kRelational,   // what stands on other nodes too: asked every time, left out of what is kept
};

// Callbacks of one kind, in the order in which plugins are configured.
template <class Fn>
struct Stage {
  struct Entry {
    std::string plugin;
    Fn fn;
  };
  std::vector<Entry> entries;
  expr::Program program;

  explicit Stage(expr::Type type) : program(type) {}
  void Add(std::string plugin, Fn fn) { entries.push_back({std::move(plugin), std::move(fn)}); }
  std::vector<std::string> Leaves() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries) names.push_back(entry.plugin);
    return names;
  }
};

// Compiles the expression of a callback ("quotaToNode.predicate") for the plugins that registered
// it.
using Compiler = std::function<expr::Program(const std::string& callback, expr::Type type,
                                             const std::vector<std::string>& leaves)>;

// Answers of kNodeStatic predicates, kept across sessions: the class of the subject, the target,
// and the generation of what the target says. One instance lives beside the plugins.
class StaticAnswers {
 public:
  // The stored verdict, or nullptr when the target has changed since.
  const std::optional<model::Verdict>* Find(size_t predicate, model::ClassId subject, size_t target,
                                            uint64_t generation) const;
  const std::optional<model::Verdict>& Store(size_t predicate, model::ClassId subject,
                                             size_t target, uint64_t generation,
                                             std::optional<model::Verdict> verdict);
  void Forget() { answers_.clear(); }

 private:
  struct Answer {
    uint64_t generation = 0;  // 0: none
    std::optional<model::Verdict> verdict;
  };
  static constexpr size_t kMaxPredicates = 16;
  std::vector<std::vector<Answer>> answers_;  // by class × predicate, then by target
};

}  // namespace sky::framework
