// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "actions/gang_case_for_test.h"
#include "api/keys.h"

namespace sky::actions {

bool GangCase::needs_rdma() const {
  return std::any_of(members.begin(), members.end(),
                     [](const Pod& pod) { return pod.asks_rdma(); });
}

bool GangCase::ordered(size_t member) const {
  const Pod& pod = members[member];
  if (pod.index() < 0) return false;
  return member == 0 || members[member - 1].first != pod.first ||
         members[member - 1].index() != pod.index();
}

namespace {

// A drawing hand over one instance.
struct Hand {
  Rng rng;
  GangCase gang;
  Amounts base{};
  int numbers = 0;    // of quotas so far
  bool wide = false;  // several zones, and too many members for one

  int Below(int n) { return static_cast<int>(rng.Below(static_cast<uint64_t>(n))); }
  int From(int low, int high) { return low + Below(high - low + 1); }
  bool OneIn(int n) { return Below(n) == 0; }

  void Nodes() {
    const int count = wide ? From(4, 5) : From(1, 5), leaves = wide ? From(2, 3) : From(1, 3);
    const bool two_specs = OneIn(4), gaps = OneIn(5), none = OneIn(12), few_slots = OneIn(8);
    int number = From(0, 9);
    for (int i = 0; i < count; ++i) {
      GangCase::Node node;
      node.number = number;
      const bool twin = i > 0 && gang.nodes.back().number == number;
      node.series = static_cast<char>(twin ? gang.nodes.back().series + 1 : 'a' + Below(5));
      if (!OneIn(6)) number += From(1, 2);
      node.leaf = none || (gaps && OneIn(3)) ? -1 : Below(leaves);
      if (two_specs) node.spec = Below(2);
      node.rack = Below(2);
      node.allocatable = {From(1, 6), From(2, 6), From(3, 8), few_slots ? From(1, 4) : 110};
      if (OneIn(2)) node.allocatable[kHca] = node.allocatable[kGpu];
      node.cordoned = OneIn(24);
      gang.nodes.push_back(node);
    }
  }

  void Members() {
    const int count = wide ? From(4, 6) : From(1, 6), style = Below(6);
    const bool rdma = wide || !OneIn(5), selects = !wide && OneIn(8);
    base = {From(1, 2), rdma ? From(1, 2) : 0, Below(2), 1};
    Amounts other = {From(1, 3), rdma ? From(0, 2) : 0, Below(3), 1};
    const int rack = Below(2);
    for (int i = 0; i < count; ++i) {
      GangCase::Pod pod;
      pod.rank = i;
      pod.request = style == 0 && OneIn(2) ? other : base;
      if (selects && (style != 0 || OneIn(2))) pod.rack = rack;
      gang.members.push_back(pod);
    }
    if (style == 1) {  // a launcher
      gang.members[0].first = true;
      gang.members[0].request = OneIn(3) ? Amounts{1, 0, 1, 1} : Amounts{0, 0, From(1, 2), 1};
      for (size_t i = 1; i < gang.members.size(); ++i) --gang.members[i].rank;
    }
    if (style == 2 && OneIn(2)) {  // a rank twice, or none: names stand in order all the same
      GangCase::Pod& last = gang.members.back();
      if (count > 1 && OneIn(2))
        last.note = gang.members[gang.members.size() - 2].rank;
      else
        last.rank = -1;
    }
  }

