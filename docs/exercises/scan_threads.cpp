// SPDX-License-Identifier: Apache-2.0
// docs/exercises/scan_threads.cpp: exercise 2, a scan by threads. The second pass is missing, so it is refused.
#include <upsweep/rung.h>

#include <cstdint>
#include <thread>
#include <vector>

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const auto* const x = static_cast<const int64_t*>(in);
  auto* const sums = static_cast<int64_t*>(out);
  const auto border = [=](int worker) { return n * worker / threads; };  // the first element of the worker's unit

  // Pass 1: each worker scans its work unit.
  std::vector<std::thread> workers;
  for (int w = 0; w < threads; ++w) {
    workers.emplace_back([=] {
      const int64_t end = border(w + 1);
      int64_t sum = 0;
      for (int64_t i = border(w); i < end; ++i) sums[i] = sum += x[i];
    });
  }
  for (auto& worker : workers) worker.join();

  // TODO, pass 2: every work unit must add the sum of all work units before it.
  return 0;
}
