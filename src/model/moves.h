// SPDX-License-Identifier: Apache-2.0
// Which tasks may stand elsewhere, or be other than they were, since somebody last looked: a list
// that a cluster only adds to. A reader keeps how far it has read; the oldest part goes when the
// list is longer than a look at every task would be, and who hasn't read it begins anew.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/cells.h"
#include "model/types.h"

namespace sky::model {

class Moves {
 public:
  Moves() = default;
  // A copy has a history of its own from here on.
  Moves(const Moves&) {}
  Moves& operator=(const Moves&) { return *this = Moves(); }
  Moves(Moves&&) = default;
  Moves& operator=(Moves&&) = default;

  void Note(TaskId task, size_t tasks) {
    if (list_.size() >= std::max<size_t>(tasks, 1024)) {
      begin_ += list_.size();
      list_.clear();
    }
    list_.push_back(task);
  }
  // Of this history: no two have the same.
  uint64_t id() const { return id_; }
  // What is there to read: [begin, end).
  uint64_t begin() const { return begin_; }
  uint64_t end() const { return begin_ + list_.size(); }
  TaskId operator[](uint64_t position) const { return list_[position - begin_]; }

 private:
  uint64_t id_ = Tick(), begin_ = 0;
  std::vector<TaskId> list_;
};

}  // namespace sky::model
