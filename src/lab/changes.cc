// SPDX-License-Identifier: Apache-2.0
#include "lab/changes.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "lab/in_process.h"

namespace sky::lab {
namespace {

// Said by other members, different at every run, or a kubelet's small print.
constexpr std::string_view kQuiet[] = {"resourceVersion",
                                       "managedFields",
                                       "generation",
                                       "uid",
                                       "renewTime",
                                       "lastHeartbeatTime",
                                       "lastTransitionTime",
                                       "observedGeneration",
                                       "startTime",
                                       "containerStatuses",
                                       "Initialized",
                                       "ContainersReady",
                                       "PodReadyToStartContainers"};

bool Quiet(std::string_view name) { return std::ranges::find(kQuiet, name) != std::end(kQuiet); }

std::string Short(const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : Dump(value);
  constexpr size_t kMax = 100;
  if (text.size() > kMax) text = fmt::format("{}…", CutText(text, kMax));
  return text.empty() ? "\"\"" : text;
}

// A list whose members have a type: conditions.
bool Typed(const Json& list) {
  return list.is_array() && !list.empty() && !TextAt(list[0], {"type"}).empty();
}

std::string ConditionText(const Json& condition) {
  const std::string reason = TextAt(condition, {"reason"});
  return TextAt(condition, {"status"}) + (reason.empty() ? "" : " (" + reason + ")");
}

void CompareConditions(const Json& before, const Json& after, const std::string& path,
                       std::vector<std::string>& out) {
  const auto find = [](const Json& list, const std::string& type) -> const Json* {
    if (!list.is_array()) return nullptr;
    for (const Json& item : list)
      if (TextAt(item, {"type"}) == type) return &item;
    return nullptr;
  };
  for (const Json& condition : after) {
    const std::string type = TextAt(condition, {"type"});
    const Json* old = find(before, type);
    if (Quiet(type)) continue;
    if (old == nullptr || ConditionText(*old) != ConditionText(condition) ||
        TextAt(*old, {"message"}) != TextAt(condition, {"message"}))
      out.push_back(fmt::format("{}.{}={}", path, type, ConditionText(condition)));
  }
  if (before.is_array())
    for (const Json& condition : before)
      if (find(after, TextAt(condition, {"type"})) == nullptr)
        out.push_back(fmt::format("{}.{} removed", path, TextAt(condition, {"type"})));
}

void Compare(const Json& before, const Json& after, const std::string& path,
             std::vector<std::string>& out) {
  if (before == after) return;
  if (Typed(after) && (before.is_null() || before.is_array()))
    return CompareConditions(before, after, path, out);
  if (after.is_array()) {
    out.push_back(
        fmt::format("{}: {} {}", path, after.size(), after.size() == 1 ? "item" : "items"));
    return;
  }
  const bool maps = after.is_object() && (before.is_object() || before.is_null());
  if (!maps) {
    out.push_back(after.is_null() ? path + " removed" : fmt::format("{}={}", path, Short(after)));
    return;
  }
  const Json none;
  const auto step = [&](const std::string& member, const Json& old, const Json& now) {
    if (!Quiet(member)) Compare(old, now, path.empty() ? member : path + "." + member, out);
  };
  for (const auto& [member, value] : after.items())
    step(member, before.is_object() && before.contains(member) ? before[member] : none, value);
  if (before.is_object())
    for (const auto& [member, value] : before.items())
      if (!after.contains(member)) step(member, value, none);
}

bool OnlyAlive(const std::string& label) {
  return label.starts_with("Node ") || label.starts_with("Lease ");
}

}  // namespace

Look Look::At(ApiServer& api) {
  Look look;
  InProcess client(api, "skyctl/" SKY_VERSION);
  look.revision_ = api.revision();
  for (const Resource& resource : api.resources().all()) {
    const std::string target =
        fmt::format("/{}/{}", resource.group.empty() ? "api/v1" : "apis/" + resource.ApiVersion(),
                    resource.plural);
    const Reply reply = client.Get(target);
    const Json list = reply.json();
    const Json* items = Find(list, {"items"});
    if (items == nullptr || resource.IsEventsV1()) continue;
    for (const Json& item : *items) {
      const std::string ns = TextAt(item, {"metadata", "namespace"}),
                        name = TextAt(item, {"metadata", "name"}),
                        version = TextAt(item, {"metadata", "resourceVersion"});
      Seen seen;
      seen.label = fmt::format("{} {}{}", resource.kind, ns.empty() ? "" : ns + "/", name);
      std::from_chars(version.data(), version.data() + version.size(), seen.revision);
      seen.text = Dump(item);
      look.objects_.emplace(resource.kind + " " + TextAt(item, {"metadata", "uid"}),
                            std::move(seen));
    }
  }
  return look;
}

std::vector<std::string> Look::Since(const Look& before) const {
  std::map<int64_t, std::string> lines;  // by revision
  std::vector<std::string> gone;
  int64_t explained = 0;
  for (const auto& [key, seen] : objects_) {
    const auto old = before.objects_.find(key);
    if (old == before.objects_.end()) {
      lines[seen.revision] = seen.label + " created";
      ++explained;
      continue;
    }
    if (old->second.revision == seen.revision) continue;
    ++explained;
    std::vector<std::string> changed;
    Compare(ParseJson(old->second.text).value_or(Json()), ParseJson(seen.text).value_or(Json()), "",
            changed);
    if (!changed.empty())
      lines[seen.revision] = fmt::format("{}: {}", seen.label, fmt::join(changed, ", "));
    else if (!OnlyAlive(seen.label))
      lines[seen.revision] = seen.label + ": written again with nothing new";
  }
  for (const auto& [key, seen] : before.objects_) {
    if (objects_.contains(key)) continue;
    gone.push_back(seen.label + " gone");
    ++explained;
  }
  std::vector<std::string> out;
  for (auto& [at, line] : lines) out.push_back(std::move(line));
  std::ranges::sort(gone);
  out.insert(out.end(), gone.begin(), gone.end());
  if (const int64_t more = revision_ - before.revision_ - explained; more > 0)
    out.push_back(
        fmt::format("and {} more {} to the same objects", more, more == 1 ? "write" : "writes"));
  return out;
}

}  // namespace sky::lab
