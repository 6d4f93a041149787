// SPDX-License-Identifier: Apache-2.0
// Statements by which users make, change and remove objects, as JSON through the API server.
#include <charconv>
#include <nlohmann/json.hpp>

#include "lab/scenario.h"

namespace sky::lab {
namespace {

std::string PathOf(const Resource& resource, std::string_view ns, std::string_view name) {
  std::string path = resource.group.empty() ? "/api/v1" : "/apis/" + resource.ApiVersion();
  if (resource.namespaced) path += fmt::format("/namespaces/{}", server::Escape(ns));
  path += "/" + resource.plural;
  if (!name.empty()) path += "/" + server::Escape(name);
  return path;
}

// By kind, plural, singular or short name, in any case.
Result<const Resource*> FindResource(const Resources& resources, std::string_view word) {
  const auto same = [&](std::string_view name) {
    return std::ranges::equal(name, word, [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) ==
             std::tolower(static_cast<unsigned char>(b));
    });
  };
  for (const bool ours : {true, false})  // "quota" is ours before anybody else's
    for (const Resource& resource : resources.all()) {
      if (resource.custom != ours) continue;
      if (same(resource.kind) || same(resource.plural) || same(resource.singular)) return &resource;
      for (const std::string& alias : resource.short_names)
        if (same(alias)) return &resource;
    }
  return Fail(Code::kInvalid, "the API serves no kind \"{}\"", word);
}

Status Check(const Reply& reply, std::string_view what) {
  if (reply.ok()) return {};
  return Fail(Code::kInvalid, "{} refused ({}): {}", what, reply.status, reply.message());
}

std::string NamespaceOf(const testing::Words& words) { return words.Or("ns", "default"); }

}  // namespace

// Creates; what is there already is changed to what the document says. A status goes in as well.
Status Scenario::CreateJson(const Json& object) {
  const std::string version = TextAt(object, {"apiVersion"}), kind = TextAt(object, {"kind"});
  const std::string name = TextAt(object, {"metadata", "name"});
  if (version.empty() || kind.empty())
    return Fail(Code::kInvalid, "an object needs apiVersion and kind");
  const Resource* resource = simulation_->api().resources().ByKind(version, kind);
  if (resource == nullptr) return Fail(Code::kInvalid, "no kind {} in {}", kind, version);
  std::string ns = TextAt(object, {"metadata", "namespace"});
  if (resource->namespaced && ns.empty()) ns = "default";
  if (resource->namespaced && user_->Get("/api/v1/namespaces/" + ns).status == 404)
    TRY(CreateJson(
        Json{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}}));
  const std::string what = fmt::format("{} {}", kind, name);
  Reply reply = user_->Post(PathOf(*resource, ns, "") + "?fieldValidation=Strict", object);
  if (reply.status == 409)
    reply = user_->Patch(InProcess::PatchType::kMerge, PathOf(*resource, ns, name), object);
  TRY(Check(reply, what));
  if (!resource->has_status || Find(object, {"status"}) == nullptr) return {};
  return Check(
      user_->Patch(InProcess::PatchType::kMerge, PathOf(*resource, ns, name) + "/status", object),
      what);
}

Status Scenario::Create(const std::string& document) {
  return CreateJson(TRY(ParseJson(document)));
}

Scenario::Answer Scenario::MakeNodes(const std::string& names, const testing::Words& words,
                                     const std::vector<std::string>& switches) {
  for (const std::string& name : TRY(testing::ExpandNames(names))) {
    TRY(Create(api::Encode(testing::MakeNode(name, words))));
    if (!switches.empty())
      TRY(Create(api::Encode(testing::MakeTopology(name, words.Or("net", "roce"), switches))));
  }
  return std::string();
}

Scenario::Answer Scenario::Leaf(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  return MakeNodes(statement.names[1], words, TRY(testing::ExpandNames(statement.names[0])));
}

Scenario::Answer Scenario::Nodes(const Statement& statement) {
  return MakeNodes(statement.names[0], TRY(testing::ReadWords(statement.words)), {});
}

Scenario::Answer Scenario::Queue(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  api::Queue queue;
  queue.metadata.name = statement.names[0];
  queue.spec.parent = words.Or("parent", "");
  queue.spec.capability = words.amounts;
  for (const auto& [word, value] :
       {std::pair("weight", &queue.spec.weight), std::pair("priority", &queue.spec.priority)}) {
    const std::string text = words.Or(word, "0");
    if (std::from_chars(text.data(), text.data() + text.size(), *value).ec != std::errc{})
      return Fail(Code::kInvalid, "{}={} is not a number", word, text);
  }
  TRY(Create(api::Encode(queue)));
  return std::string();
}

Scenario::Answer Scenario::Quotas(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[0])))
    TRY(Create(api::Encode(testing::MakeQuota(name, words))));
  return std::string();
}

