// SPDX-License-Identifier: Apache-2.0
// Follows the configuration file while the program runs. Looked at by content, twice alike before
// it counts: a ConfigMap's mount swaps a symlink above the file, an editor writes in place, and
// both are a change only when the text is another. A bad text is told of and the running
// configuration stays; what can't change in a running program stays as it is and is told of too.
// Lives on the loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/engine.h"
#include "kube/loop.h"

namespace sky::scheduler {

// Makes what is fixed for a process's life in `next` equal to `running`'s. The keys that differed.
std::vector<std::string> KeepFixed(const framework::Config& running, framework::Config& next);

class ConfigWatch {
 public:
  static constexpr Duration kEvery = std::chrono::seconds(2);

  struct Callbacks {
    std::function<void(std::unique_ptr<framework::Engine>)> use;
    std::function<void(bool warning, const std::string& reason, const std::string& note)> tell;
  };
  // `running` is what the program began with.
  ConfigWatch(kube::Loop& loop, std::string file, framework::Registry registry,
              framework::Config running, Callbacks callbacks);

  void Start();  // looks every kEvery from now on
  void Look();

 private:
  void Take(const std::string& text);
  void Refuse(const std::string& why);

  kube::Loop& loop_;
  const std::string file_;
  const framework::Registry registry_;
  framework::Config running_;
  Callbacks callbacks_;
  kube::Lifeline alive_;
  // What was read last, and what was last decided on: its text, or why it can't be read.
  std::string candidate_, decided_;
  bool any_ = false, refused_ = false;
};

}  // namespace sky::scheduler
