// SPDX-License-Identifier: Apache-2.0
// tests/mpi_large_test.cpp: a shard of more than 2^31 elements, and the shards after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "upsweep/mpi.hpp"
#include "world.hpp"

namespace upsweep {
namespace {

constexpr std::int64_t kLong = (std::int64_t{1} << 31) + 5;
constexpr std::int64_t kShort = 100;

TEST(Large, SharesPast2To31) {
  const auto [rank, size] = World();
  const std::int64_t n = rank == 0 ? kLong : kShort;
  std::vector<std::int8_t> share(static_cast<std::size_t>(n), 1);
  const std::int64_t total = kLong + (size - 1) * kShort;
  EXPECT_EQ(mpi::reduce(MPI_COMM_WORLD, par, share.data(), n, std::int64_t{0}, add).value, total);

  mpi::inclusive_scan(MPI_COMM_WORLD, par, share.data(), n, share.data());
  const std::int64_t before = rank == 0 ? 0 : kLong + (rank - 1) * kShort;
  for (const std::int64_t i : {std::int64_t{0}, n / 2, n - 1}) {
    EXPECT_EQ(share[static_cast<std::size_t>(i)], static_cast<std::int8_t>(before + i + 1)) << i;
  }

  std::fill(share.begin(), share.end(), std::int8_t{0});
  if (rank == size - 1) share[0] = share[50] = 100;
  try {
    mpi::inclusive_scan(MPI_COMM_WORLD, par.with_overflow(Overflow::checked), share.data(), n, share.data());
    ADD_FAILURE() << "200 fits no int8";
  } catch (const Error& error) {
    EXPECT_EQ(error.index(), total - kShort + 50);
  }
}

}  // namespace
}  // namespace upsweep
