// SPDX-License-Identifier: Apache-2.0
// One case of the differential oracle: a small cluster and a pod to place, drawn from a seed, as
// the JSON that e2e/oracle reads; and the smallest part of it about which both sides still differ.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/core.h"
#include "api/pod.h"
#include "api/volumes.h"

namespace sky::oracle {

struct Question {
  std::vector<api::Node> nodes;
  std::vector<api::Pod> pods;  // bound
  api::Pod pod;
  std::vector<std::string> candidates;  // names of the nodes that are scored
  std::vector<api::PersistentVolumeClaim> claims;
  std::vector<api::PersistentVolume> volumes;
  std::vector<api::StorageClass> classes;
  std::vector<api::CSINode> limits;
};

// By part ("InterPodAffinity"): the nodes that it lets the pod have, and its scores of candidates.
struct Answer {
  std::map<std::string, std::vector<std::string>> feasible;
  std::map<std::string, std::map<std::string, int64_t>> scores;
};

Question Draw(uint64_t seed);
std::string ToJson(const Question& question);

// Leaves out whatever can be left out while `differs` stays true.
Question Shrink(Question question, const std::function<bool(const Question&)>& differs);

// What our plugins say.
Answer Ours(const Question& question);

}  // namespace sky::oracle