  GangCase::Quota Shape(int shape) {
    GangCase::Quota quota;
    quota.shape = shape;
    const int times = OneIn(4) ? 2 : 1;
    const Amounts& like =
        gang.members[static_cast<size_t>(Below(static_cast<int>(gang.members.size())))].request;
    for (const size_t name : {kGpu, kHca}) {
      quota.request[name] = like[name] * times + (OneIn(4) ? 1 : 0);
      quota.listed[name] = quota.request[name] > 0 || OneIn(8);
    }
    quota.request[kCpu] = OneIn(4) ? like[kCpu] + 1 : 0;
    quota.listed[kCpu] = quota.request[kCpu] > 0;
    if (!quota.listed[kGpu] && !quota.listed[kHca] && !quota.listed[kCpu]) {
      quota.request[kCpu] = From(1, 3);
      quota.listed[kCpu] = true;
    }
    if (OneIn(6)) quota.rack = Below(2);
    if (OneIn(8)) quota.spec = Below(2);
    return quota;
  }
  size_t Add(GangCase::Quota quota) {
    quota.number = numbers += From(1, 4);
    gang.quotas.push_back(quota);
    return gang.quotas.size() - 1;
  }
  int AnyNode() { return Below(static_cast<int>(gang.nodes.size())); }
  int AnySpec() { return gang.nodes[static_cast<size_t>(AnyNode())].spec; }

  void Quotas() {
    const int shapes = wide ? 1 : From(1, 3);
    const bool bound = OneIn(3);
    std::vector<GangCase::Quota> drawn;
    for (int shape = 0; shape < shapes; ++shape)
      for (int i = From(wide ? 6 : 1, shapes == 1 ? 8 : 4); i > 0; --i) {
        if (drawn.empty() || drawn.back().shape != shape)
          drawn.push_back(Shape(shape));
        else
          drawn.push_back(drawn.back());
        if (drawn.back().spec == 1 && AnySpec() < 0) drawn.back().spec = -1;
      }
    for (size_t i = drawn.size(); i > 1; --i)
      std::swap(drawn[i - 1], drawn[static_cast<size_t>(Below(static_cast<int>(i)))]);
    for (GangCase::Quota& quota : drawn) {
      if (bound && OneIn(2)) quota.node = AnyNode();
      Add(quota);
    }
  }

  // A quota of its own for somebody who is placed already; some have room for one more.
  int Own(const Amounts& request) {
    GangCase::Quota quota;
    quota.shape = 100 + numbers;
    quota.request = request;
    quota.request[kSlots] = 0;
    if (OneIn(4))
      for (const size_t name : {kGpu, kHca}) quota.request[name] *= 2;
    if (quota.request == Amounts{}) quota.request[kCpu] = 1;
    for (size_t name = 0; name < kSlots; ++name) quota.listed[name] = quota.request[name] > 0;
    return static_cast<int>(Add(quota));
  }
  void Placed() {
    if (OneIn(3)) {
      int spec = -2;
      for (GangCase::Pod& pod : gang.members) {
        if (!OneIn(3) || pod.rank < 0 || pod.note >= 0) continue;
        pod.node = AnyNode();
        const int there = gang.nodes[static_cast<size_t>(pod.node)].spec;
        if (pod.asks_devices() && spec != -2 && there != spec) {
          pod.node = -1;
          continue;
        }
        if (pod.asks_devices()) spec = there;
        pod.quota = Own(pod.request);
      }
    }
    if (!OneIn(3)) return;
    for (int i = From(1, 3); i > 0; --i) {
      GangCase::Pod pod;
      pod.request = {From(0, 2), From(0, 2), From(0, 2), 1};
      pod.node = AnyNode();
      if (OneIn(2)) pod.quota = Own(pod.request);
      gang.neighbours.push_back(pod);
    }
  }

