// SPDX-License-Identifier: Apache-2.0
// sql/query/tree.hpp: functions that read PostgreSQL's parse tree, which libpg_query writes as JSON.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

namespace upsweep::query {

using Json = nlohmann::json;

/// The node's only member, whose name is its type.
struct Tagged {
  std::string tag;
  const Json& body;
};
inline Tagged tagged(const Json& node) {
  const auto only = node.begin();
  return {only.key(), only.value()};
}

inline int location_of(const Json& body, int otherwise) {
  const int location = body.value("location", otherwise);
  return location >= 0 ? location : otherwise;
}

inline std::string string_of(const Json& node) { return node.at("String").value("sval", ""); }

/// Returns whether `is` is true for the node or any node below it.
template <class Is>
bool has(const Json& node, const Is& is) {
  return is(node) || (node.is_structured() &&
                      std::any_of(node.begin(), node.end(), [&](const Json& child) { return has(child, is); }));
}

/// Returns the location of a clause: the first location in its tree, 0 if there is none.
inline int first_location(const Json& node) {
  int location = -1;
  (void)has(node, [&](const Json& n) {
    if (n.is_object() && n.contains("location") && n.at("location").is_number()) location = n.at("location");
    return location >= 0;
  });
  return std::max(location, 0);
}

/// Returns whether an expression is * or t.*.
inline bool is_star(const Json& node) {
  return node.contains("ColumnRef") && node.at("ColumnRef").at("fields").back().contains("A_Star");
}

/// Returns the name of the called function, without a schema.
inline std::string function_name(const Json& call) { return string_of(call.at("funcname").back()); }

}  // namespace upsweep::query
