// SPDX-License-Identifier: Apache-2.0
#include "testing/words.h"

#include <algorithm>
#include <charconv>

#include "api/keys.h"

namespace sky::testing {
namespace {

namespace key = api::key;

constexpr std::string_view kDefaultNamespace = "default";

const std::map<std::string_view, std::string_view> kAliases = {{"gpu", "nvidia.com/gpu"},
                                                               {"hca", "rdma/hca"},
                                                               {"roce", "rdma/roce"},
                                                               {"cpu", "cpu"},
                                                               {"mem", "memory"},
                                                               {"pods", "pods"},
                                                               {"spot", "infini-ai.com/spot-gpu"}};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  size_t depth = 0, begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '[') ++depth;
    if (i < text.size() && text[i] == ']' && depth > 0) --depth;
    if (i < text.size() && (text[i] != separator || depth > 0)) continue;
    if (i > begin) parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

Result<int> Number(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return Fail(Code::kInvalid, "\"{}\" is not a number", text);
  return value;
}

void Annotate(api::ObjectMeta& meta, std::string_view name, std::string value) {
  meta.annotations.insert_or_assign(std::string(name), std::move(value));
}

}  // namespace

Result<std::vector<std::string>> ExpandNames(std::string_view words) {
  std::vector<std::string> names;
  for (const std::string_view word : Split(words, ',')) {
    const size_t open = word.find('['), close = word.find(']');
    if (open == std::string_view::npos) {
      names.emplace_back(word);
      continue;
    }
    if (close == std::string_view::npos || close < open)
      return Fail(Code::kInvalid, "\"{}\": a range is written n[0-3]", word);
    const std::string_view range = word.substr(open + 1, close - open - 1);
    const size_t dash = range.find('-');
    const int first = TRY(Number(range.substr(0, dash)), "{}", word);
    const int last =
        dash == std::string_view::npos ? first : TRY(Number(range.substr(dash + 1)), "{}", word);
    if (last < first || last - first > 100'000)
      return Fail(Code::kInvalid, "\"{}\": an empty or huge range", word);
    for (int i = first; i <= last; ++i)
      names.push_back(fmt::format("{}{}{}", word.substr(0, open), i, word.substr(close + 1)));
  }
  return names;
}

bool Words::Has(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::string Words::Or(const std::string& wanted, std::string fallback) const {
  const auto found = pairs.find(wanted);
  return found == pairs.end() ? fallback : found->second;
}

Result<Words> ReadWords(std::string_view text) {
  Words words;
  for (const std::string_view word : Split(text, ' ')) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) {
      words.flags.emplace_back(word);
      continue;
    }
    const std::string name(word.substr(0, equals)), value(word.substr(equals + 1));
    const auto alias = kAliases.find(name);
    if (alias == kAliases.end() && name.find('/') == std::string::npos) {
      words.pairs[name] = value;
      continue;
    }
    words.amounts.insert_or_assign(alias == kAliases.end() ? name : std::string(alias->second),
                                   TRY(api::Quantity::Parse(value), "{}", word));
  }
  return words;
}

api::Node MakeNode(const std::string& name, const Words& words) {
  api::Node node;
  node.metadata.name = name;
  node.metadata.labels.insert_or_assign("kubernetes.io/hostname", name);
  if (const std::string spec = words.Or("spec", ""); !spec.empty())
    node.metadata.labels.insert_or_assign("spec", spec);
  if (const std::string label = words.Or("label", ""); !label.empty()) {
    const size_t colon = label.find(':');
    node.metadata.labels.insert_or_assign(
        label.substr(0, colon), colon == std::string::npos ? "" : label.substr(colon + 1));
  }
  if (const std::string taint = words.Or("taint", ""); !taint.empty())
    node.spec.taints.push_back({taint, "", "NoSchedule", {}});
  if (const std::string index = words.Or("index", ""); !index.empty())
    Annotate(node.metadata, key::kNodeIndex, index);
  node.status.allocatable = words.amounts;
  node.status.allocatable.emplace("cpu", api::Quantity::Units(64));
  node.status.allocatable.emplace(
      "memory", api::Quantity::Units(int64_t{512} << 30, api::Quantity::Format::kBinarySI));
  node.status.allocatable.emplace("pods", api::Quantity::Units(110));
  node.status.capacity = node.status.allocatable;
  api::Condition ready;
  ready.type = "Ready";
  ready.status = "True";
  ready.reason = "KubeletReady";
  node.status.conditions.push_back(ready);
  return node;
}