  void Wishes() {
    if (OneIn(3))
      gang.topology = GangCase::Topology::kStrict;
    else if (OneIn(6))
      gang.topology = GangCase::Topology::kOff;
    gang.pack = OneIn(3);
    if (OneIn(wide ? 2 : 3)) gang.zones = From(wide ? 2 : 1, 3);
    if (OneIn(8) && !gang.quotas.empty()) {
      GangCase::Pod& pod = gang.members.back();
      pod.required = Below(static_cast<int>(gang.quotas.size()));
      gang.quotas[static_cast<size_t>(pod.required)].demanded = true;
    }
    gang.elastic = OneIn(2) &&
                   std::count_if(gang.members.begin(), gang.members.end(),
                                 [](const auto& pod) { return pod.node < 0; }) == 1 &&
                   gang.members.size() > 1;
  }
};

std::string Said(const Amounts& amounts, const std::array<bool, kAmounts>& listed) {
  static constexpr const char* kWords[] = {"gpu", "hca", "cpu", "pods"};
  std::string text;
  for (size_t name = 0; name < kAmounts; ++name)
    if (listed[name]) text += fmt::format(" {}={}", kWords[name], amounts[name]);
  return text;
}

template <class T>
T Read(T (*make)(const std::string&, const testing::Words&), const std::string& name,
       const std::string& words) {
  return make(name, *testing::ReadWords(words));
}

api::Pod MakePod(const GangCase& gang, const Naming& naming, const GangCase::Pod& pod,
                 const std::string& group, const std::string& name) {
  std::string words = Said(
      pod.request, {pod.request[kGpu] > 0, pod.request[kHca] > 0, pod.request[kCpu] > 0, false});
  if (pod.node >= 0) words += " node=" + naming.node(gang.nodes[static_cast<size_t>(pod.node)]);
  if (pod.quota >= 0)
    words += " quota=" + naming.quota(gang.quotas[static_cast<size_t>(pod.quota)]);
  if (pod.required >= 0)
    words += " required=" + naming.quota(gang.quotas[static_cast<size_t>(pod.required)]);
  if (pod.rack >= 0) words += fmt::format(" select=rack:{}", pod.rack);
  if (!group.empty()) words += pod.first ? " role=launcher" : " role=worker";
  if (group.empty() && pod.quota < 0) words += " scheduler=other";
  api::Pod made = testing::MakeWorker(group, name, *testing::ReadWords(words));
  if (pod.note >= 0)
    made.metadata.annotations.insert_or_assign(std::string(api::key::kTaskIndex),
                                               std::to_string(pod.note));
  return made;
}

api::Quota MakeQuotaOf(const GangCase& gang, const Naming& naming, const GangCase::Quota& quota) {
  std::string words = Said(quota.request, quota.listed);
  if (quota.spec >= 0) words += " spec=" + naming.spec(quota.spec);
  if (quota.node >= 0) words += " node=" + naming.node(gang.nodes[static_cast<size_t>(quota.node)]);
  api::Quota made = testing::MakeQuota(naming.quota(quota), *testing::ReadWords(words));
  if (quota.rack >= 0) made.spec.node_selector.emplace("rack", std::to_string(quota.rack));
  return made;
}

api::Node MakeNodeOf(const Naming& naming, const GangCase::Node& node) {
  std::string words =
      Said(node.allocatable, {true, true, true, true}) + fmt::format(" label=rack:{}", node.rack);
  if (node.spec >= 0) words += " spec=" + naming.spec(node.spec);
  api::Node made = testing::MakeNode(naming.node(node), *testing::ReadWords(words));
  made.spec.unschedulable = node.cordoned;
  return made;
}

}  // namespace

GangCase DrawGangCase(uint64_t seed) {
  Hand hand{Rng(seed), {}};
  hand.wide = hand.OneIn(4);
  hand.Nodes();
  hand.Members();
  hand.Quotas();
  hand.Placed();
  hand.Wishes();
  return std::move(hand.gang);
}

std::string Naming::node(const GangCase::Node& node) const {
  return other ? fmt::format("m{}{}", static_cast<char>(node.series + 3), node.number + 96)
               : fmt::format("{}{}", node.series, node.number);
}
std::string Naming::quota(const GangCase::Quota& quota) const {
  return other ? fmt::format("x-{}", 5 * quota.number) : fmt::format("q{}", quota.number);
}
std::string Naming::leaf(int leaf) const {
  return other ? fmt::format("u{}", 7 * leaf + 1) : fmt::format("S{}", leaf + 1);
}
std::string Naming::spec(int spec) const {
  return other ? (spec == 0 ? "b2" : "c1") : (spec == 0 ? "a100" : "h100");
}
std::string Naming::member(const GangCase& gang, size_t member) const {
  const GangCase::Pod& pod = gang.members[member];
  if (pod.rank < 0) return group() + "-w";
  return fmt::format("{}-{}{}", group(), pod.first ? "l" : "w", pod.rank);
}

void Tell(const GangCase& gang, const Naming& naming, uint64_t shuffle, testing::Cluster& cluster) {
  std::vector<std::function<void()>> tell;
  for (const GangCase::Node& node : gang.nodes) {
    tell.push_back([&] { cluster.Put(MakeNodeOf(naming, node)); });
    if (node.leaf >= 0)
      tell.push_back([&] {
        cluster.Put(testing::MakeTopology(naming.node(node), "roce", {naming.leaf(node.leaf)}));
      });
  }
  for (const GangCase::Quota& quota : gang.quotas)
    tell.push_back([&] { cluster.Put(MakeQuotaOf(gang, naming, quota)); });
  for (size_t i = 0; i < gang.members.size(); ++i)
    tell.push_back([&, i] {
      cluster.Put(MakePod(gang, naming, gang.members[i], naming.group(), naming.member(gang, i)));
    });
  for (size_t i = 0; i < gang.neighbours.size(); ++i)
    tell.push_back([&, i] {
      cluster.Put(MakePod(gang, naming, gang.neighbours[i], "",
                          fmt::format("{}{}", naming.other ? "y" : "n", i)));
    });
  tell.push_back([&] {
    std::string words;
    if (gang.topology == GangCase::Topology::kStrict) words += " strict";
    if (gang.topology == GangCase::Topology::kOff) words += " off";
    if (gang.pack) words += " pack";
    if (gang.zones > 0) words += fmt::format(" zones={}", gang.zones);
    cluster.Put(testing::MakeGroup(naming.group(),
                                   static_cast<int>(gang.members.size()) - (gang.elastic ? 1 : 0),
                                   *testing::ReadWords(words)));
  });
  Rng rng(shuffle);
  for (size_t i = tell.size(); i > 1 && shuffle != 0; --i)
    std::swap(tell[i - 1], tell[rng.Below(i)]);
  for (const auto& one : tell) one();
}

std::string Text(const GangCase& gang) {
  const Naming naming;
  std::string text;
  for (const GangCase::Node& node : gang.nodes)
    text += fmt::format("node {}:{} leaf={} spec={} rack={}{}\n", naming.node(node),
                        Said(node.allocatable, {true, true, true, true}), node.leaf, node.spec,
                        node.rack, node.cordoned ? " cordoned" : "");
  for (const GangCase::Quota& quota : gang.quotas)
    text +=
        fmt::format("quota {}:{} spec={} rack={} node={}{}\n", naming.quota(quota),
                    Said(quota.request, quota.listed), quota.spec, quota.rack,
                    quota.node < 0 ? "-" : naming.node(gang.nodes[static_cast<size_t>(quota.node)]),
                    quota.demanded ? " demanded" : "");
  const auto pod_text = [&](const std::string& name, const GangCase::Pod& pod) {
    text += fmt::format(
        "pod {}:{} rack={} node={} quota={} required={} note={}\n", name,
        Said(pod.request, {true, true, true, false}), pod.rack,
        pod.node < 0 ? "-" : naming.node(gang.nodes[static_cast<size_t>(pod.node)]),
        pod.quota < 0 ? "-" : naming.quota(gang.quotas[static_cast<size_t>(pod.quota)]),
        pod.required < 0 ? "-" : naming.quota(gang.quotas[static_cast<size_t>(pod.required)]),
        pod.note);
  };
  for (size_t i = 0; i < gang.members.size(); ++i)
    pod_text(naming.member(gang, i), gang.members[i]);
  for (const GangCase::Pod& pod : gang.neighbours) pod_text("neighbour", pod);
  return text + fmt::format("topology={} pack={} zones={} elastic={}\n",
                            gang.topology == GangCase::Topology::kAuto ? "auto"
                            : gang.strict()                            ? "strict"
                                                                       : "off",
                            gang.pack, gang.zones, gang.elastic);
}

}  // namespace sky::actions
