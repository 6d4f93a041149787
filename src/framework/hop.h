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

#include "expr/evaluate.h"
#include "framework/predicate_stage.h"

namespace sky::framework {

template <class Subject, class Target>
class Hop {
 public:
  using VerdictFn = std::function<std::optional<model::Verdict>(Subject, Target)>;
  using SubjectFn = std::function<std::optional<model::Verdict>(Subject)>;
  using ScoreFn = std::function<std::optional<int64_t>(Subject, Target)>;  // 0…100
  using BatchScoreFn =
      std::function<bool(Subject, std::span<const Target>, std::span<int64_t>)>;  // false: abstains
  using BestFn = std::function<std::optional<Target>(Subject, std::span<const Target>)>;
  using KeyFn = typename PredicateStage<Subject, Target>::KeyFn;

  explicit Hop(std::string bundle) : bundle_(std::move(bundle)) {}

  Stage<SubjectFn> pre_predicate{expr::Type::kVerdict};
  Stage<VerdictFn> select{expr::Type::kVerdict};
  Stage<ScoreFn> n_order{expr::Type::kScore};
  Stage<BatchScoreFn> batch_n_order{expr::Type::kScore};
  Stage<BestFn> best_n{expr::Type::kTarget};
  // A law above the plugins, asked before them and not by Alone; empty: there is none now.
  std::function<model::Verdict(Subject, Target)> bar;

  // A plugin may add several predicates that read different things; its first veto is its answer.
  void AddPredicate(const std::string& plugin, Reads reads, VerdictFn fn) {
    predicate_.Add(plugin, reads, std::move(fn));
  }

  void Compile(const Compiler& compile, StaticAnswers* answers, KeyFn key) {
    const auto one = [&](auto& stage, const char* name) {
      stage.program = compile(bundle_ + "." + name, stage.program.type(), stage.Leaves());
    };
    one(pre_predicate, "prePredicate"), one(select, "select");
    one(n_order, "nOrder"), one(batch_n_order, "batchNOrder"), one(best_n, "bestN");
    predicate_.Compile(compile, bundle_, answers, std::move(key));
  }

  // Nobody's veto is Fit. `refused` is told each plugin's verdict that isn't.
  template <class Refused>
  model::Verdict PrePredicate(Subject subject, Refused&& refused) const {
    return Ask(pre_predicate, refused,
               [&](const auto& entry, size_t) { return entry.fn(subject); });
  }
  // Select, then predicate; each combined by its own expression.
  template <class Refused>
  model::Verdict Feasible(Subject subject, Target target, Refused&& refused,
                          bool alone = false) const {
    if (!alone && bar)
      if (const model::Verdict barred = bar(subject, target); !barred.fit()) return barred;
    const model::Verdict selected =
        Ask(select, refused, [&](const auto& entry, size_t) { return entry.fn(subject, target); });
    if (!selected.fit()) return selected;
    return Ask(predicate_.stage(), refused, [&](const auto& entry, size_t) {
      return predicate_.Ask(entry.fn, subject, target, alone);
    });
  }
  model::Verdict Feasible(Subject subject, Target target) const {
    return Feasible(subject, target, [](const std::string&, const model::Verdict&) {});
  }
  // By the target itself, whatever stands on others (kRelational): what may be true later in the
  // same plan, and what may be kept until this target changes.
  model::Verdict Alone(Subject subject, Target target) const {
    return Feasible(subject, target, [](const std::string&, const model::Verdict&) {}, true);
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

  PredicateStage<Subject, Target> predicate_;
  std::string bundle_;
};

using TaskToQuota = Hop<model::TaskId, model::QuotaId>;
using QuotaToNode = Hop<model::QuotaId, model::NodeId>;
using TaskToNode = Hop<model::TaskId, model::NodeId>;

}  // namespace sky::framework
