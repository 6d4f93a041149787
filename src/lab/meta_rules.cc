// SPDX-License-Identifier: Apache-2.0
#include "lab/meta_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

#include "api/names.h"

namespace sky::lab {
namespace {

constexpr size_t kMaxAnnotationBytes = 256u << 10;

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

constexpr std::array<std::string_view, 16> kMetaMembers = {"annotations",
                                                           "creationTimestamp",
                                                           "deletionGracePeriodSeconds",
                                                           "deletionTimestamp",
                                                           "finalizers",
                                                           "generateName",
                                                           "generation",
                                                           "labels",
                                                           "managedFields",
                                                           "name",
                                                           "namespace",
                                                           "ownerReferences",
                                                           "resourceVersion",
                                                           "selfLink",
                                                           "uid",
                                                           "clusterName"};

void CheckName(const Resource& resource, const std::string& name, std::vector<Cause>& out) {
  if (name.empty()) {
    out.push_back(Required("metadata.name", "name or generateName is required"));
  } else if (resource.is("", "namespaces") ? !api::IsDnsLabel(name) : !api::IsDnsSubdomain(name)) {
    out.push_back(
        InvalidValue("metadata.name", name,
                     "must consist of lower case letters, digits, \"-\" or \".\", and begin "
                     "and end with a letter or digit"));
  }
}

void CheckLabels(const Json& metadata, std::vector<Cause>& out) {
  const Json* labels = Find(metadata, {"labels"});
  if (labels == nullptr || labels->is_null()) return;
  for (const auto& [key, value] : labels->items()) {
    if (!api::IsQualifiedName(key))
      out.push_back(InvalidValue("metadata.labels", key,
                                 "is no name of a label: [prefix/]name, up to 63 "
                                 "letters, digits, \"-\", \"_\" or \".\""));
    if (!api::IsLabelValue(value.get_ref<const std::string&>()))
      out.push_back(
          InvalidValue("metadata.labels", value,
                       "is no value of a label: at most 63 letters, digits, \"-\", \"_\" or "
                       "\".\", beginning and ending with a letter or digit"));
  }
}

void CheckAnnotations(const Json& metadata, std::vector<Cause>& out) {
  const Json* annotations = Find(metadata, {"annotations"});
  if (annotations == nullptr || annotations->is_null()) return;
  size_t bytes = 0;
  for (const auto& [key, value] : annotations->items()) {
    if (!api::IsQualifiedName(LowerCase(key)))  // of annotations alone case doesn't count
      out.push_back(InvalidValue("metadata.annotations", key, "is no name of an annotation"));
    bytes += key.size() + value.get_ref<const std::string&>().size();
  }
  if (bytes > kMaxAnnotationBytes)
    out.push_back(TooLong("metadata.annotations", kMaxAnnotationBytes));
}

void CheckOwners(const Json& metadata, std::vector<Cause>& out) {
  const Json* owners = Find(metadata, {"ownerReferences"});
  if (owners == nullptr || !owners->is_array()) return;
  size_t controllers = 0;
  for (size_t i = 0; i < owners->size(); ++i) {
    for (const std::string_view name : {"apiVersion", "kind", "name", "uid"})
      if (TextAt((*owners)[i], {name}).empty())
        out.push_back(Required(fmt::format("metadata.ownerReferences[{}].{}", i, name)));
    controllers += BoolAt((*owners)[i], {"controller"}) ? 1 : 0;
  }
  if (controllers > 1)
    out.push_back(InvalidValue("metadata.ownerReferences", *owners,
                               "only one owner may have controller set to true"));
}

void CheckFinalizers(const Json& document, const Json* old, std::vector<Cause>& out) {
  const std::vector<std::string> finalizers = TextsAt(document, {"metadata", "finalizers"});
  for (const std::string& finalizer : finalizers)
    if (!api::IsQualifiedName(finalizer))
      out.push_back(InvalidValue("metadata.finalizers", finalizer, "is no qualified name"));
  if (old == nullptr || Find(*old, {"metadata", "deletionTimestamp"}) == nullptr) return;
  const std::vector<std::string> before = TextsAt(*old, {"metadata", "finalizers"});
  for (const std::string& finalizer : finalizers)
    if (std::ranges::find(before, finalizer) == before.end())
      out.push_back(
          ForbiddenField("metadata.finalizers",
                         "an object that is being deleted takes no new finalizer: " + finalizer));
}

// What a typed server can't decode.
Done TakeTextMaps(const Json* metadata, const Resource& resource) {
  for (const std::string_view name : {"labels", "annotations"}) {
    const Json* map = metadata == nullptr ? nullptr : Find(*metadata, {name});
    if (map == nullptr || map->is_null()) continue;
    if (!map->is_object() ||
        !std::ranges::all_of(*map, [](const Json& value) { return value.is_string(); }))
      return std::unexpected(BadRequest(fmt::format(
          "{} in version \"{}\" cannot be handled as a {}: metadata.{} must be a map of "
          "texts",
          resource.kind, resource.version, resource.kind, name)));
  }
  return {};
}

}  // namespace

std::vector<std::string> PruneMetadata(Json& document) {
  std::vector<std::string> unknown;
  Json& metadata = MapAt(document, {"metadata"});
  for (auto member = metadata.begin(); member != metadata.end();) {
    if (std::ranges::find(kMetaMembers, member.key()) != kMetaMembers.end()) {
      ++member;
      continue;
    }
    unknown.push_back("metadata." + member.key());
    member = metadata.erase(member);
  }
  return unknown;
}

std::vector<Cause> CheckMetadata(const Resource& resource, const Json& document, const Json* old) {
  std::vector<Cause> out;
  const Json& metadata = *Find(document, {"metadata"});
  if (old == nullptr) CheckName(resource, TextAt(metadata, {"name"}), out);
  CheckLabels(metadata, out);
  CheckAnnotations(metadata, out);
  CheckOwners(metadata, out);
  CheckFinalizers(document, old, out);
  return out;
}

std::string MakeUid(Rng& rng) {
  const uint64_t high = rng.Next(), low = rng.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | ((low >> 48) & 0x3fff), low & 0xffffffffffffull);
}

