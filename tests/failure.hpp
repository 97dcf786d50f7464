// SPDX-License-Identifier: Apache-2.0
// tests/failure.hpp: how a call ends: the code, the index and the message of its Error, or ok.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>

#include "upsweep/error.hpp"
#include "upsweep/gpu.hpp"

namespace upsweep::tests {

/// The Error that ends a call.
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

/// The code of a call in host memory that names a rung on a GPU.
inline Code code_of_gpu_rung() { return gpu::is_built() ? Code::unsupported : Code::not_built; }

/// Expects an Error with this code, whose message contains these words.
template <class Call>
void expect_error(Code code, const std::string& words, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}
/// Expects an Error with this code and index.
template <class Call>
void expect_error(Code code, std::int64_t index, const std::string& words, Call call) {
  expect_error(code, words, [&] {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.index(), index) << error.what();
      throw;
    }
  });
}

}  // namespace upsweep::tests
