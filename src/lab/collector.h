// SPDX-License-Identifier: Apache-2.0
// The garbage collector, only where it was asked for: deletes what has lost all its owners,
// finishes deletes that propagate in the foreground or orphan, and empties namespaces on their way
// out. Borrowed by ApiServer, under its lock.
#pragma once

#include "lab/writer.h"

namespace sky::lab {

class Collector {
 public:
  Collector(Store& store, const Resources& resources, const Clock& clock, Writer& writer);

  // Until nothing is left to do. Cheap when nothing was deleted and nothing owned was made.
  void Run();

 private:
  bool Sweep();
  bool FinishDelete(const Resource& resource, const Object& object);
  bool DropFinalizer(const Resource& resource, const Object& object, std::string_view finalizer);
  std::vector<std::pair<const Resource*, ObjectPtr>> DependentsOf(const std::string& uid) const;
  bool Delete(const Resource& resource, const Object& object);

  Store& store_;
  const Resources& resources_;
  const Clock& clock_;
  Writer& writer_;
  bool dirty_ = false;
};

}  // namespace sky::lab
