// SPDX-License-Identifier: Apache-2.0
// What etcd is to an API server: objects by (kind, namespace, name), one revision counter for all
// of them, and the history of changes, from which any state since the last compaction can be told
// again. Knows of JSON only metadata.resourceVersion, uid and labels, and rules of no kind. Not
// thread-safe: ApiServer holds the lock. Lives as long as the server; nothing is written to disk.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "base/ids.h"
#include "base/result.h"
#include "lab/document.h"

namespace sky::lab {

using Revision = int64_t;
using KindId = Id<struct KindTag>;

// One state of one object. Immutable, shared by the present, the history and the watches.
struct Object {
  std::string ns, name, uid;
  Revision revision = 0;
  std::string text;  // the whole document
  api::StringMap labels;
  api::StringMap fields;            // what a field selector may ask
  std::vector<std::string> owners;  // uids of its owner references
  bool deleting = false;            // has a deletionTimestamp
};
using ObjectPtr = std::shared_ptr<const Object>;
Json Parsed(const Object& object);

struct StoreEvent {
  enum class Type : uint8_t { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  Revision revision = 0;
  KindId kind;
  ObjectPtr object;  // the new state; for kDeleted the last one, stamped with this revision
  ObjectPtr old;     // null for kAdded
};

class Store {
 public:
  using FieldsOf = std::function<api::StringMap(const Json& document)>;
  using Listener = std::function<void(const StoreEvent&)>;
  using ListenerId = uint64_t;

  // Keeps at most this many events over all kinds. The first change gets the revision after
  // `first`; what a client may know of before counts as forgotten.
  explicit Store(size_t history_limit, Revision first = 1)
      : history_limit_(history_limit), revision_(first), compacted_(first) {}

  // `fields` says what field selectors see; metadata.name and metadata.namespace are always there.
  KindId AddKind(FieldsOf fields);

  Revision revision() const { return revision_; }
  // Events up to and with this revision are forgotten.
  Revision compacted() const { return compacted_; }
  size_t Count(KindId kind) const { return kinds_[kind.index()].objects.size(); }

  // nullptr when there is none.
  ObjectPtr Get(KindId kind, std::string_view ns, std::string_view name) const;
  // Creates or replaces; the document gets its new resourceVersion.
  ObjectPtr Put(KindId kind, Json& document);
  // The object must be there.
  ObjectPtr Delete(KindId kind, std::string_view ns, std::string_view name);

  // All objects (of one namespace, unless `ns` is empty) by namespace and name, as they were at
  // revision `at`. kExpired when that is forgotten, kInvalid when it is still to come.
  Result<std::vector<ObjectPtr>> List(KindId kind, std::string_view ns, Revision at) const;
  // The same now.
  std::vector<ObjectPtr> ListNow(KindId kind, std::string_view ns) const;
  // Events later than `from`, oldest first; kExpired when some of them are forgotten.
  Result<std::vector<StoreEvent>> EventsAfter(KindId kind, Revision from) const;
  void Compact(Revision up_to);

  // Called at each change of the kind from now on, in order of Listen(). A listener must not call
  // back.
  ListenerId Listen(KindId kind, Listener listener);
  void Unlisten(ListenerId id);

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name
  struct KindState {
    FieldsOf fields;
    std::map<Key, ObjectPtr> objects;
    std::deque<StoreEvent> events;
  };

  ObjectPtr Stamp(const KindState& state, Json& document);
  void Record(StoreEvent event);

  const size_t history_limit_;
  Revision revision_;
  Revision compacted_;
  std::deque<KindState> kinds_;
  std::deque<KindId> event_order_;  // the kind of each remembered event, oldest first
  std::map<ListenerId, std::pair<KindId, Listener>> listeners_;
  ListenerId next_listener_ = 1;
};

}  // namespace sky::lab