api::NodeTopology MakeTopology(const std::string& node, const std::string& network,
                               const std::vector<std::string>& switches) {
  api::NodeTopology topology;
  topology.metadata.name = node;
  auto& nics = network == "ib" ? topology.spec.net.ib : topology.spec.net.roce;
  for (const std::string& name : switches) {
    api::TopologyNic& nic = nics.emplace_back();
    nic.name = fmt::format("{}{}", network == "ib" ? "ib" : "eth", nics.size() - 1);
    nic.switch_name = name;
  }
  return topology;
}

api::Quota MakeQuota(const std::string& name, const Words& words) {
  api::Quota quota;
  quota.metadata.name = name;
  quota.spec.queue_name = words.Or("queue", "default");
  quota.spec.request = words.amounts;
  if (const std::string spec = words.Or("spec", ""); !spec.empty())
    quota.spec.node_selector.emplace("spec", spec);
  for (const std::string_view shared : Split(words.Or("shared", ""), ','))
    quota.spec.shared_queues.emplace_back(shared);
  quota.spec.static_bind_node = words.Or("static", "");
  if (const std::string node = words.Or("node", ""); !node.empty()) {
    quota.status.phase = "QuotaBound";
    quota.status.node_name = node;
  }
  return quota;
}

api::PodGroup MakeGroup(const std::string& name, int members, const Words& words) {
  api::PodGroup group;
  group.metadata.name = name;
  group.metadata.namespace_ = words.Or("ns", std::string(kDefaultNamespace));
  group.spec.queue = words.Or("queue", "default");
  group.spec.min_member = members;
  if (const auto least = Number(words.Or("min", "")); least) group.spec.min_member = *least;
  group.spec.priority_class_name = words.Or("priority", "");
  if (words.Has("strict")) Annotate(group.metadata, key::kEnableTopologyScheduling, "true");
  if (words.Has("off")) Annotate(group.metadata, key::kEnableTopologyScheduling, "false");
  if (words.Has("pack")) Annotate(group.metadata, key::kTopologyPlacement, "pack");
  if (const std::string zones = words.Or("zones", ""); !zones.empty())
    Annotate(group.metadata, key::kMaxZones, zones);
  if (const std::string kin = words.Or("attract", ""); !kin.empty())
    Annotate(group.metadata, key::kTopologyAffinityKey, kin);
  return group;
}

api::Pod MakeWorker(const std::string& group, const std::string& name, const Words& words) {
  api::Pod pod;
  pod.metadata.name = name;
  pod.metadata.namespace_ = words.Or("ns", std::string(kDefaultNamespace));
  if (!group.empty()) Annotate(pod.metadata, key::kGroupName, group);
  pod.spec.scheduler_name = words.Or("scheduler", "sky-scheduler");
  pod.spec.node_name = words.Or("node", "");
  api::Container& container = pod.spec.containers.emplace_back();
  container.name = "main";
  container.image = "train";
  container.resources.requests = words.amounts;
  for (const auto& [resource, amount] : words.amounts)
    if (resource.find('/') != std::string::npos)
      container.resources.limits.emplace(resource, amount);
  if (const auto port = Number(words.Or("hostport", "")); port) {
    container.ports.push_back({*port, *port, "", ""});
  }
  if (const std::string owner = words.Or("owner", ""); !owner.empty())
    pod.metadata.owner_references = {
        {"example.com/v1", "PodSet", owner, "uid-of-" + owner, true, false}};
  if (const std::string label = words.Or("label", ""); !label.empty()) {
    const size_t colon = label.find(':');
    pod.metadata.labels.emplace(label.substr(0, colon),
                                colon == std::string::npos ? "" : label.substr(colon + 1));
  }
  if (words.Has("gated")) pod.spec.scheduling_gates.push_back({"wait"});
  if (const std::string selector = words.Or("select", ""); !selector.empty()) {
    const size_t colon = selector.find(':');
    pod.spec.node_selector.emplace(selector.substr(0, colon),
                                   colon == std::string::npos ? "" : selector.substr(colon + 1));
  }
  for (const auto& [word, note] :
       {std::pair("role", key::kTaskRole), std::pair("required", key::kRequiredQuota),
        std::pair("quota", key::kQuotaName), std::pair("attract", key::kTopologyAffinityKey)})
    if (const std::string value = words.Or(word, ""); !value.empty())
      Annotate(pod.metadata, note, value);
  if (const std::string run = words.Or("run", ""); !run.empty())
    Annotate(pod.metadata, "lab.infini-ai.com/run-for", run);
  return pod;
}

}  // namespace sky::testing
