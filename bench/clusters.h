// SPDX-License-Identifier: Apache-2.0
// Clusters for the benchmarks: objects given to a cache as the watch would give them.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "cache/cache.h"
#include "testing/words.h"

namespace sky::bench {

inline testing::Words Say(std::string_view words) { return *testing::ReadWords(words); }

template <class T>
void Give(cache::Cache& cache, T object, const std::string& uid) {
  object.metadata.uid = uid;
  cache.Apply(api::Delta<T>{api::Delta<T>::Type::kAdd, std::make_shared<const T>(std::move(object)),
                            nullptr});
}

// `nodes` machines of 8 GPUs, 16 under each RoCE switch, in one queue; a quota for each GPU.
void GiveMachines(cache::Cache& cache, int nodes);

// One gang of `members` workers that each ask for a GPU and its NIC.
void GiveGang(cache::Cache& cache, const std::string& name, int members);

}  // namespace sky::bench
