// SPDX-License-Identifier: Apache-2.0
#include "api/meta.h"

#include <algorithm>

namespace sky::api {
namespace {

std::string_view Lookup(const StringMap& map, std::string_view key) {
  const auto it = map.find(key);
  return it == map.end() ? std::string_view() : std::string_view(it->second);
}

}  // namespace

const OwnerReference* ObjectMeta::Controller() const {
  const auto it = std::ranges::find_if(owner_references, &OwnerReference::controller);
  return it == owner_references.end() ? nullptr : &*it;
}

std::string_view ObjectMeta::Label(std::string_view key) const { return Lookup(labels, key); }

std::string_view ObjectMeta::Annotation(std::string_view key) const {
  return Lookup(annotations, key);
}

std::string ObjectMeta::Key() const { return namespace_.empty() ? name : namespace_ + "/" + name; }

}  // namespace sky::api
