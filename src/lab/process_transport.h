// SPDX-License-Identifier: Apache-2.0
// The client's Transport straight into the embedded API server, without sockets: the same requests,
// faults and streams as over HTTP, on a manual loop under a virtual clock. Deterministic. Lives on
// its loop.
#pragma once

#include <map>
#include <memory>

#include "kube/transport.h"
#include "lab/front.h"

namespace sky::lab {

class ProcessTransport final : public kube::Transport {
 public:
  ProcessTransport(kube::ManualLoop& loop, Front& front) : loop_(loop), front_(front) {}
  ~ProcessTransport() override;

  kube::Loop& loop() override { return loop_; }
  void Send(kube::Request request, kube::Done<kube::Response> done) override;
  kube::StreamId Open(kube::Request request, kube::StreamCallbacks callbacks) override;
  void Close(kube::StreamId id) override;
  // The process is gone: nothing is sent, and no answer arrives. It must outlive what the server,
  // or a call that waits to be repeated, still holds of it.
  void Die();
  // Every open stream breaks off, as when the server goes away.
  void CutStreams();

 private:
  struct Exchange;
  class Answer;
  class Piece;
  void End(kube::StreamId id, Result<kube::Response> end);

  kube::ManualLoop& loop_;
  Front& front_;
  kube::Lifeline alive_;
  std::map<kube::StreamId, std::shared_ptr<Exchange>> streams_;
  kube::StreamId next_ = 1;
  bool dead_ = false;
};

}  // namespace sky::lab
