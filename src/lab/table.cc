// SPDX-License-Identifier: Apache-2.0
#include "lab/table.h"

#include <nlohmann/json.hpp>

#include "lab/json_path.h"
#include "lab/table_cells.h"

namespace sky::lab {
namespace {

Json CustomCell(const Column& column, const JsonPath& path, const Json& object, WallTime now) {
  const std::vector<const Json*> found = path.Evaluate(object);
  if (found.empty()) return nullptr;
  const Json& value = *found.front();
  if (column.type == "date")
    return value.is_string() ? Json(AgeOf(value.get<std::string>(), now)) : Json();
  if (column.type == "string") {
    if (value.is_string() && found.size() == 1) return value;
    if (value.is_null()) return nullptr;
    std::string text;
    for (const Json* part : found)
      text +=
          (text.empty() ? "" : ",") + (part->is_string() ? part->get<std::string>() : Dump(*part));
    return text;
  }
  if (column.type == "integer" && value.is_number()) return value.get<int64_t>();
  if (column.type == "number" && value.is_number()) return value;
  if (column.type == "boolean" && value.is_boolean()) return value;
  return nullptr;
}

// Resources has refused paths that can't be read.
std::vector<JsonPath> PathsOf(const Resource& resource) {
  std::vector<JsonPath> paths;
  for (const Column& column : resource.columns)
    paths.push_back(JsonPath::Parse(column.path).value_or(JsonPath()));
  return paths;
}

Json CustomCells(const Resource& resource, const std::vector<JsonPath>& paths, const Json& object,
                 WallTime now) {
  Json cells = Json::array();
  cells.push_back(TextAt(object, {"metadata", "name"}));
  for (size_t i = 1; i < resource.columns.size(); ++i)
    cells.push_back(CustomCell(resource.columns[i], paths[i], object, now));
  return cells;
}

}  // namespace

RowObject RowObjectOf(std::string_view query) {
  if (query == "None") return RowObject::kNone;
  return query == "Object" ? RowObject::kWhole : RowObject::kMetadata;
}

Json PartialMetadata(const Json& object) {
  return {{"kind", "PartialObjectMetadata"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", object.value("metadata", Json::object())}};
}

Json MakeTable(const Resource& resource, const std::vector<Json>& objects, RowObject row_object,
               WallTime now) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : resource.columns)
    columns.push_back({{"name", column.name},
                       {"type", column.type},
                       {"format", column.format},
                       {"description", column.description},
                       {"priority", column.priority}});
  const std::vector<JsonPath> paths = resource.custom ? PathsOf(resource) : std::vector<JsonPath>();
  for (const Json& object : objects) {
    Json row = {{"cells", resource.custom ? CustomCells(resource, paths, object, now)
                                          : BuiltInCells(resource, object, now)}};
    if (row_object == RowObject::kMetadata) row["object"] = PartialMetadata(object);
    if (row_object == RowObject::kWhole) row["object"] = object;
    rows.push_back(std::move(row));
  }
  return {{"kind", "Table"},
          {"apiVersion", "meta.k8s.io/v1"},
          {"metadata", Json::object()},
          {"columnDefinitions", std::move(columns)},
          {"rows", std::move(rows)}};
}

std::string HumanAge(Duration age) {
  const int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  const auto two = [](int64_t big, char big_unit, int64_t small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const int64_t minutes = seconds / 60, hours = minutes / 60, days = hours / 24;
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 365 * 2) return fmt::format("{}d", days);
  if (days < 365 * 8) return two(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

}  // namespace sky::lab
