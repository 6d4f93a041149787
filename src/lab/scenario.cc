// SPDX-License-Identifier: Apache-2.0
// Statements are looked up and run here; those about time and the scheduler's life stand here too.
#include "lab/scenario.h"

#include <charconv>

#include "base/check.h"
#include "lab/changes.h"
#include "scheduler/known.h"

namespace sky::lab {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kCycle = milliseconds(100);  // room for batchDelay, the cycle and its writes
constexpr Duration kStepPatience = seconds(10);

Result<int> Count(const Statement& statement, int absent) {
  if (statement.names.empty()) return absent;
  const std::string& text = statement.names[0];
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count < 1 || count > 100'000)
    return Fail(Code::kInvalid, "\"{}\" is not a count", text);
  return count;
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

Scenario::Scenario(Print print, std::optional<framework::CommitOrder> order)
    : print_(std::move(print)), order_(order) {
  Begin();
}

void Scenario::Begin() {
  user_.reset();
  simulation_.reset();
  started_ = false;
  events_shown_ = 0;
  framework::Config config = framework::DefaultConfig(scheduler::AllKnown().Known());
  if (order_) config.commit_order = *order_;
  auto simulation = Simulation::Create({std::move(config), 1, false, true});
  SKY_CHECK(simulation.has_value(), "{}", simulation.error().message());
  simulation_ = std::move(*simulation);
  user_ = std::make_unique<InProcess>(simulation_->api(), "skyctl/" SKY_VERSION);
}

const std::map<std::string_view, Scenario::Method>& Scenario::Methods() {
  static const std::map<std::string_view, Method> kMethods = {
      {"leaf", &Scenario::Leaf},         {"nodes", &Scenario::Nodes},
      {"queue", &Scenario::Queue},       {"quotas", &Scenario::Quotas},
      {"group", &Scenario::Group},       {"job", &Scenario::Job},
      {"pod", &Scenario::Pod},           {"apply", &Scenario::ApplyBody},
      {"delete", &Scenario::Delete},     {"patch", &Scenario::PatchOne},
      {"cordon", &Scenario::Cordon},     {"uncordon", &Scenario::Cordon},
      {"fail", &Scenario::FailNodes},    {"return", &Scenario::FailNodes},
      {"finish", &Scenario::EndPods},    {"fail-pod", &Scenario::EndPods},
      {"cycle", &Scenario::Cycle},       {"tick", &Scenario::Tick},
      {"step", &Scenario::Step},         {"calm", &Scenario::Calm},
      {"kill", &Scenario::Kill},         {"start", &Scenario::Start},
      {"config", &Scenario::Configure},  {"cut", &Scenario::Cut},
      {"compact", &Scenario::Compact},   {"fault", &Scenario::Fault},
      {"mend", &Scenario::Mend},         {"fresh", &Scenario::Fresh},
      {"show", &Scenario::Show},         {"why", &Scenario::Why},
      {"diagnose", &Scenario::Diagnose}, {"audit", &Scenario::Audit},
      {"expect", &Scenario::Expect},
  };
  return kMethods;
}

bool Scenario::Run(const Statement& statement) {
  print_("> " + statement.text + "\n");
  const auto method = Methods().find(statement.verb);
  SKY_CHECK(method != Methods().end(), "{} has no method", statement.verb);
  const Answer answer = (this->*method->second)(statement);
  bool good = answer.has_value();
  if (good)
    print_(*answer);
  else
    print_(fmt::format("FAILED: {}\n", answer.error().message()));
  if (const auto* scheduler = simulation_->scheduler()) {
    const std::string audit = simulation_->scheduler()->cache().Audit();
    if (scheduler != nullptr && !audit.empty()) {
      print_(fmt::format("FAILED: the scheduler's ledgers differ from a recount:\n{}\n", audit));
      good = false;
    }
  }
  return good;
}

void Scenario::NeedScheduler() {
  if (started_) return;
  started_ = true;
  simulation_->StartScheduler();
}

Scenario::Answer Scenario::Cycle(const Statement& statement) {
  const int count = TRY(Count(statement, 1));
  NeedScheduler();
  for (int i = 0; i < count; ++i) simulation_->Advance(kCycle);
  return std::string();
}

Scenario::Answer Scenario::Tick(const Statement& statement) {
  const Duration by = TRY(ParseDuration(statement.names[0]));
  NeedScheduler();
  simulation_->Advance(by);
  return std::string();
}

Scenario::Answer Scenario::Step(const Statement& statement) {
  const int count = TRY(Count(statement, 1));
  NeedScheduler();
  std::vector<std::string> lines;
  Look before = Look::At(simulation_->api());
  for (int written = 0; written < count;) {
    if (!simulation_->AdvanceToWrite(kStepPatience))
      return Fail(Code::kNotFound, "{}nothing is written for {}", Lines(lines),
                  FormatDuration(kStepPatience));
    Look now = Look::At(simulation_->api());
    const std::vector<std::string> news = now.Since(before);
    if (!news.empty()) ++written;  // else a heartbeat
    lines.insert(lines.end(), news.begin(), news.end());
    before = std::move(now);
  }
  return Lines(lines);
}

Scenario::Answer Scenario::Calm(const Statement& statement) {
  const int count = TRY(Count(statement, 5));
  NeedScheduler();
  std::vector<std::string> broken;
  Look before = Look::At(simulation_->api());
  for (int i = 0; i < count; ++i) {
    const size_t notes = simulation_->events.size();
    simulation_->Advance(seconds(1));
    if (simulation_->api().revision() != before.revision()) {
      Look now = Look::At(simulation_->api());
      for (const std::string& line : now.Since(before)) broken.push_back(line);
      before = std::move(now);
    }
    for (size_t note = notes; note < simulation_->events.size(); ++note)
      broken.push_back("event: " + simulation_->events[note]);
  }
  if (broken.empty()) return "calm\n";
  return Fail(Code::kConflict, "not calm:\n{}", fmt::join(broken, "\n"));
}

Scenario::Answer Scenario::Kill(const Statement&) {
  if (simulation_->scheduler() == nullptr)
    return Fail(Code::kInvalid, "the scheduler doesn't run: nothing to kill");
  simulation_->KillScheduler();
  return std::string();
}

Scenario::Answer Scenario::Start(const Statement&) {
  if (simulation_->scheduler() != nullptr)
    return Fail(Code::kInvalid, "the scheduler runs already: kill it first");
  started_ = true;
  simulation_->StartScheduler();
  return std::string();
}

Scenario::Answer Scenario::Configure(const Statement& statement) {
  if (simulation_->scheduler() != nullptr)
    return Fail(Code::kInvalid, "the scheduler runs already: config stands before it starts");
  auto loaded = TRY(framework::LoadConfig(statement.body, "config", scheduler::AllKnown().Known()));
  if (order_) loaded.config.commit_order = *order_;
  simulation_->Configure(std::move(loaded.config));
  return Lines(loaded.warnings);
}

Scenario::Answer Scenario::Cut(const Statement&) {
  simulation_->CutStreams();
  return std::string();
}

Scenario::Answer Scenario::Compact(const Statement&) {
  simulation_->api().Compact();
  return std::string();
}

Scenario::Answer Scenario::Fresh(const Statement&) {
  Begin();
  return std::string();
}

// The scheduler's own requests and watches alone: what users do goes past the faults.
Scenario::Answer Scenario::Fault(const Statement& statement) {
  TRY(simulation_->front().faults().Add(statement.body));
  return std::string();
}

Scenario::Answer Scenario::Mend(const Statement&) {
  simulation_->front().ClearFaults();
  return std::string();
}

Result<int> RunScript(std::string_view text, std::string_view origin, Scenario::Print print) {
  const std::vector<Statement> statements = TRY(ReadScript(text, origin));
  Scenario scenario(std::move(print));
  int failures = 0;
  for (const Statement& statement : statements)
    if (!scenario.Run(statement)) ++failures;
  return failures;
}

}  // namespace sky::lab
