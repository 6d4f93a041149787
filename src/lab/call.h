// SPDX-License-Identifier: Apache-2.0
// A request to the API server, understood: which resource, which object, what is to be done, under
// which options. Pure; made once a request and handed down.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "lab/failure.h"
#include "lab/resources.h"
#include "server/http.h"

namespace sky::lab {

enum class Verb : uint8_t {
  kGet,
  kList,
  kWatch,
  kCreate,
  kUpdate,
  kPatch,
  kDelete,
  kDeleteCollection
};
std::string_view VerbName(Verb verb);  // as RBAC names them: "deletecollection"
inline bool IsWrite(Verb verb) { return verb > Verb::kWatch; }

enum class FieldValidation : uint8_t { kIgnore, kWarn, kStrict };

// How the answer is to be written.
enum class Form : uint8_t { kWhole, kTable, kMetadata };

struct Call {
  const server::Request* request = nullptr;
  const Resource* resource = nullptr;
  Verb verb = Verb::kGet;
  std::string ns, name, subresource;

  bool dry_run = false, force = false;
  FieldValidation validation = FieldValidation::kWarn;
  std::string manager;  // fieldManager, else the front of the User-Agent
  Form form = Form::kWhole;
  // A write that would be stored later than this isn't (query `timeout`, at most a minute).
  MonoTime deadline = MonoTime::max();

  About about() const { return {resource->group, resource->plural, resource->kind, name}; }
  bool IsMain() const { return subresource.empty(); }
  bool IsStatus() const { return subresource == "status"; }
  std::string_view Query(std::string_view key) const { return request->target.QueryOr(key); }
};

// The resource part of the path: /api/v1/…, /apis/<group>/<version>/….
struct ResourcePath {
  const Resource* resource = nullptr;
  std::string ns, name, subresource;
};
std::optional<ResourcePath> ParseResourcePath(const Resources& resources,
                                              const server::Target& target);

// `received` is when the request arrived: the deadline counts from there. Refuses what no resource
// of `resources` answers (404), methods it doesn't have (405) and malformed options (400).
Answered<Call> Understand(const Resources& resources, const server::Request& request,
                          MonoTime received);

}  // namespace sky::lab
