// SPDX-License-Identifier: Apache-2.0
#include "lab/remote_kubelets.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace sky::lab {

RemoteKubelets::RemoteKubelets(kube::Client& client, KubeletOptions options,
                               std::function<void()> on_synced)
    : client_(client),
      kubelets_(options),
      on_synced_(std::move(on_synced)),
      nodes_(client, {},
             {.on_delta =
                  [this](const api::Delta<api::Node>& delta) {
                    kubelets_.OnNode(delta);
                    StepSoon();
                  },
              .on_synced = [this] { Synced(); },
              .on_bad = {}}),
      pods_(client, {},
            {.on_delta =
                 [this](const api::Delta<api::Pod>& delta) {
                   kubelets_.OnPod(delta);
                   StepSoon();
                 },
             .on_synced = [this] { Synced(); },
             .on_bad = {}}) {}

RemoteKubelets::~RemoteKubelets() { client_.loop().Cancel(timer_); }

void RemoteKubelets::Start() {
  nodes_.Start();
  pods_.Start();
}

void RemoteKubelets::Synced() {
  if (nodes_.HasSynced() && pods_.HasSynced() && on_synced_) std::exchange(on_synced_, nullptr)();
}

// One step after however many deltas have come at once.
void RemoteKubelets::StepSoon() {
  if (std::exchange(step_posted_, true)) return;
  client_.loop().Post(alive_.Guard([this] {
    step_posted_ = false;
    Step();
  }));
}

void RemoteKubelets::Step() {
  // Half a picture is none: a pod may come before its node.
  if (!nodes_.HasSynced() || !pods_.HasSynced()) return;
  kube::Loop& loop = client_.loop();
  for (const KubeletWrite& write : kubelets_.Step(loop.clock().Mono(), loop.clock().Wall()))
    Carry(write);
  loop.Cancel(timer_);
  timer_ = 0;
  if (const MonoTime due = kubelets_.next_due(); due != MonoTime::max())
    timer_ = loop.RunAt(due, alive_.Guard([this] { Step(); }));
}

// The state machine asks again for what didn't come about, so an error is only worth a line.
void RemoteKubelets::Carry(const KubeletWrite& write) {
  const std::string what = write.ns.empty() ? write.name : write.ns + "/" + write.name;
  if (write.kind == KubeletWrite::Kind::kDeletePod) {
    client_.Delete<api::Pod>(write.ns, write.name, {.uid = write.uid, .grace_period_seconds = 0},
                             {}, [what](Status done) {
                               if (!done)
                                 spdlog::warn("delete {}: {}", what, done.error().message());
                             });
    return;
  }
  const bool of_pod = write.kind == KubeletWrite::Kind::kPodStatus;
  kube::Request request;
  request.method = kube::Method::kPatch;
  request.path =
      (of_pod ? api::KindOf<api::Pod>() : api::KindOf<api::Node>()).Path(write.ns, write.name) +
      "/status";
  request.content_type = "application/strategic-merge-patch+json";
  request.body = write.patch;
  client_.raw().Call(std::move(request), {}, [what](Result<std::string> done) {
    if (!done) spdlog::warn("status of {}: {}", what, done.error().message());
  });
}

}  // namespace sky::lab
