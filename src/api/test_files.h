// SPDX-License-Identifier: Apache-2.0
// For tests of this room: the YAML files that other programs read, and YAML as JSON. Only *_test.cc
// include it.
#pragma once

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <string>

#include "api/json.h"

namespace sky::api {

inline YAML::Node LoadTestFile(const std::string& path) {
  return YAML::LoadFile(std::string(SKY_SOURCE_DIR) + "/" + path);
}

inline YAML::Node LoadCrd(std::string_view plural) {
  return LoadTestFile("deploy/crds/" + std::string(plural) + ".yaml");
}

inline YAML::Node SchemaOf(const YAML::Node& crd) {
  return crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

inline std::string ToJson(const YAML::Node& node) {
  std::string out;
  if (node.IsNull()) return "null";
  if (node.IsScalar()) {
    const std::string& text = node.Scalar();
    // A quoted scalar carries the tag "!"; plain ones are numbers and booleans where they look so.
    const bool plain = node.Tag() != "!";
    const bool number = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
    return plain && (number || text == "true" || text == "false") ? text : Quote(text);
  }
  for (const auto& entry : node) {
    if (!out.empty()) out += ',';
    out += node.IsMap() ? Quote(entry.first.Scalar()) + ":" + ToJson(entry.second) : ToJson(entry);
  }
  return node.IsMap() ? "{" + out + "}" : "[" + out + "]";
}

}  // namespace sky::api
