// SPDX-License-Identifier: Apache-2.0
// docs/exercises/segmented_reduce_skewed.cpp: exercise 6, sums of lists of very different lengths. Each worker
// has the same number of lists. This is right, but one of them may have most of the elements.
#include <upsweep/rung.h>

#include <cstdint>
#include <thread>
#include <vector>

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_segmented_reduce(upsweep_type type, const void* content, const int64_t* offsets, int64_t lists,
                                  void* sums, int threads) {
  if (type != UPSWEEP_FLOAT64) return UPSWEEP_RUNG_SKIPS;
  const auto* const x = static_cast<const double*>(content);
  auto* const out = static_cast<double*>(sums);
  // TODO: give each worker the same number of elements. If a border is within a list, two workers share that list.
  const auto border = [=](int worker) { return lists * worker / threads; };
  std::vector<std::thread> workers;
  for (int w = 0; w < threads; ++w) {
    workers.emplace_back([=] {
      const int64_t end = border(w + 1);
      for (int64_t i = border(w); i < end; ++i) {
        double sum = 0;
        for (int64_t j = offsets[i]; j < offsets[i + 1]; ++j) sum += x[j];
        out[i] = sum;
      }
    });
  }
  for (auto& worker : workers) worker.join();
  return 0;
}
