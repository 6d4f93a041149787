// SPDX-License-Identifier: Apache-2.0
// One hop of a decision, Subject → Target, as a bundle of plugin callbacks combined by expressions:
//   prePredicate (once a subject) → select → predicate (each a pair) → nOrder + batchNOrder → bestN
// Three of them make the system: TaskToQuota (TQFns), QuotaToNode (QNFns), TaskToNode (TNFns).
// Plugins register in OnSessionOpen; Compile ends registration. Used on the scheduling thread only.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "expr/evaluate.h"
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

template <class Subject, class Target>
class Hop {
 public:
  using VerdictFn = std::function<std::optional<model::Verdict>(Subject, Target)>;
  using SubjectFn = std::function<std::optional<model::Verdict>(Subject)>;
  using ScoreFn = std::function<std::optional<int64_t>(Subject, Target)>;  // 0…100
  using BatchScoreFn =
      std::function<bool(Subject, std::span<const Target>, std::span<int64_t>)>;  // false: abstains
  using BestFn = std::function<std::optional<Target>(Subject, std::span<const Target>)>;
  // Class of the subject and generation of the target, for kNodeStatic answers; an invalid class:
  // don't keep.
  using KeyFn = std::function<std::pair<model::ClassId, uint64_t>(Subject, Target)>;

  explicit Hop(std::string bundle) : bundle_(std::move(bundle)) {}

  Stage<SubjectFn> pre_predicate{expr::Type::kVerdict};
  Stage<VerdictFn> select{expr::Type::kVerdict};
  Stage<ScoreFn> n_order{expr::Type::kScore};
  Stage<BatchScoreFn> batch_n_order{expr::Type::kScore};
  Stage<BestFn> best_n{expr::Type::kTarget};

  // A plugin may add several predicates that read different things; its first veto is its answer.
  void AddPredicate(const std::string& plugin, Reads reads, VerdictFn fn) {
    if (predicate_.entries.empty() || predicate_.entries.back().plugin != plugin)
      predicate_.Add(plugin, {});
    predicate_.entries.back().fn.push_back({std::move(fn), reads, parts_++});
  }

  void Compile(const Compiler& compile, StaticAnswers* answers, KeyFn key) {
    const auto one = [&](auto& stage, const char* name) {
      stage.program = compile(bundle_ + "." + name, stage.program.type(), stage.Leaves());
    };
    one(pre_predicate, "prePredicate"), one(select, "select"), one(predicate_, "predicate");
    one(n_order, "nOrder"), one(batch_n_order, "batchNOrder"), one(best_n, "bestN");
    answers_ = answers;
    key_ = std::move(key);
  }

  // Nobody's veto is Fit. `refused` is told each plugin's verdict that isn't.
  template <class Refused>
  model::Verdict PrePredicate(Subject subject, Refused&& refused) const {
    return Ask(pre_predicate, refused,
               [&](const auto& entry, size_t) { return entry.fn(subject); });
  }
  // Select, then predicate; each combined by its own expression.
  template <class Refused>
  model::Verdict Feasible(Subject subject, Target target, Refused&& refused) const {
    const model::Verdict selected =
        Ask(select, refused, [&](const auto& entry, size_t) { return entry.fn(subject, target); });
    if (!selected.fit()) return selected;
    return Ask(predicate_, refused,
               [&](const auto& entry, size_t) { return AskParts(entry.fn, subject, target); });
  }
  model::Verdict Feasible(Subject subject, Target target) const {
    return Feasible(subject, target, [](const std::string&, const model::Verdict&) {});
  }

  // nOrder + batchNOrder of each target, in thousandths of a point.
  std::vector<int64_t> Scores(Subject subject, std::span<const Target> targets) const {
    std::vector<std::vector<int64_t>> batches(batch_n_order.entries.size());
    std::vector<bool> answered(batch_n_order.entries.size());
    for (size_t i = 0; i < batches.size(); ++i) {
      batches[i].assign(targets.size(), 0);
      answered[i] = batch_n_order.entries[i].fn(subject, targets, batches[i]);
    }
    std::vector<int64_t> scores(targets.size(), 0);
    for (size_t t = 0; t < targets.size(); ++t) {
      const auto single = expr::EvaluateScore(n_order.program, [&](uint32_t leaf) {
        return n_order.entries[leaf].fn(subject, targets[t]);
      });
      const auto batch =
          expr::EvaluateScore(batch_n_order.program, [&](uint32_t leaf) -> std::optional<int64_t> {
            if (!answered[leaf]) return std::nullopt;
            return batches[leaf][t];
          });
      scores[t] = expr::walk::SaturatingAdd(single.value_or(expr::Score{}).thousandths,
                                            batch.value_or(expr::Score{}).thousandths);
    }
    return scores;
  }

  // The plugin's pick among targets that are already in their lowest-index-first order; without one
  // the best score, then the first.
  std::optional<Target> Best(Subject subject, std::span<const Target> targets) const {
    if (targets.empty()) return std::nullopt;
    const auto picked = expr::EvaluateTarget(
        best_n.program, [&](uint32_t leaf) { return best_n.entries[leaf].fn(subject, targets); });
    if (picked) return picked;
    const std::vector<int64_t> scores = Scores(subject, targets);
    size_t best = 0;
    for (size_t t = 1; t < targets.size(); ++t)
      if (scores[t] > scores[best]) best = t;
    return targets[best];
  }

 private:
  template <class StageType, class Refused, class Call>
  static model::Verdict Ask(const StageType& stage, Refused&& refused, Call&& call) {
    const auto verdict = expr::EvaluateVerdict(
        stage.program, [&](uint32_t leaf) { return call(stage.entries[leaf], leaf); },
        [&](uint32_t leaf, const model::Verdict& veto) {
          refused(stage.entries[leaf].plugin, veto);
        });
    return verdict.value_or(model::Verdict::Fit());
  }

  struct Part {
    VerdictFn fn;
    Reads reads;
    size_t number;
  };
  using Parts = std::vector<Part>;

  std::optional<model::Verdict> AskParts(const Parts& parts, Subject subject, Target target) const {
    std::optional<model::Verdict> answer;
    for (const Part& part : parts) {
      const std::optional<model::Verdict> verdict = AskPart(part, subject, target);
      if (verdict && !verdict->fit()) return verdict;
      if (verdict) answer = verdict;
    }
    return answer;
  }

  std::optional<model::Verdict> AskPart(const Part& part, Subject subject, Target target) const {
    if (part.reads != Reads::kNodeStatic || answers_ == nullptr) return part.fn(subject, target);
    const auto [subject_class, generation] = key_(subject, target);
    if (!subject_class.valid()) return part.fn(subject, target);
    if (const auto* known = answers_->Find(part.number, subject_class, target.index(), generation))
      return *known;
    return answers_->Store(part.number, subject_class, target.index(), generation,
                           part.fn(subject, target));
  }

  Stage<Parts> predicate_{expr::Type::kVerdict};
  size_t parts_ = 0;
  std::string bundle_;
  StaticAnswers* answers_ = nullptr;
  KeyFn key_;
};

using TaskToQuota = Hop<model::TaskId, model::QuotaId>;
using QuotaToNode = Hop<model::QuotaId, model::NodeId>;
using TaskToNode = Hop<model::TaskId, model::NodeId>;

}  // namespace sky::framework
