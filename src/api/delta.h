// SPDX-License-Identifier: Apache-2.0
// One change of one object, as an informer hands it to the cache: parsed once, shared after that.
// A changed UID arrives as a delete of the old object and an add of the new one, never as an
// update.
#pragma once

#include <memory>
#include <string>

namespace sky::api {

template <class T>
struct Delta {
  enum class Type { kAdd, kUpdate, kDelete };
  Type type = Type::kAdd;
  std::shared_ptr<const T> object;  // the new state; for kDelete the last known one
  std::shared_ptr<const T> old;     // the state before; null for kAdd
};

}  // namespace sky::api
