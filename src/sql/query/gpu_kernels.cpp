// SPDX-License-Identifier: Apache-2.0
// sql/query/gpu_kernels.cpp: looks up a plan's kernels by their options.
#include "sql/query/gpu_kernels.hpp"

#include "sql/query/plan.hpp"

namespace upsweep::query {

KernelStore::KernelStore() : kernels_(std::make_shared<GpuKernels>()) {}

std::shared_ptr<const GpuKernel> GpuKernels::fold(const QueryPlan& plan, const SourceOptions& options) {
  return folds_.get(options, [&] { return std::make_shared<const GpuKernel>(fold_source(plan, options)); });
}

std::shared_ptr<const GpuKernel> GpuKernels::number(const QueryPlan& plan, const SourceOptions& options) {
  const SourceOptions needed{.columns = options.columns, .keying = options.keying, .threads = options.threads};
  return numbers_.get(needed, [&] { return std::make_shared<const GpuKernel>(number_source(plan, needed)); });
}

}  // namespace upsweep::query
