// SPDX-License-Identifier: Apache-2.0
#include "testing/cluster.h"

#include <algorithm>

#include "actions/actions.h"
#include "api/keys.h"
#include "base/check.h"
#include "base/natural.h"
#include "base/rng.h"
#include "plugins/all_plugins.h"

namespace sky::testing {
namespace {

Words Said(std::string_view text) {
  auto words = ReadWords(text);
  SKY_CHECK(words.has_value(), "{}", words.error().message());
  return std::move(*words);
}

std::vector<std::string> Names(std::string_view text) {
  auto names = ExpandNames(text);
  SKY_CHECK(names.has_value(), "{}", names.error().message());
  return std::move(*names);
}

framework::Config MakeConfig(const framework::Registry& registry, std::string_view document) {
  if (document.empty()) return framework::DefaultConfig(registry.Known());
  auto loaded = framework::LoadConfig(document, "test.yaml", registry.Known());
  SKY_CHECK(loaded.has_value(), "{}", loaded.error().message());
  return std::move(loaded->config);
}

}  // namespace

Cluster::Cluster(std::string_view config) : snapshot_(names_), now_(ManualClock().Wall()) {
  framework::Registry registry;
  plugins::AddAllPlugins(registry);
  actions::AddAllActions(registry);
  auto engine = framework::Engine::Make(registry, MakeConfig(registry, config));
  SKY_CHECK(engine.has_value(), "{}", engine.error().message());
  engine_ = std::move(*engine);
  settings_ = framework::SettingsOf(engine_->config());
  // Nobody writes statuses here, so a cache that is rebuilt wouldn't know what is kept.
  if (config.find("reservationTTL") == std::string_view::npos)
    settings_.reservation_ttl = Duration::zero();
  cache_ = std::make_unique<cache::Cache>(names_, settings_);
  Queue("default");
}

Cluster::~Cluster() = default;

Cluster& Cluster::Leaf(std::string_view switches, std::string_view nodes, std::string_view text) {
  const Words words = Said(text);
  for (const std::string& name : Names(nodes)) {
    Put(MakeNode(name, words));
    Put(MakeTopology(name, words.Has("ib") ? "ib" : "roce", Names(switches)));
  }
  return *this;
}

Cluster& Cluster::Nodes(std::string_view names, std::string_view text) {
  for (const std::string& name : Names(names)) Put(MakeNode(name, Said(text)));
  return *this;
}

Cluster& Cluster::Quotas(std::string_view names, std::string_view text) {
  for (const std::string& name : Names(names)) Put(MakeQuota(name, Said(text)));
  return *this;
}

Cluster& Cluster::Queue(std::string_view name) {
  api::Queue queue;
  queue.metadata.name = std::string(name);
  queue.spec.weight = 1;
  Put(std::move(queue));
  return *this;
}

Cluster& Cluster::Job(const std::string& name, int members, std::string_view text,
                      const Gang& gang) {
  Put(MakeGroup(name, gang.least == 0 ? members : gang.least, Said(gang.words)));
  return Workers(name, 0, members - 1, text);
}

Cluster& Cluster::Workers(const std::string& group, int first, int last, std::string_view text) {
  const Words words = Said(text);
  for (int i = first; i <= last; ++i) Put(MakeWorker(group, fmt::format("{}-{}", group, i), words));
  return *this;
}

Cluster& Cluster::Pod(const std::string& name, std::string_view text) {
  Put(MakeWorker("", name, Said(text)));
  return *this;
}

template <class T>
void Cluster::Tell(std::shared_ptr<const T> object, std::shared_ptr<const T> old, bool gone) {
  using Type = typename api::Delta<T>::Type;
  api::Delta<T> delta;
  delta.type = gone ? Type::kDelete : old ? Type::kUpdate : Type::kAdd;
  delta.object = std::move(object);
  delta.old = std::move(old);
  cache_->SetNow(now());
  cache_->Apply(delta);
}

template <class T>
void Cluster::Put(T object) {
  ++made_;
  api::ObjectMeta& meta = object.metadata;
  if (meta.uid.empty()) meta.uid = fmt::format("uid-{}", made_);
  meta.resource_version = fmt::format("{}", made_);
  if (!meta.creation_timestamp.at) meta.creation_timestamp.at = now_;
  auto& slot = std::get<Kept<T>>(objects_)[meta.Key()];
  auto old = slot;
  slot = std::make_shared<const T>(std::move(object));
  Tell<T>(slot, std::move(old), false);
}

template <class T>
void Cluster::Edit(const std::string& key, const std::function<void(T&)>& change) {
  T object = Get<T>(key);
  change(object);
  Put(std::move(object));
}

template <class T>
void Cluster::Remove(const std::string& key) {
  auto& kept = std::get<Kept<T>>(objects_);
  const auto found = kept.find(key);
  SKY_CHECK(found != kept.end(), "there is no {}", key);
  const auto object = found->second;
  kept.erase(found);
  Tell<T>(object, object, true);
}

template <class T>
const T& Cluster::Get(const std::string& key) const {
  const auto& kept = std::get<Kept<T>>(objects_);
  const auto found = kept.find(key);
  SKY_CHECK(found != kept.end(), "there is no {}", key);
  return *found->second;
}

template <class T>
std::vector<std::string> Cluster::Keys() const {
  std::vector<std::string> keys;
  for (const auto& [key, object] : std::get<Kept<T>>(objects_)) keys.push_back(key);
  return keys;
}

#define SKY_TESTING_KIND(T)                                                           \
  template void Cluster::Put(T);                                                      \
  template void Cluster::Edit<T>(const std::string&, const std::function<void(T&)>&); \
  template void Cluster::Remove<T>(const std::string&);                               \
  template const T& Cluster::Get<T>(const std::string&) const;                        \
  template std::vector<std::string> Cluster::Keys<T>() const;
SKY_TESTING_KIND(api::Pod)
SKY_TESTING_KIND(api::Node)
SKY_TESTING_KIND(api::PodGroup)
SKY_TESTING_KIND(api::Queue)
SKY_TESTING_KIND(api::Quota)
SKY_TESTING_KIND(api::NodeTopology)
SKY_TESTING_KIND(api::PriorityClass)
SKY_TESTING_KIND(api::PodDisruptionBudget)
SKY_TESTING_KIND(api::JobQueue)
#undef SKY_TESTING_KIND

void Cluster::Finish(const std::string& pod) {
  Edit<api::Pod>(pod, [](api::Pod& it) { it.status.phase = "Succeeded"; });
}

void Cluster::Tick(Duration by) {
  now_ += by;
  cache_->SetNow(now());
  cache_->MarkLostNodes(engine_->config().node_lost_after, engine_->config().static_grace);
}

std::vector<cache::Round> Cluster::Decide() {
  for (const auto& stale : cache_->TakeStaleGroups()) {
    const auto& groups = std::get<Kept<api::PodGroup>>(objects_);
    const auto found = groups.find(stale.key);
    cache_->ConfirmGroup(stale, found == groups.end() ? nullptr : found->second);
  }
  cache_->RefuseOverbound();
  cache_->UpdateSnapshot(snapshot_);
  result_ = engine_->Run(snapshot_, now(), ++cycle_, [this](cache::Round& round) {
    if (surprise_) std::exchange(surprise_, nullptr)();
    auto number = cache_->Assume(round, snapshot_);
    if (number) rounds_.emplace(*number, round);
    return number;
  });
  Audit();
  return result_.committed;
}

std::vector<Bound> Cluster::Cycle() {
  Decide();
  std::vector<Bound> bound;
  for (const auto& [number, round] : rounds_) cache_->Acknowledge(number);
  for (const cache::GivenUp& places : result_.given_up)
    for (const std::string& uid : places.uids) cache_->Drop(places.round, uid);
  for (const uint64_t number : result_.approved) {
    const auto found = rounds_.find(number);
    if (found == rounds_.end() || !cache_->Approve(number, snapshot_)) continue;
    for (const cache::RoundEntry& entry : found->second.entries)
      bound.push_back({entry.name, entry.quota_name, entry.node_name});
    Bind(found->second);
    rounds_.erase(found);
  }
  Audit();
  std::sort(bound.begin(), bound.end(),
            [](const Bound& a, const Bound& b) { return NaturalLess{}(a.pod, b.pod); });
  return bound;
}

void Cluster::Bind(const cache::Round& round) {
  for (const cache::RoundEntry& entry : round.entries) {
    const std::string key = entry.namespace_ + "/" + entry.name;
    if (!std::get<Kept<api::Pod>>(objects_).contains(key)) continue;
    Edit<api::Pod>(key, [&](api::Pod& pod) {
      pod.spec.node_name = entry.node_name;
      pod.metadata.annotations.insert_or_assign(std::string(api::key::kQuotaName),
                                                entry.quota_name);
      pod.status.phase = "Running";
    });
  }
}

std::string Cluster::Why(const std::string& job) const {
  const auto found = result_.refusals.find(snapshot_.jobs().Find(job));
  return found == result_.refusals.end() ? "" : std::string(model::ReasonName(found->second.main));
}

std::string Cluster::Detail(const std::string& job) const {
  const auto found = result_.refusals.find(snapshot_.jobs().Find(job));
  return found == result_.refusals.end() ? "" : found->second.detail;
}

std::string Cluster::Who(const std::string& job) const {
  const auto found = result_.refusals.find(snapshot_.jobs().Find(job));
  return found == result_.refusals.end() ? "" : found->second.who;
}

std::unique_ptr<cache::Cache> Cluster::Rebuilt(uint64_t seed) const {
  auto cache = std::make_unique<cache::Cache>(std::make_shared<model::Names>(), settings_);
  cache->SetNow(now());
  std::vector<std::function<void()>> tell;
  const auto all = [&]<class T>(const Kept<T>& kept) {
    for (const auto& [key, object] : kept)
      tell.push_back([&cache, object] {
        cache->Apply(api::Delta<T>{api::Delta<T>::Type::kAdd, object, nullptr});
      });
  };
  std::apply([&](const auto&... kept) { (all(kept), ...); }, objects_);
  Rng rng(seed);
  for (size_t i = tell.size(); i > 1; --i) std::swap(tell[i - 1], tell[rng.Below(i)]);
  for (const auto& one : tell) one();
  return cache;
}

void Cluster::Audit() const {
  const std::string difference = cache_->Audit();
  SKY_CHECK(difference.empty(), "\n{}", difference);
}

}  // namespace sky::testing
