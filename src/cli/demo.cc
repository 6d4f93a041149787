// SPDX-License-Identifier: Apache-2.0
#include "cli/demo.h"

#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "api/json.h"
#include "api/keys.h"
#include "base/log.h"
#include "lab/simulation.h"
#include "scheduler/known.h"
#include "testing/words.h"

namespace sky::cli {
namespace {

using namespace std::chrono_literals;

constexpr int kWorkers = 4;

// The demo's own words are known to be good.
testing::Words Say(std::string_view words) {
  auto read = testing::ReadWords(words);
  SKY_CHECK(read.has_value(), "{}", words);
  return std::move(*read);
}

class Demo {
 public:
  Demo(lab::Simulation& lab, std::FILE* out)
      : lab_(lab), out_(out), terminal_(isatty(fileno(out)) != 0) {}

  Status Run() {
    const MonoTime began = clock_.Mono();
    if (Status made = MakeCluster(); !made) return made;
    lab_.StartScheduler();
    lab_.Advance(1s);
    Line("8 nodes of 8 GPUs and 8 HCAs: n0-n3 under leaf switch S1, n4-n7 under S2");
    Line(
        "4 quotas of 1 GPU and 1 HCA, bound to no node yet; then a gang: 4 workers, all or "
        "nothing");
    Line("");
    if (Status submitted = SubmitGang(); !submitted) return submitted;
    ShowQuotas();
    for (int step = 0; step < 400 && !Landed(); ++step) {
      lab_.Advance(5ms);
      ShowQuotas();
    }
    if (!Landed())
      return Fail(Code::kInternal, "the gang didn't start: {}",
                  lab_.scheduler()->reporter().WhyWaits("default/train"));
    ShowPlaces();
    ShowLedgers();
    Line(fmt::format("\nfrom an empty cluster to the last worker: {} ms",
                     std::chrono::round<std::chrono::milliseconds>(clock_.Mono() - began).count()));
    return {};
  }

 private:
  Status MakeCluster() {
    for (int i = 0; i < 8; ++i) {
      const std::string name = fmt::format("n{}", i);
      TRY(Put(testing::MakeNode(name, Say("gpu=8 hca=8 spec=a100"))));
      TRY(Put(testing::MakeTopology(name, "roce", {i < 4 ? "S1" : "S2"})));
    }
    for (int i = 0; i < kWorkers; ++i)
      TRY(Put(testing::MakeQuota(fmt::format("q-train-{}", i), Say("gpu=1 hca=1"))));
    return {};
  }

  Status SubmitGang() {
    const testing::Words words = Say("gpu=1 hca=1");
    TRY(Put(testing::MakeGroup("train", kWorkers, words)));
    for (int i = 0; i < kWorkers; ++i)
      TRY(Put(testing::MakeWorker("train", fmt::format("worker-{}", i), words)));
    return {};
  }

  template <class T>
  Status Put(const T& object) {
    return lab_.Apply(api::Encode(object));
  }

  void Line(std::string_view text) { fmt::print(out_, "{}\n", text); }

  bool Landed() {
    for (int i = 0; i < kWorkers; ++i) {
      const auto pod = lab_.Get<api::Pod>("default", fmt::format("worker-{}", i));
      const auto quota = lab_.Get<api::Quota>("", fmt::format("q-train-{}", i));
      if (!pod || pod->status.phase != "Running" || !quota || quota->status.node_name.empty())
        return false;
    }
    return true;
  }

  // On a terminal one table that is drawn over itself; else a line for each row that changed.
  void ShowQuotas() {
    std::map<std::string, std::string> rows;
    for (int i = 0; i < kWorkers; ++i) {
      const std::string name = fmt::format("q-train-{}", i);
      const auto quota = lab_.Get<api::Quota>("", name);
      if (!quota) continue;
      const std::string allocated = quota->status.allocated.empty() ? "-" : "1 GPU, 1 HCA";
      rows[name] =
          fmt::format("{:<11} {:<11} {:<5} {}", name, quota->status.phase,
                      quota->status.node_name.empty() ? "-" : quota->status.node_name, allocated);
    }
    if (rows == shown_) return;
    if (terminal_ && !shown_.empty()) fmt::print(out_, "\033[{}A", rows.size() + 1);
    if (terminal_ || shown_.empty())
      Line(fmt::format("{:<11} {:<11} {:<5} {}", "QUOTA", "PHASE", "NODE", "ALLOCATED"));
    for (const auto& [name, row] : rows) {
      const bool changed = shown_[name] != row;
      if (!terminal_ && changed) Line(row);
      if (terminal_)
        fmt::print(out_, "{}\033[K\n", changed ? fmt::format(fmt::emphasis::bold, "{}", row) : row);
    }
    std::fflush(out_);
    shown_ = std::move(rows);
  }

  void ShowPlaces() {
    std::map<std::string, std::vector<std::string>> by_node;
    for (const api::Pod& pod : lab_.List<api::Pod>())
      by_node[pod.spec.node_name].push_back(
          fmt::format("{} {} (through {})", pod.metadata.name, pod.status.phase,
                      pod.metadata.Annotation(api::key::kQuotaName)));
    Line("\nwhere they landed");
    for (const char* leaf : {"S1", "S2"}) {
      Line(fmt::format("  roce#{}", leaf));
      const int first = leaf[1] == '1' ? 0 : 4;
      for (int i = first; i < first + 4; ++i) {
        const std::string name = fmt::format("n{}", i);
        Line(fmt::format("    {}  {}", name, fmt::join(by_node[name], ", ")));
      }
    }
  }

  void ShowLedgers() {
    const model::Cluster cluster = lab_.scheduler()->cache().Copy();
    const model::ResourceId gpu = cluster.names().resources.Intern("nvidia.com/gpu");
    const model::ResourceId hca = cluster.names().resources.Intern("rdma/hca");
    const auto pair = [&](const model::Resources& amounts) {
      return fmt::format("{},{}", amounts[gpu] / 1000, amounts[hca] / 1000);
    };
    Line("\nthe two ledgers (GPU,HCA)");
    Line(fmt::format("  {:<5} {:<12} {:<10} {:<8} {}", "NODE", "ALLOCATABLE", "QUOTAIDLE", "IDLE",
                     "USED"));
    for (int i = 0; i < 8; ++i) {
      const model::Node& node = cluster.nodes()[cluster.nodes().Find(fmt::format("n{}", i))];
      Line(fmt::format("  {:<5} {:<12} {:<10} {:<8} {}", node.name, pair(node.allocatable),
                       pair(node.QuotaIdle()), pair(node.Idle()), pair(node.used)));
    }
  }

  lab::Simulation& lab_;
  std::FILE* out_;
  const bool terminal_;
  SystemClock clock_;
  std::map<std::string, std::string> shown_;
};

}  // namespace

int RunDemo(std::FILE* out) {
  const Status quiet = SetUpLog("text", "error");
  auto lab =
      lab::Simulation::Create({framework::DefaultConfig(scheduler::AllKnown().Known()), 1, false});
  Status result = quiet;
  if (!lab)
    result = std::unexpected(lab.error());
  else if (quiet)
    result = Demo(**lab, out).Run();
  if (result) return 0;
  fmt::print(stderr, "skyctl demo: {}\n", result.error().message());
  return 1;
}

}  // namespace sky::cli
