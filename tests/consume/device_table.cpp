// SPDX-License-Identifier: Apache-2.0
// tests/consume/device_table.cpp: columns on a GPU; without a GPU, the reason.
#include "upsweep/device_table.hpp"

#include <cstdint>
#include <vector>

#include "upsweep/error.hpp"
#include "upsweep/query.hpp"

int main() {
  const std::vector<std::int64_t> ones(1000, 1);
  upsweep::MemoryTable here;
  here.add("x", ones);
  try {
    const upsweep::DeviceTable there(upsweep::gpu::Policy{}, here);
    return there.rows() == 1000 ? 0 : 1;
  } catch (const upsweep::Error& error) {
    return error.code() == upsweep::Code::not_built || error.code() == upsweep::Code::no_device ? 0 : 1;
  }
}
