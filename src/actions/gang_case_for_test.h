// SPDX-License-Identifier: Apache-2.0
// A small gang in a small cluster as plain numbers: drawn from a seed, told to a testing::Cluster,
// and judged by brute force (brute_force_for_test.h). Nodes stand in physical order and quotas in
// natural order of their names, because they are numbered that way; nothing here sorts names.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "testing/cluster.h"

namespace sky::actions {

enum : size_t { kGpu, kHca, kCpu, kSlots, kAmounts };
using Amounts = std::array<int, kAmounts>;

struct GangCase {
  struct Node {
    int number = 0, leaf = -1, spec = -1, rack = 0;  // -1: none
    char series = 'a';                               // before the number; decides among equal ones
    bool cordoned = false;
    Amounts allocatable{};
  };
  struct Quota {
    int shape = 0, number = 0;
    Amounts request{};
    std::array<bool, kAmounts> listed{};
    int spec = -1, rack = -1;  // selected
    int node = -1;             // where its status says it is
    bool demanded = false;     // by a member
  };
  struct Pod {
    Amounts request{};
    int rank = 0;               // -1: its name has none
    int note = -1;              // task-index, over the name's
    bool first = false;         // of the role that stands first
    int rack = -1;              // selected
    int required = -1;          // quota
    int node = -1, quota = -1;  // where it is already
    bool asks_rdma() const { return request[kHca] > 0; }
    bool asks_devices() const { return request[kGpu] > 0 || request[kHca] > 0; }
    int index() const { return note >= 0 ? note : rank; }
  };
  enum class Topology : uint8_t { kAuto, kStrict, kOff };

  std::vector<Node> nodes;      // in physical order
  std::vector<Quota> quotas;    // in the order of their numbers
  std::vector<Pod> members;     // of the gang: by role, rank, name
  std::vector<Pod> neighbours;  // of other jobs, all placed; without a quota: another scheduler's
  Topology topology = Topology::kAuto;
  bool pack = false, elastic = false;  // elastic: who isn't placed yet is an extra
  int zones = 0;                       // max-zones; 0: not said

  bool needs_rdma() const;
  bool strict() const { return topology == Topology::kStrict; }
  bool zoned() const { return strict() || (topology == Topology::kAuto && needs_rdma()); }
  bool in_chain(const Pod& pod) const { return zoned() && (pod.asks_rdma() || !needs_rdma()); }
  // Somebody before it has its role and rank, or it has none: then it has no order.
  bool ordered(size_t member) const;
};

GangCase DrawGangCase(uint64_t seed);

// How things are called. Two of them that keep every order, and who stands beside whom, must give
// the same answer.
struct Naming {
  bool other = false;
  std::string node(const GangCase::Node& node) const;
  std::string quota(const GangCase::Quota& quota) const;
  std::string leaf(int leaf) const;
  std::string spec(int spec) const;
  std::string group() const { return other ? "zz" : "gang"; }
  std::string member(const GangCase& gang, size_t member) const;
};

// Everything in it arrives at the cluster, in an order that `shuffle` decides.
void Tell(const GangCase& gang, const Naming& naming, uint64_t shuffle, testing::Cluster& cluster);
// For the reader of a failure.
std::string Text(const GangCase& gang);

}  // namespace sky::actions
