// SPDX-License-Identifier: Apache-2.0
// tests/guests/segmented_reduce_skewed.cpp: a solution of exercise 6: each worker has the same number of elements. It
// passes on the sum of the list that it began within, which belongs to an earlier worker.
#include <upsweep/rung.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace {

/// The elements of a list that a worker began within.
struct Part {
  int64_t list;
  double sum;
};

double sum_of(const double* x, int64_t first, int64_t stop) {
  double sum = 0;
  for (int64_t j = first; j < stop; ++j) sum += x[j];
  return sum;
}

}  // namespace

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_segmented_reduce(upsweep_type type, const void* content, const int64_t* offsets, int64_t lists,
                                  void* sums, int threads) {
  if (type != UPSWEEP_FLOAT64) return UPSWEEP_RUNG_SKIPS;
  const auto* const x = static_cast<const double*>(content);
  auto* const out = static_cast<double*>(sums);
  const int64_t begin = offsets[0];
  const int64_t length = offsets[lists] - begin;
  const auto border = [=](int worker) { return begin + length * worker / threads; };
  // A list belongs to the worker whose elements contain its start; lists that start at the very end belong to the last
  // worker.
  const auto first_list = [=](int worker) {
    if (worker == threads) return lists;
    return std::lower_bound(offsets, offsets + lists, border(worker)) - offsets;
  };
  std::vector<Part> parts(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int w = 0; w < threads; ++w) {
    workers.emplace_back([=, &parts] {
      const int64_t first = first_list(w);
      const int64_t last = first_list(w + 1);
      const int64_t end = border(w + 1);
      parts[static_cast<std::size_t>(w)] = {first - 1, sum_of(x, border(w), std::min(end, offsets[first]))};
      for (int64_t i = first; i < last; ++i) out[i] = sum_of(x, offsets[i], std::min(end, offsets[i + 1]));
    });
  }
  for (auto& worker : workers) worker.join();
  for (const Part& part : parts) {
    if (part.list >= 0) out[part.list] += part.sum;
  }
  return 0;
}
