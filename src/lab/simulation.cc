// SPDX-License-Identifier: Apache-2.0
#include "lab/simulation.h"

#include <nlohmann/json.hpp>

#include "lab/crds.h"
#include "lab/document.h"
#include "scheduler/known.h"

namespace sky::lab {

Simulation::Simulation(SimulationOptions options) : options_(std::move(options)), loop_(clock_) {}

Result<std::unique_ptr<Simulation>> Simulation::Create(SimulationOptions options) {
  std::unique_ptr<Simulation> simulation(new Simulation(std::move(options)));
  ApiServerOptions api;
  api.seed = simulation->options_.seed;
  api.garbage_collector = simulation->options_.garbage_collector;
  simulation->api_ = std::make_unique<ApiServer>(api, simulation->clock_, EmbeddedKinds());
  kube::ManualLoop& loop = simulation->loop_;
  simulation->front_ = std::make_unique<Front>(
      *simulation->api_, simulation->clock_,
      [&loop](Duration wait, std::function<void()> task) { loop.RunAfter(wait, std::move(task)); },
      [](int code) {
        SKY_CHECK(false, "a fault ends the process with {}: there is none here", code);
      });
  simulation->static_binder_ = std::make_unique<StaticBinder>(*simulation->api_);
  if (simulation->options_.kubelets) {
    simulation->kubelets_ =
        std::make_unique<LocalKubelets>(*simulation->api_, simulation->clock_, KubeletOptions{});
    simulation->volumes_ = std::make_unique<LocalVolumes>(*simulation->api_, simulation->clock_);
  }
  return simulation;
}

Simulation::~Simulation() { KillScheduler(); }

void Simulation::Process::Note(const cache::ClusterWriter::EventNote& note) {
  events->push_back(fmt::format("{} {} {}/{}: {}", note.warning ? "Warning" : "Normal", note.reason,
                                note.regarding.namespace_, note.regarding.name, note.note));
}

void Simulation::StartScheduler() {
  auto engine = framework::Engine::Make(scheduler::AllKnown(), options_.config);
  SKY_CHECK(engine.has_value(), "{}", engine.error().message());
  process_ = std::make_unique<Process>();
  process_->events = &events;
  process_->transport = std::make_unique<ProcessTransport>(loop_, *front_);
  process_->client = std::make_unique<kube::Client>(*process_->transport);
  process_->writer =
      std::make_unique<scheduler::KubeWriter>(*process_->client, process_->leadership, *process_);
  process_->scheduler = std::make_unique<scheduler::Scheduler>(
      loop_, std::move(*engine), *process_->writer, process_->leadership, scheduler::RunInline);
  process_->feeds = std::make_unique<scheduler::Feeds>(*process_->client, *process_->scheduler);
  process_->feeds->Start();
  process_->scheduler->OnLeadership(true);
}

void Simulation::Configure(framework::Config config) { options_.config = std::move(config); }

void Simulation::CutStreams() {
  if (process_) process_->transport->CutStreams();
}

void Simulation::KillScheduler() {
  if (!process_) return;
  process_->feeds->Stop();
  process_->feeds.reset();
  process_->scheduler.reset();
  process_->writer.reset();
  process_->client.reset();
  process_->transport->Die();
  dead_.push_back(std::move(process_->transport));
  process_.reset();
}

server::Response Simulation::Call(std::string_view method, std::string_view target,
                                  std::string_view body, std::string_view content_type) {
  server::Request request;
  request.method = std::string(method);
  auto parsed = server::ParseTarget(target);
  SKY_CHECK(parsed.has_value(), "target {}", target);
  request.target = std::move(*parsed);
  request.headers = {{"accept", "application/json"}, {"content-type", std::string(content_type)}};
  request.body = std::string(body);
  return api_->Handle(request);
}

Status Simulation::Apply(std::string_view document) {
  const nlohmann::json object = nlohmann::json::parse(document, nullptr, false);
  if (object.is_discarded()) return Fail(Code::kInvalid, "not JSON: {}", document.substr(0, 80));
  const std::string api_version = object.value("apiVersion", ""), kind = object.value("kind", "");
  for (const api::Kind& known : api::AllKinds()) {
    if (known.kind != kind || known.ApiVersion() != api_version) continue;
    const nlohmann::json meta = object.value("metadata", nlohmann::json::object());
    const std::string ns = known.namespaced ? meta.value("namespace", "default") : "";
    server::Response response = Call("POST", known.Path(ns, ""), document);
    if (response.status == 409)
      response = Call("PATCH", known.Path(ns, meta.value("name", "")), document,
                      "application/merge-patch+json");
    if (response.status / 100 != 2)
      return Fail(Code::kInvalid, "{} {}: {}", kind, meta.value("name", ""), response.body);
    if (object.contains("status") && known.has_status) {
      response = Call("PATCH", known.Path(ns, meta.value("name", "")) + "/status", document,
                      "application/merge-patch+json");
      if (response.status / 100 != 2)
        return Fail(Code::kInvalid, "{} {}: {}", kind, meta.value("name", ""), response.body);
    }
    return {};
  }
  return Fail(Code::kInvalid, "unknown kind {} {}", api_version, kind);
}

template <class T>
std::vector<T> Simulation::List() {
  const server::Response response = Call("GET", api::KindOf<T>().Path("", ""));
  const nlohmann::json list = nlohmann::json::parse(response.body, nullptr, false);
  std::vector<T> items;
  for (const nlohmann::json& item : list.value("items", nlohmann::json::array())) {
    auto object = api::Decode<T>(item.dump());
    SKY_CHECK(object.has_value(), "{}", object.error().message());
    items.push_back(std::move(*object));
  }
  return items;
}
template std::vector<api::Pod> Simulation::List();
template std::vector<api::Node> Simulation::List();
template std::vector<api::Quota> Simulation::List();
template std::vector<api::Queue> Simulation::List();
template std::vector<api::JobQueue> Simulation::List();
template std::vector<api::PodGroup> Simulation::List();
template std::vector<api::Placement> Simulation::List();
template std::vector<api::NodeTopology> Simulation::List();
template std::vector<api::PriorityClass> Simulation::List();
template std::vector<api::PodDisruptionBudget> Simulation::List();
template std::vector<api::PersistentVolumeClaim> Simulation::List();
template std::vector<api::PersistentVolume> Simulation::List();

void Simulation::Settle() { Work(); }

void Simulation::Work() {
  api_->Tick();
  do loop_.RunReady();
  while (StepMachines());
}

// The kubelets and the controllers' stand-ins. False: there was nothing to write.
bool Simulation::StepMachines() {
  const bool volumes = volumes_ && volumes_->Step();
  return (kubelets_ && kubelets_->Step()) || static_binder_->Step() || volumes;
}

MonoTime Simulation::NextDue() const {
  MonoTime next = api_->next_due();
  if (const auto due = loop_.NextDue()) next = std::min(next, *due);
  if (kubelets_) next = std::min(next, kubelets_->next_due());
  if (volumes_) next = std::min(next, volumes_->next_due());
  return next;
}

void Simulation::Advance(Duration by) {
  const MonoTime end = clock_.Mono() + by;
  Work();
  while (true) {
    const MonoTime next = std::min(end, NextDue());
    if (next >= end) break;
    // Something may be due that can't be done yet (an effect that isn't seen): time goes on all the
    // same.
    clock_.Advance(std::max<Duration>(next - clock_.Mono(), std::chrono::microseconds(1)));
    Work();
  }
  clock_.Advance(std::max(Duration::zero(), end - clock_.Mono()));
  Work();
}

bool Simulation::AdvanceToWrite(Duration by) {
  const MonoTime end = clock_.Mono() + by;
  const Revision before = api_->revision();
  const auto written = [&] { return api_->revision() != before; };
  while (true) {
    while (loop_.RunOne())
      if (written()) return true;
    if (StepMachines()) {
      if (written()) return true;
      continue;
    }
    const MonoTime next = NextDue();
    if (next > end) return false;
    clock_.Advance(std::max<Duration>(next - clock_.Mono(), std::chrono::microseconds(1)));
    api_->Tick();
    if (written()) return true;
  }
}

}  // namespace sky::lab
