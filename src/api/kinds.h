// SPDX-License-Identifier: Apache-2.0
// What the API server calls each kind: one table for the client, the embedded server, RBAC checks
// and the CRD test.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/core.h"
#include "api/crds.h"
#include "api/pod.h"
#include "api/volumes.h"

namespace sky::api {

struct Kind {
  std::string_view group;  // "" is core
  std::string_view version, kind, plural, singular;
  std::string_view short_name;  // "" without one
  bool namespaced;
  bool has_status;  // the status subresource

  std::string ApiVersion() const;  // "v1", "scheduling.infini-ai.com/v1alpha1"
  // "/api/v1/namespaces/ns/pods/name"; empty namespace: across all; empty name: the collection.
  std::string Path(std::string_view ns, std::string_view name) const;
};

template <class T>
const Kind& KindOf();  // for every kind of core.h, crds.h, pod.h and volumes.h

std::span<const Kind> AllKinds();
// By group and plural; nullptr when unknown.
const Kind* FindKind(std::string_view group, std::string_view plural);

}  // namespace sky::api
