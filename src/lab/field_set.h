// SPDX-License-Identifier: Apache-2.0
// A set of places in a document, as managedFields keeps it: {"f:spec":{"f:queue":{}}}, list items
// under their keys ("k:{\"name\":\"a\"}") or values ("v:\"a\""). Who owns what is told in such
// sets. Pure values.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lab/document.h"
#include "lab/merge_types.h"

namespace sky::lab {

class FieldSet {
 public:
  // Every place that a document speaks of: its leaves, items of keyed lists, empty maps and lists.
  static FieldSet Of(const Json& document, const MergeType& type);
  // fieldsV1; what isn't one reads as empty.
  static FieldSet FromJson(const Json& fields);
  Json ToJson() const;

  bool empty() const { return !self_ && children_.empty(); }
  FieldSet Union(const FieldSet& other) const;
  FieldSet Intersection(const FieldSet& other) const;
  FieldSet Minus(const FieldSet& other) const;
  // Without the places below this top-level member ("status").
  FieldSet Without(const std::string& member) const;
  // ".spec.queue", ".spec.containers[name=\"a\"].image"
  std::vector<std::string> Paths() const;

  // Whether the place itself is in the set, and what lies below it.
  bool self() const { return self_; }
  const std::map<std::string, FieldSet>& children() const { return children_; }

  // What differs from `before` to `after`; a changed leaf is in `modified`.
  struct Difference;
  static Difference Compare(const Json* before, const Json* after, const MergeType& type);

 private:
  static FieldSet Leaf();
  void CollectPaths(const std::string& path, std::vector<std::string>& out) const;
  static void CompareInto(const Json* before, const Json* after, const MergeType& type,
                          FieldSet& added, FieldSet& modified, FieldSet& removed);
  bool self_ = false;
  std::map<std::string, FieldSet> children_;
};

struct FieldSet::Difference {
  FieldSet added, modified, removed;
};

}  // namespace sky::lab
