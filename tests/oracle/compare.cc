// SPDX-License-Identifier: Apache-2.0
// Holds our filters and scores beside kube-scheduler's own on random clusters:
//   oracle-compare PROGRAM CASES [FIRST-SEED]
// PROGRAM is e2e/oracle's. The first difference is shrunk and shown, with the seed that made it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "tests/oracle/question.h"

namespace sky::oracle {
namespace {

using Json = nlohmann::json;

// The other side, a line for a line.
class Peer {
 public:
  explicit Peer(const char* program) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      execl(program, program, nullptr);
      _exit(127);
    }
    close(in[0]), close(out[1]);
    to_ = fdopen(in[1], "w");
    from_ = fdopen(out[0], "r");
  }
  ~Peer() {
    if (to_ != nullptr) fclose(to_);
    if (from_ != nullptr) fclose(from_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
    free(line_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  std::optional<Json> Ask(const Question& question) {
    if (to_ == nullptr || from_ == nullptr) return std::nullopt;
    const std::string text = ToJson(question) + "\n";
    if (fputs(text.c_str(), to_) < 0 || fflush(to_) != 0) return std::nullopt;
    const ssize_t length = getline(&line_, &size_, from_);
    if (length <= 0) return std::nullopt;
    return Json::parse(std::string_view(line_, static_cast<size_t>(length)), nullptr, false);
  }

 private:
  pid_t child_ = -1;
  FILE *to_ = nullptr, *from_ = nullptr;
  char* line_ = nullptr;
  size_t size_ = 0;
};

// "" or what differs. Where one side has nothing to say, the other says the same of every node.
std::string Differences(const Answer& ours, const Json& theirs) {
  std::string said;
  for (const auto& [name, nodes] : ours.feasible) {
    Json sorted = theirs["feasible"][name];
    std::sort(sorted.begin(), sorted.end());
    if (sorted != Json(nodes))
      said += fmt::format("{}: ours {}, kube-scheduler's {}\n", name, Json(nodes).dump(),
                          sorted.dump());
  }
  const auto level = [](const Json& scores) {
    return std::all_of(scores.begin(), scores.end(),
                       [&](const Json& score) { return score == *scores.begin(); });
  };
  for (const char* name :
       {"NodeAffinity", "TaintToleration", "InterPodAffinity", "PodTopologySpread",
        "LeastAllocated", "MostAllocated", "BalancedAllocation"}) {
    const auto found = ours.scores.find(name);
    const Json mine = found == ours.scores.end() ? Json::object() : Json(found->second);
    const Json other = theirs["scores"].value(name, Json::object());
    if (mine != other && !(mine.empty() && level(other)) && !(other.empty() && level(mine)))
      said += fmt::format("scores of {}: ours {}, kube-scheduler's {}\n", name, mine.dump(),
                          other.dump());
  }
  return said;
}

int Compare(const char* program, uint64_t cases, uint64_t first) {
  Peer peer(program);
  std::map<std::string, uint64_t> refused, scored;  // of cases, by part: that it said anything
  for (uint64_t seed = first; seed < first + cases; ++seed) {
    const Question question = Draw(seed);
    const std::optional<Json> theirs = peer.Ask(question);
    if (!theirs || theirs->is_discarded()) {
      fmt::print(stderr, "seed {}: {} gave no answer\n", seed, program);
      return 2;
    }
    const Answer ours = Ours(question);
    for (const auto& [name, nodes] : ours.feasible)
      refused[name] += nodes.size() < question.nodes.size() ? 1 : 0;
    for (const auto& [name, scores] : ours.scores) ++scored[name];
    if (Differences(ours, *theirs).empty()) continue;
    const auto differs = [&](const Question& less) {
      const std::optional<Json> answer = peer.Ask(less);
      return answer && !answer->is_discarded() && !Differences(Ours(less), *answer).empty();
    };
    const Question least = Shrink(question, differs);
    fmt::print(stderr, "seed {} differs; the least of it:\n{}\n{}", seed,
               Json::parse(ToJson(least)).dump(1), Differences(Ours(least), *peer.Ask(least)));
    return 1;
  }
  fmt::print(stderr, "{} cases from seed {} agree\n", cases, first);
  for (const auto& [name, count] : refused) fmt::print(stderr, "  {} refused in {}\n", name, count);
  for (const auto& [name, count] : scored) fmt::print(stderr, "  {} scored in {}\n", name, count);
  return 0;
}

}  // namespace
}  // namespace sky::oracle

int main(int argc, char** argv) {
  uint64_t cases = 0, first = 1;
  const auto read = [](const std::string& text, uint64_t& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  };
  if (argc < 3 || argc > 4 || !read(argv[2], cases) || (argc == 4 && !read(argv[3], first))) {
    fmt::print(stderr, "usage: oracle-compare PROGRAM CASES [FIRST-SEED]\n");
    return 2;
  }
  return sky::oracle::Compare(argv[1], cases, first);
}
