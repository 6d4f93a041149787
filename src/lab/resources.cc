// SPDX-License-Identifier: Apache-2.0
#include "lab/resources.h"

#include <nlohmann/json.hpp>

#include "lab/json_path.h"

namespace sky::lab {
namespace {

std::string BoolText(const Json& document, Path path) {
  return BoolAt(document, path) ? "true" : "false";
}

api::StringMap PodFields(const Json& pod) {
  api::StringMap fields;
  for (const std::string_view name :
       {"nodeName", "restartPolicy", "schedulerName", "serviceAccountName"})
    fields["spec." + std::string(name)] = TextAt(pod, {"spec", name});
  fields["spec.hostNetwork"] = BoolText(pod, {"spec", "hostNetwork"});
  for (const std::string_view name : {"phase", "podIP", "nominatedNodeName"})
    fields["status." + std::string(name)] = TextAt(pod, {"status", name});
  fields["status.podIPs"] = TextAt(pod, {"status", "podIP"});
  return fields;
}

api::StringMap NodeFields(const Json& node) {
  return {{"spec.unschedulable", BoolText(node, {"spec", "unschedulable"})}};
}

// Events are stored in the form of core/v1.
api::StringMap EventFields(const Json& event) {
  api::StringMap fields;
  for (const std::string_view name :
       {"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"}) {
    const std::string value = TextAt(event, {"involvedObject", name});
    fields["involvedObject." + std::string(name)] = value;
    fields["regarding." + std::string(name)] = value;
  }
  for (const std::string_view name : {"reason", "type", "reportingComponent"})
    fields[std::string(name)] = TextAt(event, {name});
  fields["reportingController"] = fields["reportingComponent"];
  fields["source"] = TextAt(event, {"source", "component"});
  return fields;
}

std::vector<std::string> Names(const api::StringMap& fields) {
  std::vector<std::string> names;
  for (const auto& [name, value] : fields) names.push_back(name);
  return names;
}

enum Trait : unsigned { kNamespaced = 1, kStatus = 2, kGeneration = 4 };

struct BuiltIn {
  std::string_view group, version, plural, singular, kind;
  std::string_view short_names, subresources;  // comma separated
  unsigned traits;
  std::string_view columns;  // "Name,Count:integer,*Node": * is shown by -o wide only
  api::StringMap (*fields)(const Json&);
};

constexpr BuiltIn kBuiltIn[] = {
    {"", "v1", "namespaces", "namespace", "Namespace", "ns", "", kStatus, "Name,Status,Age",
     nullptr},
    {"", "v1", "nodes", "node", "Node", "no", "", kStatus,
     "Name,Status,Roles,Age,Version,*Internal-IP,*External-IP,*OS-Image,*Kernel-Version,"
     "*Container-Runtime",
     NodeFields},
    {"", "v1", "pods", "pod", "Pod", "po", "binding,eviction", kNamespaced | kStatus | kGeneration,
     "Name,Ready,Status,Restarts,Age,*IP,*Node,*Nominated Node,*Readiness Gates", PodFields},
    {"", "v1", "events", "event", "Event", "ev", "", kNamespaced,
     "Last Seen,Type,Reason,Object,*Subobject,*Source,Message,*First Seen,*Count,*Name",
     EventFields},
    {"", "v1", "configmaps", "configmap", "ConfigMap", "cm", "", kNamespaced, "Name,Data,Age",
     nullptr},
    {"", "v1", "serviceaccounts", "serviceaccount", "ServiceAccount", "sa", "", kNamespaced,
     "Name,Age", nullptr},
    {"", "v1", "resourcequotas", "resourcequota", "ResourceQuota", "quota", "",
     kNamespaced | kStatus, "Name,Age", nullptr},
    {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "", "", kNamespaced,
     "Name,Holder,Age", nullptr},
    {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", "pdb",
     "", kNamespaced | kStatus | kGeneration,
     "Name,Min Available,Max Unavailable,Allowed Disruptions:integer,Age", nullptr},
    {"scheduling.k8s.io", "v1", "priorityclasses", "priorityclass", "PriorityClass", "pc", "",
     kGeneration, "Name,Value:integer,Global-Default:boolean,Age,PreemptionPolicy", nullptr},
    {"", "v1", "persistentvolumeclaims", "persistentvolumeclaim", "PersistentVolumeClaim", "pvc",
     "", kNamespaced | kStatus, "Name,Status,Volume,StorageClass,Age", nullptr},
    {"", "v1", "persistentvolumes", "persistentvolume", "PersistentVolume", "pv", "", kStatus,
     "Name,Status,Claim,StorageClass,Age", nullptr},
    {"storage.k8s.io", "v1", "storageclasses", "storageclass", "StorageClass", "sc", "", 0,
     "Name,Provisioner,VolumeBindingMode,Age", nullptr},
    {"storage.k8s.io", "v1", "csinodes", "csinode", "CSINode", "", "", 0, "Name,Age", nullptr},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "customresourcedefinition",
     "CustomResourceDefinition", "crd,crds", "", kStatus | kGeneration, "Name,Created At:date",
     nullptr},
};

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    parts.emplace_back(part);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return parts;
}

Column MakeColumn(std::string_view text) {
  Column column;
  column.priority = text.starts_with('*') ? 1 : 0;
  text.remove_prefix(static_cast<size_t>(column.priority));
  const size_t colon = text.find(':');
  column.name = text.substr(0, colon);
  column.type = colon == text.npos ? "string" : text.substr(colon + 1);
  if (column.name == "Name") column.format = "name";
  return column;
}

