// SPDX-License-Identifier: Apache-2.0
// climb/problem.cpp: code that instances of every problem share: requested types and sizes, and numbers as text.
#include "climb/problem.hpp"

#include <algorithm>

namespace upsweep {

std::vector<Type> types_of(const ClimbRequest& request, const ProblemInfo& info) {
  for (const Type type : request.types) {
    if (std::find(info.types.begin(), info.types.end(), type) != info.types.end()) continue;
    throw Error(Code::invalid_argument,
                "the " + std::string(info.name) + " ladder does not run on '" + std::string(name(type)) + "'");
  }
  if (!request.types.empty()) return request.types;
  return {info.usual_types.begin(), info.usual_types.end()};
}

std::vector<std::int64_t> sizes_of(const ClimbRequest& request, const ProblemInfo& info) {
  if (!request.sizes.empty()) return request.sizes;
  return {info.usual_sizes.begin(), info.usual_sizes.end()};
}

std::string grouped(std::int64_t value) {
  std::string text = std::to_string(value);
  const std::int64_t first = text.starts_with('-') ? 1 : 0;
  for (std::int64_t at = std::ssize(text) - 3; at > first; at -= 3) text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace upsweep