Scenario::Answer Scenario::Group(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  TRY(Create(api::Encode(testing::MakeGroup(statement.names[0], 1, words))));
  return std::string();
}

Scenario::Answer Scenario::Job(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  const std::string& name = statement.names[0];
  const std::string& text = statement.names[1];
  int members = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), members);
  if (error != std::errc{} || end != text.data() + text.size() || members < 0)
    return Fail(Code::kInvalid, "\"{}\" is not a number of members: job NAME N …", text);
  if (!words.Has("nogroup")) TRY(Create(api::Encode(testing::MakeGroup(name, members, words))));
  for (int i = 0; i < members; ++i)
    TRY(Create(api::Encode(testing::MakeWorker(name, fmt::format("{}-{}", name, i), words))));
  return std::string();
}

Scenario::Answer Scenario::Pod(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[0])))
    TRY(Create(api::Encode(testing::MakeWorker(words.Or("group", ""), name, words))));
  return std::string();
}

Scenario::Answer Scenario::ApplyBody(const Statement& statement) {
  const bool refused = !statement.names.empty();
  if (refused && statement.names[0] != "refused")
    return Fail(Code::kInvalid, "apply takes one word: refused");
  std::string output;
  for (const Json& document : TRY(ParseYaml(statement.body))) {
    const Status status = CreateJson(document);
    const std::string what =
        fmt::format("{} {}", TextAt(document, {"kind"}), TextAt(document, {"metadata", "name"}));
    if (status.has_value() && refused)
      return Fail(Code::kConflict, "{}{} was taken, and should have been refused", output, what);
    if (!status && !refused) return std::unexpected(status.error());
    if (!status) output += status.error().message() + "\n";
  }
  return output;
}

Scenario::Answer Scenario::Delete(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  const Resource* resource = TRY(FindResource(simulation_->api().resources(), statement.names[0]));
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[1]))) {
    std::string path = PathOf(*resource, NamespaceOf(words), name);
    if (words.Has("now")) path += "?gracePeriodSeconds=0";
    TRY(Check(user_->Delete(path), fmt::format("delete {} {}", resource->kind, name)));
  }
  return std::string();
}

Scenario::Answer Scenario::PatchOne(const Statement& statement) {
  std::string_view rest = statement.rest;
  const size_t brace = std::min(rest.find('{'), rest.size());
  std::vector<std::string> words;
  for (std::string_view head = rest.substr(0, brace); !head.empty();) {
    const size_t space = std::min(head.find(' '), head.size());
    if (space > 0) words.emplace_back(head.substr(0, space));
    head.remove_prefix(std::min(space + 1, head.size()));
  }
  const bool status = words.size() == 3 && words[2] == "status";
  if (brace == rest.size() || (words.size() != 2 && !status))
    return Fail(Code::kInvalid, "patch KIND NAME [status] {{JSON}}");
  const Resource* resource = TRY(FindResource(simulation_->api().resources(), words[0]));
  const size_t slash = words[1].find('/');
  const std::string ns = slash == std::string::npos ? "default" : words[1].substr(0, slash);
  Json patch = TRY(ParseJson(rest.substr(brace)));
  std::string path =
      PathOf(*resource, ns, slash == std::string::npos ? words[1] : words[1].substr(slash + 1));
  if (status) {
    path += "/status";
    patch = Json{{"status", std::move(patch)}};
  }
  TRY(Check(user_->Patch(InProcess::PatchType::kMerge, path, patch), "patch"));
  return std::string();
}

Scenario::Answer Scenario::Cordon(const Statement& statement) {
  const bool cordon = statement.verb == "cordon";
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[0])))
    TRY(Check(user_->Patch(InProcess::PatchType::kMerge, "/api/v1/nodes/" + name,
                           Json{{"spec", {{"unschedulable", cordon}}}}),
              statement.verb));
  return std::string();
}

Scenario::Answer Scenario::FailNodes(const Statement& statement) {
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[0]))) {
    TRY(Check(user_->Get("/api/v1/nodes/" + name), statement.verb));
    if (statement.verb == "fail")
      simulation_->kubelets().Fail(name);
    else
      simulation_->kubelets().Return(name);
  }
  return std::string();
}

Scenario::Answer Scenario::EndPods(const Statement& statement) {
  const testing::Words words = TRY(testing::ReadWords(statement.words));
  Json status = {{"status", {{"phase", statement.verb == "finish" ? "Succeeded" : "Failed"}}}};
  if (const std::string reason = words.Or("reason", ""); !reason.empty())
    status["status"]["reason"] = reason;
  for (const std::string& name : TRY(testing::ExpandNames(statement.names[0])))
    TRY(Check(
        user_->Patch(InProcess::PatchType::kMerge,
                     fmt::format("/api/v1/namespaces/{}/pods/{}/status", NamespaceOf(words), name),
                     status),
        statement.verb));
  return std::string();
}

}  // namespace sky::lab
