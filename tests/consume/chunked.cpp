// SPDX-License-Identifier: Apache-2.0
// tests/consume/chunked.cpp: a sum on the GPU; without a GPU, the reason.
#include "upsweep/chunked.hpp"

#include <vector>

#include "upsweep/error.hpp"

int main() {
  const std::vector<float> x(1000, 2.0F);
  try {
    return upsweep::reduce(upsweep::gpu::Chunked(), x, 0.0F).value == 2000 ? 0 : 1;
  } catch (const upsweep::Error& error) {
    return error.code() == upsweep::Code::not_built || error.code() == upsweep::Code::no_device ? 0 : 1;
  }
}
