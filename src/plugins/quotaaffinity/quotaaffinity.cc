// SPDX-License-Identifier: Apache-2.0
#include "plugins/quotaaffinity/quotaaffinity.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "api/json.h"
#include "api/keys.h"
#include "api/selectors.h"
#include "model/quota_terms.h"

namespace sky::plugins {

using framework::Reads;
using model::NodeId;
using model::QuotaId;
using model::Reason;
using model::TaskId;

namespace {

constexpr size_t kNobody = SIZE_MAX;

bool Selects(const api::QuotaTerm& term, const api::ObjectMeta& meta) {
  return term.label_selector && api::Matches(*term.label_selector, meta.labels);
}

// Equal terms, equal texts.
std::string TextOf(const api::QuotaTerm& term) {
  api::QuotaTerms terms;
  terms.affinity.emplace().required.push_back(term);
  return api::Encode(terms);
}

const std::vector<api::QuotaTerm>& Required(const std::optional<api::QuotaTermSet>& set) {
  static const std::vector<api::QuotaTerm> kNone;
  return set ? set->required : kNone;
}

const api::QuotaTerms* QuotaTermsOf(const api::QuotaSpec& spec) {
  return spec.affinity && spec.affinity->quota ? &*spec.affinity->quota : nullptr;
}

const api::QuotaTerms* PodTermsOf(const api::QuotaSpec& spec) {
  return spec.affinity && spec.affinity->pod_quota ? &*spec.affinity->pod_quota : nullptr;
}

bool KeepsAway(const api::QuotaTerms* terms, const api::QuotaTerm& term) {
  return terms != nullptr && std::ranges::find(Required(terms->anti_affinity), term) !=
                                 Required(terms->anti_affinity).end();
}

model::Verdict Refused(Reason reason) { return model::Verdict::NotNow(reason); }

}  // namespace

const Crowds::Crowd& QuotaAffinity::Matching(const api::QuotaTerm& term, bool of_pods) {
  // Whom a term is about doesn't depend on how near they are to be.
  api::QuotaTerm selector = term;
  selector.topology_key.clear();
  return crowds_.Of(
      (of_pods ? "pods " : "quotas ") + TextOf(selector), of_pods,
      [&](const api::ObjectMeta& meta, const api::QuotaSpec*) { return Selects(term, meta); });
}

// Quotas that keep quotas, or pods, away by this term.
const Crowds::Crowd& QuotaAffinity::Holders(const api::QuotaTerm& term, TermsOf* terms_of) {
  return crowds_.Of((terms_of == QuotaTermsOf ? "bar quotas " : "bar pods ") + TextOf(term), false,
                    [&](const api::ObjectMeta&, const api::QuotaSpec* spec) {
                      return KeepsAway(terms_of(*spec), term);
                    });
}

// Pods that keep quotas away by this term.
const Crowds::Crowd& QuotaAffinity::PodHolders(const api::QuotaTerm& term) {
  return crowds_.Of("pods bar " + TextOf(term), true,
                    [&](const api::ObjectMeta& pod, const api::QuotaSpec*) {
                      return KeepsAway(NoteOf(pod), term);
                    });
}

const api::QuotaTerms* QuotaAffinity::NoteOf(const api::ObjectMeta& pod) const {
  const auto found = notes_.find(pod.Annotation(api::key::kPodQuotaAffinity));
  return found == notes_.end() ? nullptr : found->second.get();
}

void QuotaAffinity::Read(const api::QuotaTerms& terms, bool of_pods, Demand& demand) {
  for (const api::QuotaTerm& term : Required(terms.affinity))
    demand.near.push_back({&term, &Matching(term, of_pods)});
  for (const api::QuotaTerm& term : Required(terms.anti_affinity))
    demand.away.push_back({&term, &Matching(term, of_pods)});
  if (terms.affinity)
    for (const api::WeightedQuotaTerm& one : terms.affinity->preferred)
      demand.wished.push_back({&one.term, &Matching(one.term, of_pods), one.weight});
  if (terms.anti_affinity)
    for (const api::WeightedQuotaTerm& one : terms.anti_affinity->preferred)
      demand.wished.push_back({&one.term, &Matching(one.term, of_pods), -one.weight});
}

// Quotas of one class have the same terms, and the same of all labels that terms read.
const QuotaAffinity::Demand& QuotaAffinity::OfQuota(QuotaId id) {
  const model::Quota& quota = cluster_->quotas()[id];
  const auto [at, added] = quotas_.try_emplace(quota.quota_class.index());
  Demand& demand = at->second;
  if (!added) return demand;
  demand.holds = quota.object;
  if (const api::QuotaTerms* terms = QuotaTermsOf(quota.object->spec); terms != nullptr)
    Read(*terms, false, demand);
  for (const api::QuotaTerm* term : bar_quotas_)
    if (Selects(*term, quota.object->metadata))
      demand.barred.push_back({term, &Holders(*term, QuotaTermsOf)});
  return demand;
}

const QuotaAffinity::Demand& QuotaAffinity::PodsOf(QuotaId id) {
  const model::Quota& quota = cluster_->quotas()[id];
  const auto [at, added] = pods_of_.try_emplace(quota.quota_class.index());
  if (!added) return at->second;
  at->second.holds = quota.object;
  if (const api::QuotaTerms* terms = PodTermsOf(quota.object->spec); terms != nullptr)
    Read(*terms, true, at->second);
  for (const api::QuotaTerm* term : pods_bar_)
    if (Selects(*term, quota.object->metadata))
      at->second.barred.push_back({term, &PodHolders(*term)});
  return at->second;
}

const QuotaAffinity::Demand& QuotaAffinity::OfPod(TaskId id) {
  static const Demand kNone;
  const model::Task& task = cluster_->tasks()[id];
  if (!task.facts->quota_terms && bar_pods_.empty()) return kNone;
  const auto [at, added] = pods_.try_emplace(id.index());
  Demand& demand = at->second;
  if (!added) return demand;
  // A malformed note is told to its owner, and asks nothing.
  if (const api::QuotaTerms* terms = task.facts->quota_terms ? NoteOf(task.facts->meta()) : nullptr;
      terms != nullptr)
    Read(*terms, false, demand);
  const model::QueueId queue =
      task.job.valid() ? cluster_->jobs()[task.job].queue : model::QueueId{};
  for (Side& side : demand.near)
    side.brings = std::ranges::any_of(side.crowd->members, [&](const auto& member) {
      const model::Quota& quota = cluster_->quotas()[QuotaId(member.first)];
      return quota.usable() && queue.valid() && cluster_->MayUse(queue, quota);
    });
  for (const api::QuotaTerm* term : bar_pods_)
    if (Selects(*term, task.facts->meta()))
      demand.barred.push_back({term, &Holders(*term, PodTermsOf)});
  return demand;
}

// The first of those who want to be together has nobody to go to: it matches itself, or somebody
// whom it asks for asks for it.
bool QuotaAffinity::AskForEachOther(const api::QuotaTerm& term, const api::Quota& quota) const {
  if (Selects(term, quota.metadata)) return true;
  return std::ranges::any_of(cluster_->with_terms(), [&](QuotaId id) {
    const api::Quota& other = *cluster_->quotas()[id].object;
    const api::QuotaTerms* terms = QuotaTermsOf(other.spec);
    return terms != nullptr && Selects(term, other.metadata) &&
           std::ranges::any_of(Required(terms->affinity), [&](const api::QuotaTerm& back) {
             return back.topology_key == term.topology_key && Selects(back, quota.metadata);
           });
  });
}

bool QuotaAffinity::Meets(const std::vector<Side>& sides, NodeId node, size_t self) const {
  return std::ranges::any_of(sides, [&](const Side& side) {
    return crowds_.In(*side.crowd, side.term->topology_key, node, self) > 0;
  });
}

// Before any node is looked at: is there anybody near whom it could be?
QuotaAffinity::Verdict QuotaAffinity::MayStart(QuotaId id) {
  if (cluster_->with_terms().empty()) return std::nullopt;
  const Demand& demand = OfQuota(id);
  for (const Side& side : demand.near)
    if (crowds_.Anywhere(*side.crowd, id.index()) == 0 &&
        !AskForEachOther(*side.term, *cluster_->quotas()[id].object))
      return Refused(Reason::kQuotaAffinityNotMatch);
  return std::nullopt;
}

QuotaAffinity::Verdict QuotaAffinity::QuotaAt(QuotaId id, NodeId node) {
  const auto& quota = cluster_->quotas()[id].object;
  if (!quota || (cluster_->with_terms().empty() && pods_bar_.empty())) return std::nullopt;
  const api::Quota& object = *quota;
  const Demand& demand = OfQuota(id);
  for (const Side& side : demand.near) {
    const std::string& key = side.term->topology_key;
    if (crowds_.In(*side.crowd, key, node, id.index()) > 0) continue;
    const bool first = crowds_.Anywhere(*side.crowd, id.index()) == 0;
    if (!first || !AskForEachOther(*side.term, object))
      return Refused(Reason::kQuotaAffinityNotMatch);
    // It is the first; but who goes to no zone is near nobody there.
    if (key == "zone" && !Crowds::ZoneOf(cluster_->nodes()[node]).valid())
      return Refused(Reason::kQuotaAffinityNotMatch);
  }
  if (Meets(demand.away, node, id.index()) || Meets(demand.barred, node, id.index()))
    return Refused(Reason::kQuotaAffinityNotMatch);
  const Demand& pods = PodsOf(id);
  for (const Side& side : pods.near)
    if (crowds_.Anywhere(*side.crowd, kNobody) > 0 &&
        crowds_.In(*side.crowd, side.term->topology_key, node, kNobody) == 0)
      return Refused(Reason::kPodQuotaAffinityNotMatch);
  if (Meets(pods.away, node, kNobody) || Meets(pods.barred, node, kNobody))
    return Refused(Reason::kPodQuotaAffinityNotMatch);
  return demand.empty() && pods.empty() ? Verdict() : model::Verdict::Fit();
}

// May the pod use this quota? The place is only known where the quota has one.
QuotaAffinity::Verdict QuotaAffinity::PodWith(TaskId task, QuotaId id) {
  const model::Quota& quota = cluster_->quotas()[id];
  const api::ObjectMeta& meta = cluster_->tasks()[task].facts->meta();
  const Demand& demand = OfPod(task);
  if (!quota.object) return std::nullopt;
  const auto near = [&](const Side& side) {
    return quota.place().valid() &&
           crowds_.In(*side.crowd, side.term->topology_key, quota.place(), kNobody) > 0;
  };
  const model::Verdict refused = Refused(Reason::kPodQuotaAffinityNotMatch);
  for (const Side& side : demand.near)
    if (quota.place().valid() && !Selects(*side.term, quota.object->metadata) && !near(side))
      return refused;
  for (const Side& side : demand.away)
    if (Selects(*side.term, quota.object->metadata) || near(side)) return refused;
  if (PodTermsOf(quota.object->spec) == nullptr)
    return demand.empty() ? Verdict() : model::Verdict::Fit();
  const Demand& pods = PodsOf(id);
  for (const Side& side : pods.near)
    if (!Selects(*side.term, meta) &&
        (quota.place().valid() ? !near(side) : crowds_.Anywhere(*side.crowd, task.index()) == 0))
      return refused;
  for (const Side& side : pods.away)
    if (Selects(*side.term, meta)) return refused;
  return model::Verdict::Fit();
}

// Whatever quota takes it there: none that it keeps away from, or that keeps away from it, may be
// near. What it wants near it may be that quota itself: that is known once it has one.
QuotaAffinity::Verdict QuotaAffinity::PodAt(TaskId task, NodeId node) {
  const Demand& demand = OfPod(task);
  if (demand.empty()) return std::nullopt;
  const bool open = !cluster_->tasks()[task].used_quota().valid();
  for (const Side& side : demand.near)
    if (crowds_.In(*side.crowd, side.term->topology_key, node, kNobody) == 0 &&
        !(open && side.brings))
      return Refused(Reason::kPodQuotaAffinityNotMatch);
  if (Meets(demand.away, node, kNobody) || Meets(demand.barred, node, kNobody))
    return Refused(Reason::kPodQuotaAffinityNotMatch);
  return model::Verdict::Fit();
}

// 0: all that it would rather not, 100: all that it would rather.
QuotaAffinity::Score QuotaAffinity::Wish(const Demand& demand, NodeId node, size_t self) const {
  if (demand.wished.empty()) return std::nullopt;
  int64_t got = 0, all = 0;
  for (const Side& side : demand.wished) {
    const bool there = crowds_.In(*side.crowd, side.term->topology_key, node, self) > 0;
    all += std::abs(side.weight);
    if (there == (side.weight > 0)) got += std::abs(side.weight);
  }
  return got * 100 / all;
}

QuotaAffinity::Score QuotaAffinity::WishOfPod(TaskId task, QuotaId id) {
  const Demand& demand = OfPod(task);
  if (demand.wished.empty()) return std::nullopt;
  const model::Quota& quota = cluster_->quotas()[id];
  int64_t got = 0, all = 0;
  for (const Side& side : demand.wished) {
    const bool there = (quota.object && Selects(*side.term, quota.object->metadata)) ||
                       (quota.place().valid() && crowds_.In(*side.crowd, side.term->topology_key,
                                                            quota.place(), kNobody) > 0);
    all += std::abs(side.weight);
    if (there == (side.weight > 0)) got += std::abs(side.weight);
  }
  return got * 100 / all;
}

// Each text once, and those that nobody has any more no longer.
void QuotaAffinity::ReadNotes() {
  decltype(notes_) known = std::exchange(notes_, {});
  for (const TaskId id : cluster_->with_notes()) {
    const std::string_view text =
        cluster_->tasks()[id].facts->meta().Annotation(api::key::kPodQuotaAffinity);
    if (notes_.contains(text)) continue;
    if (const auto found = known.find(text); found != known.end()) {
      notes_.insert(known.extract(found));
    } else if (auto read = model::ReadQuotaTerms(text); read) {
      notes_.emplace(text, std::make_shared<const api::QuotaTerms>(*std::move(read)));
    }
  }
}

void QuotaAffinity::CollectBars() {
  const auto collect = [](const auto& all, auto& bars) {
    std::set<std::string> known;
    bars.clear();
    for (const api::QuotaTerms* terms : all)
      for (const api::QuotaTerm& term : Required(terms->anti_affinity))
        if (known.insert(TextOf(term)).second) bars.push_back(&term);
  };
  std::vector<const api::QuotaTerms*> to_quotas, to_pods, of_pods;
  for (const QuotaId id : cluster_->with_terms()) {
    const api::QuotaSpec& spec = cluster_->quotas()[id].object->spec;
    if (const auto* terms = QuotaTermsOf(spec); terms != nullptr) to_quotas.push_back(terms);
    if (const auto* terms = PodTermsOf(spec); terms != nullptr) to_pods.push_back(terms);
  }
  for (const auto& [text, terms] : notes_) of_pods.push_back(terms.get());
  collect(to_quotas, bar_quotas_);
  collect(to_pods, bar_pods_);
  collect(of_pods, pods_bar_);
}

void QuotaAffinity::OnSessionOpen(framework::Session& session) {
  cluster_ = &session.cluster();
  crowds_.Open(*cluster_);
  quotas_.clear(), pods_of_.clear(), pods_.clear();
  ReadNotes();
  CollectBars();
  const auto follow = [this](const framework::Operation& operation) { crowds_.Follow(operation); };
  session.handlers.push_back({"quotaaffinity", follow, follow});
  session.quota_to_node.pre_predicate.Add("quotaaffinity",
                                          [this](QuotaId quota) { return MayStart(quota); });
  session.quota_to_node.AddPredicate(
      "quotaaffinity", Reads::kRelational,
      [this](QuotaId quota, NodeId node) { return QuotaAt(quota, node); });
  session.quota_to_node.n_order.Add("quotaaffinity", [this](QuotaId quota, NodeId node) {
    return cluster_->with_terms().empty() ? Score() : Wish(OfQuota(quota), node, quota.index());
  });
  session.task_to_quota.AddPredicate(
      "quotaaffinity", Reads::kRelational,
      [this](TaskId task, QuotaId quota) { return PodWith(task, quota); });
  session.task_to_quota.n_order.Add(
      "quotaaffinity", [this](TaskId task, QuotaId quota) { return WishOfPod(task, quota); });
  session.task_to_node.AddPredicate("quotaaffinity", Reads::kRelational,
                                    [this](TaskId task, NodeId node) { return PodAt(task, node); });
}

framework::PluginKind QuotaAffinity::Kind() {
  return {[](const framework::PluginArgs&,
             const framework::Config&) -> Result<std::unique_ptr<framework::Plugin>> {
            return std::make_unique<QuotaAffinity>();
          },
          {},
          {"taskToQuota.predicate", "taskToQuota.nOrder", "quotaToNode.prePredicate",
           "quotaToNode.predicate", "quotaToNode.nOrder", "taskToNode.predicate"}};
}

}  // namespace sky::plugins
