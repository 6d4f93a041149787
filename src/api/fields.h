// SPDX-License-Identifier: Apache-2.0
// What a type with Fields() is, for everything that walks types: JSON both ways, the CRD check,
// random objects in tests. A visitor offers v("name", member) and, for members that are written
// even when they are zero, v.Always("name", member).
#pragma once

#include <concepts>
#include <string_view>

#include "api/meta.h"

namespace sky::api {

struct AnyVisitor {
  template <class M>
  void operator()(std::string_view, M&) {}
  template <class M>
  void Always(std::string_view, M&) {}
};

template <class T>
concept HasFields = requires(T& t, AnyVisitor v) { T::Fields(t, v); };

// A whole object, with apiVersion and kind.
template <class T>
concept IsKind = HasFields<T> && requires(T& t) {
  { t.metadata } -> std::same_as<ObjectMeta&>;
};

}  // namespace sky::api