std::vector<Column> CrdColumns(const Json& version) {
  std::vector<Column> columns = {MakeColumn("Name")};
  const Json* listed = Find(version, {"additionalPrinterColumns"});
  if (listed == nullptr || !listed->is_array() || listed->empty()) {
    Column age = MakeColumn("Age:date");
    age.path = ".metadata.creationTimestamp";
    columns.push_back(std::move(age));
    return columns;
  }
  for (const Json& column : *listed)
    columns.push_back({TextAt(column, {"name"}), TextAt(column, {"type"}),
                       TextAt(column, {"format"}), TextAt(column, {"description"}),
                       TextAt(column, {"jsonPath"}),
                       static_cast<int>(IntAt(column, {"priority"}).value_or(0))});
  return columns;
}

}  // namespace

void Resources::AddBuiltIn(Store& store) {
  for (const BuiltIn& kind : kBuiltIn) {
    Resource r;
    r.group = kind.group, r.version = kind.version, r.plural = kind.plural;
    r.singular = kind.singular, r.kind = kind.kind;
    r.short_names = Split(kind.short_names);
    if (r.IsPod()) r.categories = {"all"};
    r.namespaced = (kind.traits & kNamespaced) != 0;
    r.has_status = (kind.traits & kStatus) != 0;
    r.has_generation = (kind.traits & kGeneration) != 0;
    r.subresources = Split(kind.subresources);
    for (const std::string& column : Split(kind.columns)) r.columns.push_back(MakeColumn(column));
    if (kind.fields != nullptr) r.selectable_fields = Names(kind.fields(Json::object()));
    r.stored_as = store.AddKind(kind.fields);
    all_.push_back(std::move(r));
  }
  Resource events = *Get("", "v1", "events");
  events.group = "events.k8s.io";
  all_.push_back(std::move(events));
}

Status CustomKinds::Add(Json crd) {
  const std::string name = TextAt(crd, {"metadata", "name"});
  if (TextAt(crd, {"kind"}) != "CustomResourceDefinition")
    return Fail(Code::kInvalid, "\"{}\" is a {}, not a CustomResourceDefinition", name,
                TextAt(crd, {"kind"}));
  const Json* versions = Find(crd, {"spec", "versions"});
  if (versions == nullptr || !versions->is_array() || versions->size() != 1)
    return Fail(Code::kInvalid, "{}: spec.versions must list exactly one version here", name);
  const Json& version = versions->front();
  Resource r;
  r.custom = true;
  r.group = TextAt(crd, {"spec", "group"});
  r.version = TextAt(version, {"name"});
  r.plural = TextAt(crd, {"spec", "names", "plural"});
  r.singular = TextAt(crd, {"spec", "names", "singular"});
  r.kind = TextAt(crd, {"spec", "names", "kind"});
  r.short_names = TextsAt(crd, {"spec", "names", "shortNames"});
  r.categories = TextsAt(crd, {"spec", "names", "categories"});
  r.namespaced = TextAt(crd, {"spec", "scope"}) == "Namespaced";
  r.has_status = Find(version, {"subresources", "status"}) != nullptr;
  r.has_generation = true;
  const Json* schema = Find(version, {"schema", "openAPIV3Schema"});
  if (r.group.empty() || r.version.empty() || r.plural.empty() || r.kind.empty() ||
      schema == nullptr)
    return Fail(Code::kInvalid, "{}: group, names, version and schema are needed", name);
  if (name != r.plural + "." + r.group)
    return Fail(Code::kInvalid, "{}: metadata.name must be {}.{}", name, r.plural, r.group);
  if (r.singular.empty()) {
    r.singular = r.kind;
    for (char& c : r.singular) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  r.schema = TRY(Schema::Make(*schema), "{}", name);
  r.columns = CrdColumns(version);
  for (const Column& column : r.columns) TRY(JsonPath::Parse(column.path), "{}", name);
  resources_.push_back(std::move(r));
  documents_.push_back(std::move(crd));
  return {};
}

CustomKinds::CustomKinds() = default;
CustomKinds::~CustomKinds() = default;

Result<std::shared_ptr<const CustomKinds>> CustomKinds::Parse(
    std::span<const std::string_view> texts) {
  std::shared_ptr<CustomKinds> kinds(new CustomKinds);
  for (const std::string_view text : texts)
    for (Json& crd : TRY(ParseYaml(text), "a CustomResourceDefinition"))
      TRY(kinds->Add(std::move(crd)));
  return kinds;
}

Resources::Resources(const CustomKinds& custom, Store& store) {
  AddBuiltIn(store);
  for (Resource resource : custom.resources()) {
    resource.stored_as = store.AddKind(nullptr);
    all_.push_back(std::move(resource));
  }
}

const Resource* Resources::Get(std::string_view group, std::string_view version,
                               std::string_view plural) const {
  for (const Resource& resource : all_)
    if (resource.group == group && resource.version == version && resource.plural == plural)
      return &resource;
  return nullptr;
}

const Resource* Resources::ByKind(std::string_view api_version, std::string_view kind) const {
  for (const Resource& resource : all_)
    if (resource.kind == kind && resource.ApiVersion() == api_version) return &resource;
  return nullptr;
}

}  // namespace sky::lab
