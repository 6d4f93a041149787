// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <string>

namespace sky {
namespace {

std::atomic<uint64_t> log_cycle{0};

void AppendText(std::string_view text, spdlog::memory_buf_t& out) {
  out.append(text.data(), text.data() + text.size());
}

// Escapes a payload for a JSON string; bytes that are not ASCII pass as they are when they are
// UTF-8 continuation or lead bytes (the payload is ours or was read as JSON before).
void AppendJsonEscaped(std::string_view text, spdlog::memory_buf_t& out) {
  for (const char c : text) {
    switch (c) {
      case '"':
        AppendText("\\\"", out);
        break;
      case '\\':
        AppendText("\\\\", out);
        break;
      case '\n':
        AppendText("\\n", out);
        break;
      case '\r':
        AppendText("\\r", out);
        break;
      case '\t':
        AppendText("\\t", out);
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          AppendText(fmt::format("\\u{:04x}", static_cast<unsigned>(c)), out);
        else
          out.push_back(c);
    }
  }
}

class CycleFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    AppendText(fmt::format("{}", log_cycle.load(std::memory_order_relaxed)), out);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<CycleFlag>();
  }
};

class JsonPayloadFlag final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& out) override {
    AppendJsonEscaped({message.payload.data(), message.payload.size()}, out);
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<JsonPayloadFlag>();
  }
};

}  // namespace

Status SetUpLog(std::string_view format, std::string_view level) {
  const auto severity = spdlog::level::from_str(std::string(level));
  if (severity == spdlog::level::off && level != "off")
    return Fail(Code::kInvalid, "unknown log level \"{}\": use trace, debug, info, warn or error",
                level);
  auto formatter = std::make_unique<spdlog::pattern_formatter>(spdlog::pattern_time_type::utc);
  formatter->add_flag<CycleFlag>('&').add_flag<JsonPayloadFlag>('*');
  if (format == "json") {
    formatter->set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l","cycle":%&,"message":"%*"})");
  } else if (format == "text") {
    formatter->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %L cycle=%& %v");
  } else {
    return Fail(Code::kInvalid, "unknown log format \"{}\": use text or json", format);
  }
  auto logger =
      std::make_shared<spdlog::logger>("sky", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_formatter(std::move(formatter));
  logger->set_level(severity);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return {};
}

void SetLogCycle(uint64_t cycle) { log_cycle.store(cycle, std::memory_order_relaxed); }

}  // namespace sky
