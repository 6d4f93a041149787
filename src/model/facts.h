// SPDX-License-Identifier: Apache-2.0
// From API objects to what the model keeps: one place that reads labels, annotations and requests.
// A malformed note never hides an object: it is named in `problem` for the owner and the default is
// used.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cluster.h"
#include "model/task.h"

namespace sky::model {

// Ids of the mount points that a node has ready, sorted.
std::vector<std::string> MountsOf(const api::Node& node, Duration tolerance);
// The parts of "a, b,c"; empty ones don't count.
std::vector<std::string> PartsOf(std::string_view text);
// Where a quota is asked to be: by its spec, else by what a controller has written; "": anywhere.
std::string StaticNodeOf(const api::Quota& quota);

std::shared_ptr<const PodFacts> MakePodFacts(std::shared_ptr<const api::Pod> pod,
                                             const Settings& settings, Names& names);

// The longest of the configured keys that `labels` has; absent: no spec code.
SpecId SpecOf(const api::StringMap& labels, const Settings& settings, Names& names);
// Annotation node-index, else the number at the end of the name, else last.
int64_t NodeIndexOf(const api::ObjectMeta& meta, std::string* problem);

JobNotes ReadJobNotes(const api::ObjectMeta& meta);

// Annotation rdma-topology-key of a Node or NodeTopology; "" when it is absent or malformed.
std::string_view ZoneOverrideOf(const api::ObjectMeta& meta, std::string* problem);

// How a node with this topology hangs in the network. An override (annotation, or a `zone` label
// that discovery didn't write) holds for both networks. `leaf_groups`: zones are the domains of the
// lowest tier, where there is one. `problem` is about the topology's own notes.
NodeWiring WiringOf(const api::NodeTopology& topology, const api::ObjectMeta* node,
                    bool leaf_groups, Names& names, std::string* problem);
// The zone of all nodes that hang on exactly these; invalid: of none.
ZoneId ZoneOfSwitches(Network network, const std::vector<std::string>& switches, Names& names);

// "rdma/*" matches "rdma/hca": * is any run of characters.
bool GlobMatches(std::string_view glob, std::string_view text);

}  // namespace sky::model
