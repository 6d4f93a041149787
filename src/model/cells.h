// SPDX-License-Identifier: Apache-2.0
// What stands beside the rows of a cluster: names shared by all its copies, nodes by zone and spec
// code, and the list of rows that somebody must look at again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/interner.h"
#include "model/resources.h"
#include "model/types.h"

namespace sky::model {

// Shared by all copies of a cluster: ids mean the same everywhere.
struct Names {
  ResourceNames resources;
  Interner<SpecTag> specs;
  Interner<ZoneTag> zones;
  Interner<ClassTag> classes;
  Interner<struct LabelKeyTag> quota_keys;  // of labels of quotas that any term has read
};

// Nodes of one zone of a network and one spec code, in physical order. An invalid zone (of no
// network: kRoce): all nodes of that spec code.
struct CellKey {
  Network network = Network::kRoce;
  ZoneId zone;
  SpecId spec;
  bool degraded = false;  // those that have lost some of the zone's switches
  auto operator<=>(const CellKey&) const = default;
};
// The next moment of this process: no two changes, of any cluster, ever have the same. Thread-safe.
uint64_t Tick();

struct CellTag;
using CellId = Id<CellTag>;
struct Cell {
  CellKey key;
  std::vector<NodeId> nodes;
  // Ticks: when anything on a node of it was last recounted, and when what may be placed there last
  // grew in some way.
  uint64_t changed = 0, grown = 0;
};

// The cells by dense id; an empty cell has no row.
class Cells {
 public:
  const std::map<CellKey, CellId>& by_key() const { return by_key_; }
  const Cell& operator[](CellId id) const { return rows_[id.index()]; }
  Cell& operator[](CellId id) { return rows_[id.index()]; }
  // The ticks at which any cell last changed, and grew.
  uint64_t changed() const { return changed_; }
  uint64_t grown() const { return grown_; }
  void NoteChange(CellId id, bool grew) {
    changed_ = rows_[id.index()].changed = Tick();
    if (grew) grown_ = rows_[id.index()].grown = changed_;
  }
  size_t size() const { return rows_.size(); }  // slots
  CellId Find(const CellKey& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? CellId{} : found->second;
  }
  CellId FindOrAdd(const CellKey& key);
  void Free(CellId id);
  // The tick at which a node last entered or left a cell.
  uint64_t rearranged() const { return rearranged_; }
  void Rearranged() { rearranged_ = Tick(); }

 private:
  std::map<CellKey, CellId> by_key_;
  std::vector<Cell> rows_;
  std::vector<CellId> free_;
  uint64_t rearranged_ = 0, changed_ = 0, grown_ = 0;
};

// Rows that changed since somebody last asked, by kind, unsorted and possibly repeated.
struct Touched {
  std::vector<TaskId> tasks;
  std::vector<JobId> jobs;
  std::vector<QueueId> queues;
  std::vector<QuotaId> quotas;
  std::vector<NodeId> nodes;
  std::vector<JobQueueId> job_queues;
  std::vector<QueueId> uses;  // queues of which another amount is used
};

struct PriorityClasses {
  std::map<std::string, int32_t, std::less<>> values;
  std::map<std::string, int32_t, std::less<>>
      global_defaults;  // the greatest name wins, as the API has one
};

}  // namespace sky::model
