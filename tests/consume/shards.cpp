// SPDX-License-Identifier: Apache-2.0
// tests/consume/shards.cpp: a scan without elements on the GPUs; without a GPU, the reason.
#include "upsweep/shards.hpp"

#include "upsweep/error.hpp"

int main() {
  try {
    const upsweep::gpu::Group group({0});
    const auto scanned = upsweep::inclusive_scan(group, std::vector<upsweep::gpu::Shard<float>>(1));
    group.wait();
    return scanned.count == 0 ? 0 : 1;
  } catch (const upsweep::Error& error) {
    return error.code() == upsweep::Code::not_built || error.code() == upsweep::Code::no_device ? 0 : 1;
  }
}
