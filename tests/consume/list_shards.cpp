// SPDX-License-Identifier: Apache-2.0
// tests/consume/list_shards.cpp: a reduction of no lists on the GPUs; without a GPU, the reason.
#include "upsweep/list_shards.hpp"

#include "upsweep/error.hpp"

int main() {
  try {
    const upsweep::gpu::Group group({0});
    const auto lists = upsweep::segmented_reduce(group, std::vector<upsweep::gpu::ListsShard<float>>(1));
    return lists.lists == 0 ? 0 : 1;
  } catch (const upsweep::Error& error) {
    return error.code() == upsweep::Code::not_built || error.code() == upsweep::Code::no_device ? 0 : 1;
  }
}
