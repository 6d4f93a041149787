// SPDX-License-Identifier: Apache-2.0
#include "lab/objects.h"

#include <nlohmann/json.hpp>

#include "lab/in_process.h"

namespace sky::lab {
namespace {

Status CreateOne(ApiServer& api, const Json& object) {
  const std::string version = TextAt(object, {"apiVersion"}), kind = TextAt(object, {"kind"});
  const std::string name = TextAt(object, {"metadata", "name"});
  if (version.empty() || kind.empty())
    return Fail(Code::kInvalid, "\"{}\": an object needs apiVersion and kind", name);
  const Resource* resource = api.resources().ByKind(version, kind);
  if (resource == nullptr)
    return Fail(Code::kInvalid, "{} \"{}\": kind {} of {} is not served here", kind, name, kind,
                version);
  std::string path = resource->group.empty() ? "/api/" : "/apis/" + resource->group + "/";
  path += resource->version;
  if (resource->namespaced) {
    const std::string ns = TextAt(object, {"metadata", "namespace"});
    path += "/namespaces/" + server::Escape(ns.empty() ? "default" : ns);
  }
  InProcess client(api, "skyctl/" SKY_VERSION);
  const Reply reply =
      client.Post(path + "/" + resource->plural + "?fieldValidation=Strict", object);
  if (reply.ok()) return {};
  return Fail(Code::kInvalid, "{} \"{}\": {}", kind, name, reply.message());
}

}  // namespace

Status CreateObjects(ApiServer& api, std::string_view yaml) {
  for (const Json& document : TRY(ParseYaml(yaml))) {
    const Json* items = Find(document, {"items"});
    if (!TextAt(document, {"kind"}).ends_with("List") || items == nullptr || !items->is_array()) {
      TRY(CreateOne(api, document));
      continue;
    }
    for (const Json& item : *items) TRY(CreateOne(api, item));
  }
  return {};
}

}  // namespace sky::lab
