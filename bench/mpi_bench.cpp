// SPDX-License-Identifier: Apache-2.0
// bench/mpi_bench.cpp: times calls of mpi.hpp on this machine's ranks, one thread each, with empty and longer shares.
//
//   mpiexec -n 2 build/bin/mpi_bench >> bench/results/epyc-mpi.jsonl
//
// Seconds are those of the slowest rank, measured from a barrier: the median of many calls, and the minimum. The
// minimum is what a machine with other work can reach. `n` is the number of elements of all ranks.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "tests/world.hpp"
#include "upsweep/mpi.hpp"

namespace {

using Index = std::int64_t;

constexpr Index kLengths[] = {0, Index{1} << 22, Index{1} << 24, Index{1} << 26};
constexpr Index kCarries = 100'000;

double seconds_of(const std::function<void()>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call();
  double seconds = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

void measure(std::string_view what, Index n, const std::function<void()>& call) {
  call();  // allocates memory and opens MPI's connections
  std::vector<double> times(n == 0 ? 1001 : 41);
  for (double& time : times) time = seconds_of(call);
  std::sort(times.begin(), times.end());
  const upsweep::World world;
  if (world.rank != 0) return;
  fmt::print("{{\"ranks\": {}, \"call\": \"{}\", \"n\": {}, \"median_s\": {:.3g}, \"least_s\": {:.3g}}}\n", world.size,
             what, n, times[times.size() / 2], times[0]);
}

void measure_calls(Index total) {
  using upsweep::seq;
  namespace mpi = upsweep::mpi;
  const upsweep::World world;
  const Index n = total / world.size;
  const auto size = static_cast<std::size_t>(n);
  const std::vector<std::int32_t> x(size, 1);
  std::vector<std::int32_t> out(size);
  measure("inclusive_scan of int32", total, [&] { mpi::inclusive_scan(MPI_COMM_WORLD, seq, x.data(), n, out.data()); });
  measure("reduce of int32", total, [&] { mpi::reduce(MPI_COMM_WORLD, seq, x.data(), n, 0); });
  std::vector<Index> offsets(size + 1);
  const std::vector<std::int32_t> stops(size, 4);
  measure("offsets of int32", total,
          [&] { mpi::offsets(MPI_COMM_WORLD, seq, x.data(), stops.data(), n, offsets.data()); });
}

/// The work of one rank on the carries of all ranks. `n` is the number of carries.
void measure_merging() {
  const std::vector<upsweep::ScanCarry<std::int32_t>> carries(kCarries, upsweep::carry_of(1));
  auto all = upsweep::empty_carry<std::int32_t>();
  measure("merging carries of int32", kCarries, [&] {
    for (const auto& carry : carries) upsweep::detail::merge(upsweep::add, all, carry);
  });
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  measure("MPI_Allreduce of 8 bytes", 0, [] {
    Index word = 0;
    MPI_Allreduce(MPI_IN_PLACE, &word, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  });
  for (const Index n : kLengths) measure_calls(n);
  measure_merging();
  MPI_Finalize();
  return 0;
}
