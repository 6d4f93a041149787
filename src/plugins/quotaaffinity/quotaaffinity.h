// SPDX-License-Identifier: Apache-2.0
// quotaaffinity: quotas near each other or apart (affinity.quota), pods near or away from quotas
// (the note pod-quota-affinity), quotas near or away from pods on quotas (affinity.podQuota), by
// node or zone, required or preferred. Anti-affinity keeps both sides apart, whoever asked for it
// and whoever comes last. Who has no such terms, and meets nobody who has, is asked nothing. Used
// on the scheduling thread only.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "framework/plugin.h"
#include "framework/session.h"
#include "plugins/quotaaffinity/crowds.h"

namespace sky::plugins {

class QuotaAffinity final : public framework::Plugin {
 public:
  std::string_view name() const override { return "quotaaffinity"; }
  void OnSessionOpen(framework::Session& session) override;
  static framework::PluginKind Kind();

 private:
  using Verdict = std::optional<model::Verdict>;
  using Score = std::optional<int64_t>;
  using TermsOf = const api::QuotaTerms*(const api::QuotaSpec&);
  struct Side {  // a term, with whom it is about
    const api::QuotaTerm* term;
    const Crowds::Crowd* crowd;
    int64_t weight = 0;   // of a preference; negative: rather away from them
    bool brings = false;  // of a pod: a quota that it may use can be what it wants near it
  };
  struct Demand {
    std::shared_ptr<const void> holds;  // the terms that the sides point into
    std::vector<Side> near, away, wished;
    std::vector<Side> barred;  // away from those who ask it of the other side
    bool empty() const { return near.empty() && away.empty() && wished.empty() && barred.empty(); }
  };
  const Crowds::Crowd& Matching(const api::QuotaTerm& term, bool of_pods);
  const Crowds::Crowd& Holders(const api::QuotaTerm& term, TermsOf* terms_of);
  const Crowds::Crowd& PodHolders(const api::QuotaTerm& term);
  const api::QuotaTerms* NoteOf(const api::ObjectMeta& pod) const;
  void Read(const api::QuotaTerms& terms, bool of_pods, Demand& demand);
  const Demand& OfQuota(model::QuotaId quota);  // by affinity.quota, and whom others bar
  const Demand& PodsOf(model::QuotaId quota);   // by affinity.podQuota
  const Demand& OfPod(model::TaskId task);
  void ReadNotes(), CollectBars();
  bool AskForEachOther(const api::QuotaTerm& term, const api::Quota& quota) const;

  bool Meets(const std::vector<Side>& sides, model::NodeId node, size_t self) const;
  Verdict MayStart(model::QuotaId quota);
  Verdict QuotaAt(model::QuotaId quota, model::NodeId node);
  Verdict PodWith(model::TaskId task, model::QuotaId quota);
  Verdict PodAt(model::TaskId task, model::NodeId node);
  Score Wish(const Demand& demand, model::NodeId node, size_t self) const;
  Score WishOfPod(model::TaskId task, model::QuotaId quota);

  const model::Cluster* cluster_ = nullptr;
  Crowds crowds_;
  // What the notes of pods say, by text; kept from session to session.
  std::map<std::string, std::shared_ptr<const api::QuotaTerms>, std::less<>> notes_;
  // Required anti-affinity, each term once: of quotas to quotas and to pods, of pods to quotas.
  std::vector<const api::QuotaTerm*> bar_quotas_, bar_pods_, pods_bar_;
  std::unordered_map<size_t, Demand> quotas_, pods_of_, pods_;  // by quota's class, task
};

}  // namespace sky::plugins
