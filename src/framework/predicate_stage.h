// SPDX-License-Identifier: Apache-2.0
// The predicates of one hop, by plugin, each with what it reads: answers of kNodeStatic ones are
// kept by the subject's class and the target's generation (F50). Used on the scheduling thread
// only.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/stage.h"

namespace sky::framework {

template <class Subject, class Target>
class PredicateStage {
 public:
  using Fn = std::function<std::optional<model::Verdict>(Subject, Target)>;
  // Class of the subject and generation of the target; an invalid class: don't keep.
  using KeyFn = std::function<std::pair<model::ClassId, uint64_t>(Subject, Target)>;
  struct Part {
    Fn fn;
    Reads reads;
    size_t number;
  };
  using Parts = std::vector<Part>;

  void Add(const std::string& plugin, Reads reads, Fn fn) {
    if (stage_.entries.empty() || stage_.entries.back().plugin != plugin) stage_.Add(plugin, {});
    stage_.entries.back().fn.push_back({std::move(fn), reads, parts_++});
  }
  void Compile(const Compiler& compile, const std::string& bundle, StaticAnswers* answers,
               KeyFn key) {
    stage_.program = compile(bundle + ".predicate", stage_.program.type(), stage_.Leaves());
    answers_ = answers;
    key_ = std::move(key);
  }
  const Stage<Parts>& stage() const { return stage_; }

  // The first veto of a plugin's parts, else its last answer. `alone`: without what other targets
  // have to do with it.
  std::optional<model::Verdict> Ask(const Parts& parts, Subject subject, Target target,
                                    bool alone) const {
    std::optional<model::Verdict> answer;
    for (const Part& part : parts) {
      if (alone && part.reads == Reads::kRelational) continue;
      const std::optional<model::Verdict> verdict = AskPart(part, subject, target);
      if (verdict && !verdict->fit()) return verdict;
      if (verdict) answer = verdict;
    }
    return answer;
  }

 private:
  std::optional<model::Verdict> AskPart(const Part& part, Subject subject, Target target) const {
    if (part.reads != Reads::kNodeStatic || answers_ == nullptr) return part.fn(subject, target);
    const auto [subject_class, generation] = key_(subject, target);
    if (!subject_class.valid()) return part.fn(subject, target);
    const size_t row = target.index();
    if (const auto* known = answers_->Find(part.number, subject_class, row, generation))
      return *known;
    return answers_->Store(part.number, subject_class, row, generation, part.fn(subject, target));
  }

  Stage<Parts> stage_{expr::Type::kVerdict};
  size_t parts_ = 0;
  StaticAnswers* answers_ = nullptr;
  KeyFn key_;
};

}  // namespace sky::framework
