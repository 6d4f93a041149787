// SPDX-License-Identifier: Apache-2.0
#include "testing/without_plugin.h"

#include <algorithm>

namespace sky::testing {
namespace {

using expr::Expression;

Expression Without(const Expression& whole, std::string_view name) {
  if (whole.kind != Expression::Kind::kCall) return whole;
  Expression rest = whole;
  rest.arguments.clear();
  for (const Expression& argument : whole.arguments) {
    if (argument.kind == Expression::Kind::kName && argument.name == name) continue;
    rest.arguments.push_back(Without(argument, name));
  }
  if (rest.arguments.empty()) rest.arguments.push_back(Expression::All());
  return rest;
}

}  // namespace

framework::Config WithoutPlugin(framework::Config config, std::string_view name) {
  std::erase_if(config.plugins, [&](const auto& plugin) { return plugin.name == name; });
  for (auto& [callback, expression] : config.expressions) expression = Without(expression, name);
  return config;
}

}  // namespace sky::testing
