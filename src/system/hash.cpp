// SPDX-License-Identifier: Apache-2.0
// system/hash.cpp: the secret of the hashes.
#include "system/hash.hpp"

#include <random>

namespace upsweep {
namespace {

Secret random_secret() {
  std::random_device device;
  const auto word = [&] { return (std::uint64_t{device()} << 32) | device(); };
  return {word(), word() | 1};
}

}  // namespace

const Secret& secret() {
  static const Secret kSecret = random_secret();
  return kSecret;
}

}  // namespace upsweep
