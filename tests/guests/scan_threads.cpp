// SPDX-License-Identifier: Apache-2.0
// tests/guests/scan_threads.cpp: a solution of exercise 2: sums of the work units first, so that each element is
// written once.
#include <upsweep/rung.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace {

template <class Work>
void run_workers(int threads, Work work) {
  std::vector<std::thread> workers;
  for (int w = 0; w < threads; ++w) workers.emplace_back(work, w);
  for (auto& worker : workers) worker.join();
}

}  // namespace

int upsweep_rung_version() { return UPSWEEP_RUNG_VERSION; }

int upsweep_rung_scan(upsweep_type type, const void* in, int64_t n, void* out, int threads) {
  if (type != UPSWEEP_INT64) return UPSWEEP_RUNG_SKIPS;
  const auto* const x = static_cast<const int64_t*>(in);
  auto* const sums = static_cast<int64_t*>(out);
  const auto border = [=](int worker) { return n * worker / threads; };

  std::vector<int64_t> carries(static_cast<std::size_t>(threads) + 1);
  run_workers(threads, [&](int w) {
    const int64_t end = border(w + 1);
    int64_t sum = 0;
    for (int64_t i = border(w); i < end; ++i) sum += x[i];
    carries[static_cast<std::size_t>(w) + 1] = sum;
  });
  for (std::size_t w = 1; w < carries.size(); ++w) carries[w] += carries[w - 1];
  run_workers(threads, [&](int w) {
    const int64_t end = border(w + 1);
    int64_t sum = carries[static_cast<std::size_t>(w)];
    for (int64_t i = border(w); i < end; ++i) sums[i] = sum += x[i];
  });
  return 0;
}
