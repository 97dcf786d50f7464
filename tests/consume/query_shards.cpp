// SPDX-License-Identifier: Apache-2.0
// tests/consume/query_shards.cpp: a query on the GPUs; without a GPU, the reason.
#include "upsweep/query_shards.hpp"

#include <cstdint>
#include <vector>

#include "upsweep/error.hpp"

int main() {
  const std::vector<std::int64_t> ones(1000, 1);
  upsweep::MemoryTable table;
  table.add("x", ones);
  const upsweep::Query query("SELECT COUNT(*) FROM t", table);
  try {
    const upsweep::gpu::Group group({0});
    return upsweep::run(query, group, {&table}).rows[0][0].exact == 1000 ? 0 : 1;
  } catch (const upsweep::Error& error) {
    return error.code() == upsweep::Code::not_built || error.code() == upsweep::Code::no_device ? 0 : 1;
  }
}
