// SPDX-License-Identifier: Apache-2.0
// tests/guide_mpi.cpp: the examples of docs/scaling.md for mpi.hpp: a program for any number of ranks, which checks its
// own answers.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <upsweep/mpi.hpp>
#include <vector>

namespace {

// [guide: sums]
/// Returns the number of elements of rank r: some ranks have none.
std::int64_t length_of(int rank) { return std::int64_t{1000} * (rank % 3); }

/// Returns the number of elements of all ranks before this one.
std::int64_t numbers_before(int rank) {
  std::int64_t before = 0;
  for (int r = 0; r < rank; ++r) before += length_of(r);
  return before;
}

/// The numbers 1, 2, 3 … distributed to the ranks, their running sum, and the sum of all.
bool running_sums(int rank, int size) {
  const std::int64_t before = numbers_before(rank);
  const std::int64_t n = length_of(rank);
  std::vector<std::int32_t> share(static_cast<std::size_t>(n));
  std::iota(share.begin(), share.end(), static_cast<std::int32_t>(before + 1));

  std::vector<std::int64_t> running(share.size());
  upsweep::mpi::inclusive_scan(MPI_COMM_WORLD, upsweep::par, share.data(), n, running.data());
  const std::int64_t sum = upsweep::mpi::reduce(MPI_COMM_WORLD, upsweep::par, share.data(), n, std::int64_t{0});

  const auto sum_up_to = [](std::int64_t i) { return i * (i + 1) / 2; };
  for (std::int64_t i = 0; i < n; ++i) {
    if (running[static_cast<std::size_t>(i)] != sum_up_to(before + i + 1)) return false;
  }
  return sum == sum_up_to(numbers_before(size));
}
// [guide: end]

// [guide: lists]
/// The letters of a text, four on each rank, and the length of every word. Words have three letters. A word belongs to
/// the rank on which it begins, and may end on the next one.
bool words_across_ranks(int rank, int size) {
  const std::int64_t letters = 4 * std::int64_t{size};
  const std::vector<std::int32_t> ones(4, 1);
  std::vector<std::int64_t> offsets;
  for (std::int64_t begin = 0; begin < letters; begin += 3) {
    if (begin >= 4 * std::int64_t{rank} && begin < 4 * std::int64_t{rank + 1}) offsets.push_back(begin);
  }
  const auto words = static_cast<std::int64_t>(offsets.size());
  offsets.push_back(std::min(offsets.back() + 3, letters));

  std::vector<std::int64_t> length(static_cast<std::size_t>(words));
  upsweep::mpi::segmented_reduce(MPI_COMM_WORLD, upsweep::par, offsets, ones.data(), 4, length.data());

  for (std::size_t i = 0; i < length.size(); ++i) {
    if (length[i] != offsets[i + 1] - offsets[i]) return false;
  }
  return true;
}
// [guide: end]

// [guide: errors]
/// One rank's sum does not fit: every rank gets the same error, and none waits for another.
bool same_error_everywhere(int rank, int size) {
  const std::vector<std::int8_t> share(3, rank == size - 1 ? std::int8_t{100} : std::int8_t{0});
  std::vector<std::int8_t> running(3);
  const auto checked = upsweep::par.with_overflow(upsweep::Overflow::checked);
  try {
    upsweep::mpi::inclusive_scan(MPI_COMM_WORLD, checked, share.data(), 3, running.data());
  } catch (const upsweep::Error& error) {
    if (rank == 0) std::printf("%s\n", error.what());
    return error.code() == upsweep::Code::overflow && error.index() == 3 * (size - 1) + 1;
  }
  return false;
}
// [guide: end]

}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): which ends the run, as it should
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  int rank = 0;
  int size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const bool right = running_sums(rank, size) && words_across_ranks(rank, size) && same_error_everywhere(rank, size);
  MPI_Finalize();
  return right ? 0 : 1;
}
