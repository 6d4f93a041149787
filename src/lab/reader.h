// SPDX-License-Identifier: Apache-2.0
// Reads for the API server: get and list with resourceVersion, limit/continue and selectors, and
// the writing of objects in the form that was asked for. Borrowed by ApiServer, under its lock.
#pragma once

#include "lab/call.h"
#include "lab/selection.h"
#include "lab/store.h"

namespace sky::lab {

// One stored object as text in the call's view and form.
std::string Render(const Call& call, const Object& object, WallTime now);
// A document that may not be stored (the answer of a write), already in the resource's stored form.
std::string RenderDocument(const Call& call, Json document, WallTime now);

// Of the `resourceVersion` query: "" and "0" are 0; anything but digits is refused.
Answered<Revision> ParseRevision(std::string_view text);

class Reader {
 public:
  Reader(const Store& store, const Clock& clock) : store_(store), clock_(clock) {}

  Answered<server::Response> Get(const Call& call) const;
  Answered<server::Response> List(const Call& call) const;

 private:
  struct Page {
    Revision revision = 0;
    std::vector<ObjectPtr> objects;
    std::string continue_token;
    size_t remaining = 0;
  };
  Answered<Page> ReadPage(const Call& call, const Selection& selection) const;
  Answered<Revision> RevisionToRead(const Call& call) const;

  const Store& store_;
  const Clock& clock_;
};

}  // namespace sky::lab
