// SPDX-License-Identifier: Apache-2.0
// tests/failure.hpp: how a call ends: the code and the index of its Error, or ok.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "upsweep/error.hpp"

namespace upsweep::tests {

/// How an Error ends a call.
struct Failure {
  Code code = Code::ok;
  std::int64_t index = kNoIndex;

  bool operator==(const Failure&) const = default;
};
inline std::ostream& operator<<(std::ostream& out, const Failure& failure) {
  return out << word(failure.code) << " at " << failure.index;
}
template <class Call>
Failure failure_of(Call call) {
  try {
    call();
    return {};
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    return {error.code(), error.index()};
  }
}

}  // namespace upsweep::tests
