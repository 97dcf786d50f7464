// SPDX-License-Identifier: Apache-2.0
// tests/cuda_query_shards_test.cpp: a query over tables on several GPUs, or on one GPU that is several members, must
// give the answer of one table.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "device_array.hpp"
#include "upsweep/device_table.hpp"
#include "upsweep/query_shards.hpp"

namespace upsweep {
namespace {

struct Rows {
  std::vector<std::int32_t> key;
  std::vector<std::int64_t> amount;
  std::vector<std::int64_t> cents;

  void put_into(MemoryTable& table) const {
    table.add("key", key).add("amount", amount).add_decimal("price", cents, 2);
  }
};

Rows rows_of(std::int64_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  Rows rows;
  for (std::int64_t i = 0; i < n; ++i) {
    rows.key.push_back(static_cast<std::int32_t>(random() % 5000));
    rows.amount.push_back(static_cast<std::int64_t>(random() % 50));
    rows.cents.push_back(static_cast<std::int64_t>(random() % 100'000));
  }
  return rows;
}

/// The shards of the members, and all of them as one table.
struct Tables {
  Tables(const gpu::Group& group, const std::vector<std::int64_t>& counts) {
    Rows joined;
    for (int m = 0; m < group.size(); ++m) {
      const auto member = static_cast<std::size_t>(m);
      own.push_back(std::make_unique<Rows>(rows_of(counts[member], static_cast<unsigned>(m))));
      const Rows& rows = *own.back();
      joined.key.insert(joined.key.end(), rows.key.begin(), rows.key.end());
      joined.amount.insert(joined.amount.end(), rows.amount.begin(), rows.amount.end());
      joined.cents.insert(joined.cents.end(), rows.cents.begin(), rows.cents.end());
      host.push_back(std::make_unique<MemoryTable>());
      rows.put_into(*host.back());
      there.push_back(std::make_unique<DeviceTable>(group.policy(m), *host.back()));
      shards.push_back(there.back().get());
    }
    own.push_back(std::make_unique<Rows>(std::move(joined)));
    own.back()->put_into(all);
  }

  std::vector<std::unique_ptr<Rows>> own;
  std::vector<std::unique_ptr<MemoryTable>> host;
  std::vector<std::unique_ptr<DeviceTable>> there;
  std::vector<const Table*> shards;
  MemoryTable all;
};

std::vector<std::vector<std::string>> texts(const Answer& answer) {
  std::vector<std::vector<std::string>> all;
  for (const auto& row : answer.rows) {
    auto& line = all.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c) line.push_back(text(answer.columns[c], row[c]));
  }
  return all;
}

using CudaQueryShards = tests::GpuTest;

std::vector<std::vector<int>> groups() {
  std::vector<int> all(gpu::devices().size());
  std::iota(all.begin(), all.end(), 0);
  return {all, {0, 0, 0}};
}

TEST_F(CudaQueryShards, AnswersAreThoseOfOneTable) {
  for (const std::vector<int>& devices : groups()) {
    const gpu::Group group(devices);
    std::vector<std::int64_t> counts(devices.size(), 70'001);
    counts[0] = devices.size() > 1 ? 0 : 5;  // a table without rows
    const Tables tables(group, counts);
    for (const char* sql :
         {"SELECT SUM(amount * price), COUNT(*), MIN(key), AVG(price) FROM t WHERE key < 3000",
          "SELECT key, SUM(amount), MAX(price) FROM t GROUP BY key",
          "SELECT key / 500, COUNT(*) FROM t WHERE amount > 10 GROUP BY key / 500 ORDER BY 2 DESC, 1"}) {
      SCOPED_TRACE(sql);
      const Query query(sql, tables.all);
      EXPECT_EQ(texts(run(query, group, tables.shards)), texts(query.run(par, tables.all)));
    }
  }
}

TEST_F(CudaQueryShards, AnErrorNamesTheTable) {
  const gpu::Group group({0, 0});
  const Tables tables(group, {100, 100});
  const Query query("SELECT SUM(1 / (key - key)) FROM t", tables.all);
  try {
    (void)run(query, group, tables.shards);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::division_by_zero);
    EXPECT_EQ(std::string(error.what()).rfind("table 0: ", 0), 0U) << error.what();
  }
  EXPECT_THROW((void)run(query, group, {tables.shards[0]}), Error);
}

}  // namespace
}  // namespace upsweep