std::string MakeName(std::string_view prefix, Rng& rng) {
  // No vowels, so that no words appear.
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(prefix.substr(0, 58));
  for (int i = 0; i < 5; ++i) name.push_back(kAlphabet[rng.Below(kAlphabet.size())]);
  return name;
}

Done TakeIdentity(const Call& call, Json& document) {
  const Resource& resource = *call.resource;
  if (!document.is_object())
    return std::unexpected(BadRequest("the body must be an object of kind " + resource.kind));
  const std::string version = TextAt(document, {"apiVersion"}), kind = TextAt(document, {"kind"});
  if (!version.empty() && version != resource.ApiVersion())
    return std::unexpected(BadRequest(fmt::format(
        "the body has apiVersion \"{}\", this path takes \"{}\"", version, resource.ApiVersion())));
  if (!kind.empty() && kind != resource.kind)
    return std::unexpected(BadRequest(
        fmt::format("the body has kind \"{}\", this path takes \"{}\"", kind, resource.kind)));
  document["apiVersion"] = resource.ApiVersion();
  document["kind"] = resource.kind;
  const Json* given = Find(document, {"metadata"});
  if (given != nullptr && !given->is_object() && !given->is_null())
    return std::unexpected(BadRequest("metadata must be an object"));
  TRY(TakeTextMaps(given, resource));
  Json& metadata = MapAt(document, {"metadata"});
  for (const char* member : {"labels", "annotations", "finalizers", "ownerReferences"})
    if (const auto found = metadata.find(member); found != metadata.end() && found->empty())
      metadata.erase(found);  // none, and so written
  const std::string name = TextAt(metadata, {"name"}), ns = TextAt(metadata, {"namespace"});
  if (!call.name.empty()) {
    if (!name.empty() && name != call.name)
      return std::unexpected(
          BadRequest(fmt::format("the body names \"{}\", the path \"{}\"", name, call.name)));
    metadata["name"] = call.name;
  }
  if (resource.namespaced) {
    if (!ns.empty() && ns != call.ns)
      return std::unexpected(BadRequest("the namespace in the body is not the one in the path"));
    metadata["namespace"] = call.ns;
  } else {
    metadata.erase("namespace");
  }
  return {};
}

Done TakeServerFields(const Call& call, const Json& old, Json& document) {
  const std::string uid = TextAt(document, {"metadata", "uid"});
  const std::string old_uid = TextAt(old, {"metadata", "uid"});
  const bool other = !uid.empty() && uid != old_uid;
  if (other && call.verb != Verb::kPatch)  // of an update it is a precondition
    return std::unexpected(Conflict(
        call.about(), fmt::format("Precondition failed: UID in precondition: {}, UID in object "
                                  "meta: {}",
                                  uid, old_uid)));
  const std::string revision = TextAt(document, {"metadata", "resourceVersion"});
  if (!revision.empty() && revision != TextAt(old, {"metadata", "resourceVersion"}))
    return std::unexpected(
        Conflict(call.about(),
                 "it has changed since this resourceVersion: read it again and repeat the change"));
  if (other)
    return std::unexpected(
        Invalid(call.about(), {InvalidValue("metadata.uid", uid, "field is immutable")}));
  for (const std::string_view name :
       {"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
        "resourceVersion", "selfLink", "generateName"})
    CopyAt(old, document, {"metadata", name});
  return {};
}

}  // namespace sky::lab
