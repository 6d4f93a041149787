// SPDX-License-Identifier: Apache-2.0
// Runs the statements of a script on a Simulation and prints what they show, each below its echo.
// The printed text is a function of the script alone, so it can be kept and compared. The
// scheduler's memory is audited after every statement. One thread; a Scenario runs one script.
//
//   script ─► ReadScript ─► Run(statement) … ─► output + number of failures
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/in_process.h"
#include "lab/script.h"
#include "lab/simulation.h"
#include "testing/words.h"

namespace sky::lab {

class Scenario {
 public:
  using Print = std::function<void(std::string_view)>;
  // With an `order` the script runs in that one, whatever its configuration says.
  explicit Scenario(Print print, std::optional<framework::CommitOrder> order = {});

  // False: it failed, and the output says why. Later statements still run.
  bool Run(const Statement& statement);

 private:
  using Answer = Result<std::string>;  // what is printed below the echo
  using Method = Answer (Scenario::*)(const Statement&);
  static const std::map<std::string_view, Method>& Methods();

  // --- scenario_objects.cc: what users do ---
  Answer Leaf(const Statement& statement);
  Answer Nodes(const Statement& statement);
  Answer Queue(const Statement& statement);
  Answer Quotas(const Statement& statement);
  Answer Group(const Statement& statement);
  Answer Job(const Statement& statement);
  Answer Pod(const Statement& statement);
  Answer ApplyBody(const Statement& statement);
  Answer Delete(const Statement& statement);
  Answer PatchOne(const Statement& statement);
  Answer Cordon(const Statement& statement);
  Answer FailNodes(const Statement& statement);
  Answer EndPods(const Statement& statement);
  Status Create(const std::string& document);
  Status CreateJson(const Json& object);
  Answer MakeNodes(const std::string& names, const testing::Words& words,
                   const std::vector<std::string>& switches);

  // --- scenario.cc: time, and the scheduler's life ---
  Answer Cycle(const Statement& statement);
  Answer Tick(const Statement& statement);
  Answer Step(const Statement& statement);
  Answer Calm(const Statement& statement);
  Answer Kill(const Statement& statement);
  Answer Start(const Statement& statement);
  Answer Configure(const Statement& statement);
  Answer Cut(const Statement& statement);
  Answer Compact(const Statement& statement);
  Answer Fresh(const Statement& statement);
  Answer Fault(const Statement& statement);
  Answer Mend(const Statement& statement);
  void NeedScheduler();
  void Begin();  // an empty cluster, at the beginning of time

  // --- scenario_show.cc, scenario_expect.cc: what people see ---
  Answer Show(const Statement& statement);
  Answer Why(const Statement& statement);
  Answer Audit(const Statement& statement);
  Answer Expect(const Statement& statement);

  // --- scenario_diagnose.cc: what /diagnose answers ---
  Answer Diagnose(const Statement& statement);
  Status ExpectReasons(const std::string& ns, const std::string& name,
                       std::span<const std::string> wanted);

  Print print_;
  const std::optional<framework::CommitOrder> order_;
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<InProcess> user_;
  bool started_ = false;     // ever: after a kill only "start" begins again
  size_t events_shown_ = 0;  // of the simulation's notes
};

// The statements one after the other; how many failed. An Error: the script can't be read.
Result<int> RunScript(std::string_view text, std::string_view origin, Scenario::Print print);

}  // namespace sky::lab
