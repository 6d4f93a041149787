// SPDX-License-Identifier: Apache-2.0
#include "framework/stage.h"

namespace sky::framework {

const std::optional<model::Verdict>* StaticAnswers::Find(size_t predicate, model::ClassId subject,
                                                         size_t target, uint64_t generation) const {
  const size_t row = subject.index() * kMaxPredicates + predicate;
  if (row >= answers_.size() || target >= answers_[row].size()) return nullptr;
  const Answer& answer = answers_[row][target];
  return answer.generation == generation && generation != 0 ? &answer.verdict : nullptr;
}

const std::optional<model::Verdict>& StaticAnswers::Store(size_t predicate, model::ClassId subject,
                                                          size_t target, uint64_t generation,
                                                          std::optional<model::Verdict> verdict) {
  SKY_CHECK(predicate < kMaxPredicates, "{} predicates in one bundle", predicate);
  const size_t row = subject.index() * kMaxPredicates + predicate;
  if (row >= answers_.size()) answers_.resize(row + 1);
  if (target >= answers_[row].size()) answers_[row].resize(target + 1);
  Answer& answer = answers_[row][target];
  answer = {generation, std::move(verdict)};
  return answer.verdict;
}

}  // namespace sky::framework
