// SPDX-License-Identifier: Apache-2.0
#include "model/quota_terms.h"

#include "api/json.h"
#include "api/validate.h"

namespace sky::model {
namespace {

void Collect(const api::QuotaTerm& term, std::vector<std::string>& keys) {
  if (!term.label_selector) return;
  for (const auto& [key, value] : term.label_selector->match_labels) keys.push_back(key);
  for (const api::SelectorRequirement& one : term.label_selector->match_expressions)
    keys.push_back(one.key);
}

}  // namespace

Result<api::QuotaTerms> ReadQuotaTerms(std::string_view note) {
  api::QuotaTerms terms = TRY(api::Decode<api::QuotaTerms>(note));
  if (const std::string wrong = api::Describe(api::Validate(terms)); !wrong.empty())
    return Fail(Code::kInvalid, "{}", wrong);
  return terms;
}

std::vector<std::string> KeysReadBy(const api::QuotaTerms& terms) {
  std::vector<std::string> keys;
  for (const auto* set : {&terms.affinity, &terms.anti_affinity}) {
    if (!*set) continue;
    for (const api::QuotaTerm& term : (*set)->required) Collect(term, keys);
    for (const api::WeightedQuotaTerm& one : (*set)->preferred) Collect(one.term, keys);
  }
  return keys;
}

}  // namespace sky::model
